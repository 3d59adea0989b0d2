import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import { CheckFailed, UsageError } from "./errors.ts";
import type { LedgerOptions } from "./ledger.ts";

/** Writes the whole ledger or nothing: a file that is there under its name is complete. */
export async function fetchLedger(file: string, { server, key }: LedgerOptions): Promise<void> {
  if (!key) throw new UsageError("there is no API key; set ORRERY_API_KEY, or use --key");
  const response = await fetch(new URL("/api/v2/scheduler/ledger", server), {
    headers: { authorization: `Bearer ${key}` },
  }).catch(() => {
    throw new CheckFailed(`no server answers at ${server}; start one with: orrery serve`);
  });
  if (!response.ok || !response.body) {
    const { detail } = (await response.json().catch(() => ({}))) as { detail?: string };
    throw new UsageError(`the server does not give its ledger: ${detail ?? `HTTP ${response.status}`}`);
  }
  const partial = `${file}.partial`;
  try {
    await pipeline(Readable.fromWeb(response.body as ReadableStream), createWriteStream(partial));
    await rename(partial, file);
  } catch (error) {
    await rm(partial, { force: true });
    throw new CheckFailed(`the ledger could not be written to ${file}: ${(error as Error).message}`);
  }
}
