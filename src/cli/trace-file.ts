import { createWriteStream } from "node:fs";
import type { Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { chromeTrace, type History } from "../history/index.ts";
import { UsageError } from "./errors.ts";
import { readHistory } from "./ledger-history.ts";
import { openLedger } from "./ledger-reading.ts";
import { write } from "./output.ts";
import { writeRecordArray } from "./records.ts";

export async function writeTrace(
  path: string,
  format: "chrome" | "json",
  out: string | undefined,
): Promise<void> {
  if (format === "json") {
    // Before a file is made for it.
    await openLedger(path);
    await into(out, (stream) => writeRecordArray(path, stream));
    return;
  }
  const history = await readHistory(path);
  await into(out, (stream) => writeChromeTrace(history, stream));
}

async function writeChromeTrace(history: History, stream: Writable): Promise<void> {
  for (const piece of chromeTrace(history)) await write(stream, piece);
}

async function into(out: string | undefined, fill: (stream: Writable) => Promise<void>): Promise<void> {
  if (out === undefined) {
    await fill(process.stdout);
    return;
  }
  const stream = createWriteStream(out);
  const closed = finished(stream);
  // It may fail while nobody waits for it; whoever does gets it all the same.
  closed.catch(() => {});
  try {
    await Promise.race([fill(stream), closed]);
    stream.end();
    await closed;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).syscall === undefined) {
      stream.destroy();
      throw cause;
    }
    throw new UsageError(`${out} cannot be written: ${(cause as Error).message}`);
  }
  process.stderr.write(`wrote ${out}\n`);
}
