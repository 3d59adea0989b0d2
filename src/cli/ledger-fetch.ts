import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { get, type IncomingMessage } from "node:http";
import { get as getSecurely } from "node:https";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { connectOptions } from "../tls/index.ts";
import { CheckFailed, UsageError } from "./errors.ts";
import type { LedgerOptions } from "./ledger.ts";

/** Writes the whole ledger or nothing: a file that is there under its name is complete. */
export async function fetchLedger(file: string, { server, key }: LedgerOptions): Promise<void> {
  if (!key) throw new UsageError("there is no API key; set ORRERY_API_KEY, or use --key");
  const found = await stat(file).catch(() => undefined);
  if (found?.isDirectory())
    throw new UsageError(`${file} is a directory; name a file to write the ledger to`);
  const response = await ask(new URL("/api/v2/scheduler/ledger", server), key).catch(() => {
    throw new CheckFailed(`no server answers at ${server}; start one with: orrery serve`);
  });
  if (response.statusCode !== 200) {
    const why = detailOf(await text(response).catch(() => "")) ?? `HTTP ${response.statusCode}`;
    throw new UsageError(`the server does not give its ledger: ${why}`);
  }
  const partial = `${file}.partial`;
  try {
    const sink = createWriteStream(partial);
    // A response that breaks off before the file is there would leave one behind: it would be created after its removal.
    await once(sink, "open");
    await pipeline(response, sink);
    await rename(partial, file);
  } catch (error) {
    await rm(partial, { force: true });
    throw new CheckFailed(`the ledger could not be written to ${file}: ${(error as Error).message}`);
  }
}

/** Not by `fetch`: it takes in more than is written, and the more it holds the longer each piece takes. */
function ask(url: URL, key: string): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${key}` };
  return new Promise((resolve, reject) => {
    const asked =
      url.protocol === "https:"
        ? getSecurely(url, { headers, ...connectOptions() }, resolve)
        : get(url, { headers }, resolve);
    asked.on("error", reject);
  });
}

function detailOf(problem: string): string | undefined {
  try {
    return (JSON.parse(problem) as { detail?: string }).detail;
  } catch {
    return undefined;
  }
}
