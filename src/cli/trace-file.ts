import { createWriteStream } from "node:fs";
import type { Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { formatTime } from "../words/index.ts";
import { type TraceEvent, traceEvents } from "./chrome-trace.ts";
import { UsageError } from "./errors.ts";
import { type History, readHistory } from "./history.ts";
import { openLedger } from "./ledger-reading.ts";
import { write } from "./output.ts";
import { writeRecordArray } from "./records.ts";

const CHUNK_LENGTH = 65_536;

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
  const otherData = JSON.stringify({ start: formatTime(history.firstAt) });
  let chunk = `{"displayTimeUnit":"ms","otherData":${otherData},"traceEvents":[`;
  let before = "\n";
  for (const event of traceEvents(history) as Iterable<TraceEvent>) {
    chunk += before + JSON.stringify(event);
    before = ",\n";
    if (chunk.length < CHUNK_LENGTH) continue;
    await write(stream, chunk);
    chunk = "";
  }
  await write(stream, `${chunk}\n]}\n`);
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
