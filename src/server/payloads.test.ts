import { expect, test } from "vitest";
import { aNode } from "../../tests/builders.ts";
import type { Fact } from "../driver/index.ts";
import { NO_RUN, taskKey } from "../placement/index.ts";
import type { StoredPayload } from "../store/index.ts";
import { Payloads } from "./payloads.ts";

/** Says what was read, and can be out of reach. */
class Rows {
  readonly asked: string[][] = [];
  isReachable = true;

  async payloads(ids: readonly string[]): Promise<ReadonlyMap<string, StoredPayload>> {
    this.asked.push([...ids]);
    if (!this.isReachable) throw new Error("the store cannot be reached");
    const tracedSettings = (id: string) => (id.startsWith("traced") ? `settings of ${id}` : undefined);
    return new Map(ids.map((id) => [id, { payload: `row of ${id}`, tracedSettings: tracedSettings(id) }]));
  }
}

/** What the scheduler knows a task by. */
function numberOf(id: string): number {
  return id.startsWith("task ") ? Number(id.slice(5)) : (id.codePointAt(0) as number);
}

function keep(payloads: Payloads, id: string, payload: string): void {
  payloads.keep(taskKey(NO_RUN, numberOf(id)), payload);
}

function assigned(...ids: readonly string[]): Fact[] {
  return ids.map((id, at) => ({
    seq: at,
    now: 0,
    event: {
      kind: "TaskAssigned",
      run: NO_RUN,
      node: numberOf(id),
      attempt: 1,
      worker: 0,
      reason: { type: "OnlyWorkerAvailable" },
      runnerUp: -1,
      rejected: [],
    },
    about: {
      zone: "z",
      agent: "a",
      runId: undefined,
      task: { id, node: undefined, spec: aNode("n").task },
    },
  }));
}

test("what came lately is at hand once, and nobody reads it", async () => {
  const rows = new Rows();
  const payloads = new Payloads(rows);
  keep(payloads, "a", "1");
  keep(payloads, "b", "2");
  payloads.prepare(assigned("a", "b"));
  expect(payloads.atHand(["a", "b"])).toEqual(["1", "2"]);
  expect(payloads.atHand(["a"])).toBeUndefined();
  expect(rows.asked).toEqual([]);
});

test("the rest is read while its assignment is committed, and only once", async () => {
  const rows = new Rows();
  const payloads = new Payloads(rows);
  keep(payloads, "a", "1");
  payloads.prepare(assigned("a", "b", "c"));
  expect(rows.asked).toEqual([["b", "c"]]);
  expect(await payloads.of(["a", "b", "c"])).toEqual(["1", "row of b", "row of c"]);
  expect(rows.asked).toHaveLength(1);
});

test("what could not be read ahead is read again by whoever needs it", async () => {
  const rows = new Rows();
  const payloads = new Payloads(rows);
  rows.isReachable = false;
  payloads.prepare(assigned("a"));
  await expect(payloads.of(["a"])).rejects.toThrow("cannot be reached");
  rows.isReachable = true;
  expect(await payloads.of(["a"])).toEqual(["row of a"]);
});

test("alternatives get the same one, and what was assigned and dropped is read again", async () => {
  const rows = new Rows();
  const payloads = new Payloads(rows);
  keep(payloads, "a", "1");
  payloads.prepare(assigned("a", "a"));
  expect(payloads.atHand(["a", "a"])).toEqual(["1", "1"]);
  keep(payloads, "b", "2");
  payloads.prepare(assigned("b"));
  payloads.drop("b");
  expect(await payloads.of(["b"])).toEqual(["row of b"]);
  expect(rows.asked).toEqual([["b"]]);
});

test("the oldest are let go when there is too much", async () => {
  const rows = new Rows();
  const payloads = new Payloads(rows);
  const large = "x".repeat(9 * 1024 * 1024);
  for (const id of ["a", "b", "c", "d"]) keep(payloads, id, large);
  payloads.prepare(assigned("a", "c"));
  expect(payloads.atHand(["c"])).toEqual([large]);
  expect(rows.asked).toEqual([["a"]]);
});

test("settings of tasks that belong to a trace are told when their payloads are read", async () => {
  const told: string[][] = [];
  const payloads = new Payloads(new Rows(), (...traced) => told.push(traced));
  payloads.prepare(assigned("traced-1", "plain"));
  expect(await payloads.of(["traced-1", "plain", "traced-2"])).toEqual([
    "row of traced-1",
    "row of plain",
    "row of traced-2",
  ]);
  expect(told).toEqual(["traced-1", "traced-2"].map((id) => [id, `settings of ${id}`]));
});

test("many small ones are too much, too", () => {
  const rows = new Rows();
  const payloads = new Payloads(rows);
  for (let n = 0; n < 1_000_000; n++) keep(payloads, `task ${n}`, "{}");
  payloads.prepare(assigned("task 0", "task 999999"));
  expect(rows.asked).toEqual([["task 0"]]);
});
