import { PANICKED } from "../states.ts";
import { command, report, takeCommands } from "./lists.ts";
import type { Memory } from "./memory.ts";
import {
  CANCEL,
  COMMANDS,
  ENDED,
  FREE,
  GIVEN,
  MOVED,
  OPEN,
  PAYLOAD,
  PAYLOAD_END,
  POSTED,
  RANK,
  STATE,
  THIEF,
} from "./record.ts";
import { writeValue } from "./values.ts";

/** What fits into a record of why a thread has died. */
const MOST_WORDS = 56;

/**
 * Clears up after a thread that has died: what it had stolen has failed, what was stolen from it is cancelled, and what it
 * had in its deque is forgotten together with whoever spawned it. To be called when it is really gone.
 */
export function clearAfter(memory: Memory, dead: number, words: string): void {
  // First of all: whoever sends to it from now on sends to the next one, and what was sent before is looked at below.
  memory.isReplaced(dead);
  memory.wakes(dead);
  takeCommands(memory, dead, () => undefined);
  const deque = memory.dequeOf(dead);
  for (let record = deque.steal(); record !== -1; record = deque.steal())
    if (record >= 0) memory.words[memory.recordAt(record) + STATE] = FREE;
  const { processors, records } = memory.shared;
  for (let record = 0; record < processors * records; record++) {
    const at = memory.recordAt(record);
    const state = Atomics.load(memory.words, at + STATE);
    if (state === FREE || state === ENDED) continue;
    const thief = Atomics.load(memory.words, at + THIEF) - 1;
    if (memory.homeOf(record) === dead) letGo(memory, record, state, thief);
    else if (state === POSTED) continue;
    else if (thief === dead && state !== OPEN) fail(memory, record, words);
  }
}

/** Of a fiber whose home is gone. A result that was on its way there is not waited for. */
function letGo(memory: Memory, record: number, state: number, thief: number): void {
  if (state === POSTED) {
    Atomics.store(memory.words, memory.recordAt(record) + STATE, ENDED);
    report(memory, record);
    return;
  }
  const before = Atomics.or(memory.words, memory.recordAt(record) + COMMANDS, CANCEL);
  if (thief >= 0 && before === 0) command(memory, thief, record);
}

/** In place of the thief, which cannot say it any more. Nothing of the budget comes back. */
function fail(memory: Memory, record: number, because: string): void {
  const { words } = memory;
  const at = memory.recordAt(record);
  words.fill(0, at + MOVED, at + MOVED + (MOVED - GIVEN));
  words[at + RANK] = PANICKED;
  writeValue(words, at + PAYLOAD, at + PAYLOAD_END, because.slice(0, MOST_WORDS));
  Atomics.store(words, at + STATE, ENDED);
  report(memory, record);
}
