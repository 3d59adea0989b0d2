import { writeFile } from "node:fs/promises";
import { inspect } from "node:util";
import { decode, type Encoded } from "../chunks/index.ts";
import { formatBytes } from "../words/index.ts";
import { CheckFailed, UsageError } from "./errors.ts";
import { printLines, write } from "./output.ts";
import type { ResultOptions } from "./result.ts";
import { atService } from "./service.ts";
import type { ServiceOptions } from "./service-options.ts";
import { printSafeJson, safeJson, shown } from "./service-text.ts";

export async function showResult(run: string, node: string, options: ResultOptions): Promise<void> {
  const { out, json } = options;
  const raw = await atService(options, (client) => client.rawResult(run, node));
  if (out !== undefined) await save(raw, out);
  if (json) await printSafeJson({ run, node, ...described(raw), ...(out !== undefined && { out }) });
  else if (out === undefined) await print(raw, node);
  else process.stderr.write(`${formatBytes(raw.bytes.length)} in ${shown(out)}${note(raw)}\n`);
}

export async function releaseResults(run: string, options: ServiceOptions): Promise<void> {
  const released = await atService(options, async (client) => {
    const isReleased = await client.releaseRun(run);
    // Says so of a run that is not known.
    if (!isReleased) await client.run(run);
    return isReleased;
  });
  if (options.json) await printSafeJson({ run, released });
  else if (released) await printLines([`${shown(run)} released`]);
  if (!released) throw new CheckFailed(options.json ? "" : `${run} has no results to release`);
}

/** As JSON says it. Bytes and clones have no form there. */
export function described(raw: Encoded): { kind: string; bytes: number; value?: unknown } {
  const { kind, bytes } = raw;
  const isSaid = kind === "json" || kind === "text";
  return { kind, bytes: bytes.length, ...(isSaid && { value: decode(raw) }) };
}

/** In a line, for people. */
export function summary(raw: Encoded, maxChars: number): string {
  const { kind, bytes } = raw;
  if (kind === "bytes") return formatBytes(bytes.length);
  const text =
    kind === "clone"
      ? inspect(decode(raw), { breakLength: Number.POSITIVE_INFINITY })
      : safeJson(decode(raw));
  const line = shown(text.replaceAll("\n", " "));
  return line.length <= maxChars ? line : `${line.slice(0, maxChars)}… (${formatBytes(bytes.length)})`;
}

export async function save({ bytes }: Encoded, file: string): Promise<void> {
  try {
    await writeFile(file, bytes);
  } catch (error) {
    throw new CheckFailed(`cannot write ${file}: ${(error as Error).message}`);
  }
}

async function print(raw: Encoded, node: string): Promise<void> {
  const { kind, bytes } = raw;
  if (kind === "json") return await printSafeJson(decode(raw));
  if (kind === "clone")
    return await printLines([
      ...inspect(decode(raw), { depth: null, maxArrayLength: 1000 }).split("\n").map(shown),
    ]);
  if (!process.stdout.isTTY) return await write(process.stdout, bytes);
  if (kind === "text") return await printLines(bytes.toString("utf8").split("\n").map(shown));
  throw new UsageError(
    `the result of ${node} is ${formatBytes(bytes.length)} of binary data; save it with --out FILE`,
  );
}

function note({ kind }: Encoded): string {
  return kind === "clone" ? "; deserialize of node:v8 reads it" : "";
}
