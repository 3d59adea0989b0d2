import type { Writable } from "node:stream";
import { apply, type EventRecord, eventsOf, renderRecord, State } from "../scheduler/index.ts";
import { replaying, soundBlocks } from "./ledger-reading.ts";
import { write } from "./output.ts";

/** Enough for a write to be worth its call, little enough to stream. */
const CHUNK_LENGTH = 65_536;

/** The full record of every event, in order. Each is rendered in the state just before it. */
async function* recordsOf(path: string, quiet: boolean): AsyncGenerator<EventRecord> {
  const state = new State();
  let ledgerId: string | undefined;
  for await (const block of soundBlocks(path, quiet)) {
    ledgerId ??= block.hash;
    const id = ledgerId;
    for (const recorded of replaying(path, block, () => eventsOf(block))) {
      yield replaying(path, block, () => renderRecord(state, recorded, id));
      replaying(path, block, () => apply(state, recorded.event, recorded.now));
    }
  }
}

export async function writeRecordLines(path: string, stream: Writable): Promise<void> {
  await writeRecords(path, stream, (text) => `${text}\n`);
}

export async function writeRecordArray(path: string, stream: Writable): Promise<void> {
  let before = "[\n";
  await writeRecords(path, stream, (text) => {
    const member = before + text;
    before = ",\n";
    return member;
  });
  await write(stream, before === "[\n" ? "[]\n" : "\n]\n");
}

async function writeRecords(path: string, stream: Writable, form: (text: string) => string): Promise<void> {
  const quiet = stream === process.stdout && process.stdout.isTTY;
  let chunk = "";
  try {
    for await (const record of recordsOf(path, quiet)) {
      chunk += form(JSON.stringify(record));
      if (chunk.length < CHUNK_LENGTH) continue;
      await write(stream, chunk);
      chunk = "";
    }
  } finally {
    // Also where the ledger turns out to be damaged: everything before that is true.
    if (chunk !== "") await write(stream, chunk);
  }
}
