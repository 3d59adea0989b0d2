import { type Memory, RECORD_WORDS } from "./memory.ts";
import { COMMANDS, IS_REPORTED, NEXT_COMMAND, NEXT_REPORT, STATE } from "./record.ts";

// What processors tell each other goes through lists in shared memory: anybody puts a record in front, the reader takes all
// at once. A record is in a list at most once, so there is always room.

/** Tells a record's home that its state has changed. */
export function report(memory: Memory, record: number): void {
  const { words } = memory;
  // If it is still in the list from before, its home will see the newer state.
  if (Atomics.exchange(words, memory.recordAt(record) + IS_REPORTED, 1) === 1) return;
  const home = memory.homeOf(record);
  putInFront(memory.words, memory.reportsAt(home), record, memory.recordAt(record) + NEXT_REPORT);
  memory.ring(home);
}

export function takeReports(
  memory: Memory,
  processor: number,
  take: (record: number, state: number) => void,
): void {
  const { words } = memory;
  let record = takeAll(words, memory.reportsAt(processor), memory.recordAt(0) + NEXT_REPORT, RECORD_WORDS);
  while (record >= 0) {
    const at = memory.recordAt(record);
    const next = (words[at + NEXT_REPORT] as number) - 1;
    Atomics.store(words, at + IS_REPORTED, 0);
    take(record, Atomics.load(words, at + STATE));
    record = next;
  }
}

/** Tells a thief what to do with a record. Gives whether that put it into the thief's list. */
export function command(memory: Memory, thief: number, record: number): void {
  putInFront(memory.words, memory.commandsAt(thief), record, memory.recordAt(record) + NEXT_COMMAND);
  memory.ring(thief);
}

export function takeCommands(
  memory: Memory,
  processor: number,
  take: (record: number, commands: number) => void,
): void {
  const { words } = memory;
  let record = takeAll(words, memory.commandsAt(processor), memory.recordAt(0) + NEXT_COMMAND, RECORD_WORDS);
  while (record >= 0) {
    const at = memory.recordAt(record);
    const next = (words[at + NEXT_COMMAND] as number) - 1;
    take(record, Atomics.exchange(words, at + COMMANDS, 0));
    record = next;
  }
}

/** Puts an item in front of a list, with the word that links it to the next one. */
export function putInFront(words: Int32Array, head: number, item: number, link: number): void {
  for (;;) {
    const first = Atomics.load(words, head);
    words[link] = first;
    if (Atomics.compareExchange(words, head, first, item + 1) === first) return;
  }
}

/** Takes the list, and turns it around: the oldest comes first. Nobody else has it any more. */
export function takeAll(words: Int32Array, head: number, firstLink: number, apart: number): number {
  let item = Atomics.exchange(words, head, 0);
  let turned = 0;
  while (item !== 0) {
    const link = firstLink + (item - 1) * apart;
    const next = words[link] as number;
    words[link] = turned;
    turned = item;
    item = next;
  }
  return turned - 1;
}
