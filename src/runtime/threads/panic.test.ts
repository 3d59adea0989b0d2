import { expect, test } from "vitest";
import { FreeRecords } from "./free-records.ts";
import { takeReports } from "./lists.ts";
import { Memory, makeMemory } from "./memory.ts";
import { clearAfter } from "./panic.ts";
import { ENDED, OPEN, POSTED, STATE, TAKEN, THIEF } from "./record.ts";

const DEAD = 1;

/** A memory in which the thief 2 has a record of the processor that dies. */
function withRecord(state: number): { memory: Memory; record: number } {
  const memory = new Memory(makeMemory(3, false));
  const record = new FreeRecords(memory, DEAD).take();
  memory.words[memory.recordAt(record) + STATE] = state;
  memory.words[memory.recordAt(record) + THIEF] = 3;
  return { memory, record };
}

test("[R-17] a result that was on its way to a thread that died does not keep its record", () => {
  const { memory, record } = withRecord(POSTED);
  clearAfter(memory, DEAD, "gone");
  const reported: number[][] = [];
  takeReports(memory, DEAD, (one, state) => reported.push([one, state]));
  expect(reported).toEqual([[record, ENDED]]);
});

test("[R-17] what others run for a thread that died is cancelled", () => {
  const { memory, record } = withRecord(TAKEN);
  clearAfter(memory, DEAD, "gone");
  expect(memory.words[memory.commandsAt(2)]).toBe(record + 1);
});

test("[R-17] what nobody has stolen yet is left to the deque, which is emptied", () => {
  const { memory, record } = withRecord(OPEN);
  memory.dequeOf(DEAD).push(record);
  clearAfter(memory, DEAD, "gone");
  expect(memory.dequeOf(DEAD).peek()).toBe(-1);
});
