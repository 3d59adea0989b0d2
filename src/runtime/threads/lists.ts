import type { Memory } from "./memory.ts";
import { COMMANDS, IS_REPORTED, NEXT_COMMAND, NEXT_REPORT } from "./record.ts";

// What processors tell each other goes through lists of records in shared memory: anybody puts a record in front, the
// reader takes all at once. A record is in a list at most once, so there is always room.

/** Tells a record's home that its state has changed. */
export function report(memory: Memory, record: number): void {
  const { words } = memory;
  // If it is still in the list from before, its home will see the newer state.
  if (Atomics.exchange(words, memory.recordAt(record) + IS_REPORTED, 1) === 1) return;
  const home = memory.homeOf(record);
  putInFront(memory, memory.reportsAt(home), NEXT_REPORT, record);
  memory.ring(home);
}

export function takeReports(memory: Memory, processor: number, take: (record: number) => void): void {
  const { words } = memory;
  let record = takeAll(memory, memory.reportsAt(processor), NEXT_REPORT);
  while (record >= 0) {
    const at = memory.recordAt(record);
    const next = (words[at + NEXT_REPORT] as number) - 1;
    Atomics.store(words, at + IS_REPORTED, 0);
    take(record);
    record = next;
  }
}

/** Tells a thief what to do with a record. Gives whether that put it into the thief's list. */
export function command(memory: Memory, thief: number, record: number): void {
  putInFront(memory, memory.commandsAt(thief), NEXT_COMMAND, record);
  memory.ring(thief);
}

export function takeCommands(
  memory: Memory,
  processor: number,
  take: (record: number, commands: number) => void,
): void {
  const { words } = memory;
  let record = takeAll(memory, memory.commandsAt(processor), NEXT_COMMAND);
  while (record >= 0) {
    const at = memory.recordAt(record);
    const next = (words[at + NEXT_COMMAND] as number) - 1;
    take(record, Atomics.exchange(words, at + COMMANDS, 0));
    record = next;
  }
}

function putInFront(memory: Memory, head: number, link: number, record: number): void {
  const { words } = memory;
  for (;;) {
    const first = Atomics.load(words, head);
    words[memory.recordAt(record) + link] = first;
    if (Atomics.compareExchange(words, head, first, record + 1) === first) return;
  }
}

/** Takes the list, and turns it around: the oldest comes first. Nobody else has it any more. */
function takeAll(memory: Memory, head: number, link: number): number {
  const { words } = memory;
  let record = Atomics.exchange(words, head, 0);
  let turned = 0;
  while (record !== 0) {
    const at = memory.recordAt(record - 1) + link;
    const next = words[at] as number;
    words[at] = turned;
    turned = record;
    record = next;
  }
  return turned - 1;
}
