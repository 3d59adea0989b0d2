import { expect, test } from "vitest";
import { aNode, joins, Loop, submits } from "../../tests/builders.ts";
import { taskIdOf } from "../core/index.ts";
import { apply, eventsOf, State } from "../scheduler/index.ts";
import { MemoryStore } from "../store/index.ts";
import { Projection } from "./projection.ts";

/** The rows that a ledger alone gives. */
async function rowsOf({ blocks }: Loop): Promise<MemoryStore> {
  const store = new MemoryStore();
  const projection = new Projection(store);
  const state = new State();
  for (const block of blocks) {
    for (const { event, now } of eventsOf(block)) {
      projection.note(state, event, now, undefined);
      apply(state, event, now);
    }
    await store.commit(block, projection.take());
  }
  return store;
}

test("the row of a running task tells of no error", async () => {
  const loop = new Loop();
  loop.turn(1, joins("w"), submits("run", [aNode("only")]));
  loop.turn(2, loop.started("run", "only"));
  expect(await (await rowsOf(loop)).task(taskIdOf("run", "only"))).toMatchObject({
    status: "running",
    worker: "w",
    errorCode: "",
  });
});

test("a task that is cancelled while it waits for its next attempt was not lost", async () => {
  const loop = new Loop();
  loop.turn(1, joins("w"), submits("run", [aNode("only", { maxAttempts: 2, backoffMs: 1_000 })]));
  loop.turn(2, loop.failed("run", "only"));
  loop.turn(3, { kind: "CancelRequested", run: 0, node: 0 });
  expect(await (await rowsOf(loop)).task(taskIdOf("run", "only"))).toMatchObject({
    status: "cancelled",
    attempt: 1,
    errorCode: "",
  });
});

test("a task whose worker was lost says so while it waits for its next attempt", async () => {
  const loop = new Loop();
  loop.turn(1, joins("w"), submits("run", [aNode("only", { maxAttempts: 2 })]));
  loop.turn(2, { kind: "WorkerLost", worker: 0, code: "lease" });
  expect(await (await rowsOf(loop)).task(taskIdOf("run", "only"))).toMatchObject({
    status: "queued",
    attempt: 1,
    errorCode: "lost",
  });
});

test("an attempt that failed says nothing of what becomes of its task later in the same turn", async () => {
  const loop = new Loop();
  loop.turn(1, joins("w"), submits("run", [aNode("only", { maxAttempts: 2, backoffMs: 1_000 })]));
  loop.turn(2, loop.failed("run", "only"), { kind: "CancelRequested", run: 0, node: 0 });
  expect(await (await rowsOf(loop)).task(taskIdOf("run", "only"))).toMatchObject({
    status: "cancelled",
    startedAt: -1,
    errorCode: "",
  });
});
