import { expect, test } from "vitest";
import { aNode, submits } from "../../tests/builders.ts";
import { collectGarbage } from "../../tests/heap.ts";
import type { Fact } from "../driver/index.ts";
import { State } from "../scheduler/index.ts";
import type { Caller, StreamEvent } from "./api.ts";
import { EventStream } from "./event-stream.ts";
import { StreamIds } from "./stream-ids.ts";

const ids = new StreamIds(Buffer.alloc(32, 7));
const KEPT = 50_000;

const ann: Caller = { keyId: "k", zone: "z", agent: "ann", scopes: new Set(["read"]), isZoneAdmin: false };

function factOf(seq: number, { zone = "z", agent = "ann" } = {}): Fact {
  const event = { kind: "TaskCancelled", run: -1, node: seq } as const;
  const task = { id: `task ${seq}`, node: undefined, spec: aNode("n").task };
  return { seq, now: seq, event, about: { zone, agent, runId: undefined, task } };
}

function published(from: number, to: number, lastSeq = from - 1): EventStream {
  const stream = new EventStream(ids, lastSeq, { state: new State() }, KEPT);
  stream.publish(Array.from({ length: to - from + 1 }, (_, at) => factOf(from + at)));
  return stream;
}

async function take(events: AsyncIterable<StreamEvent>, count: number): Promise<StreamEvent[]> {
  const taken: StreamEvent[] = [];
  for await (const event of events) if (taken.push(event) === count) break;
  return taken;
}

const never = new AbortController().signal;

test("the stream goes on after the last event that was seen, however far behind", async () => {
  const stream = published(1, 60_000);
  const all = await take(stream.read(ann, { at: "start" }, never), 60_000);
  expect(all.map(({ taskId }) => taskId).slice(-1)).toEqual(["task 60000"]);
  const [next] = await take(stream.read(ann, { at: "after", id: all[41]?.id ?? "" }, never), 1);
  expect(next?.taskId).toBe("task 43");
});

test("who was away too long, or comes with an id of another service, is told that events are missing", async () => {
  const stream = published(1, 200_000);
  const missed = await take(stream.read(ann, { at: "after", id: ids.idOf(7) }, never), 2);
  expect(missed.map(({ kind }) => kind)).toEqual(["EventsMissed", "TaskCancelled"]);
  const [resumed] = await take(stream.read(ann, { at: "after", id: missed[0]?.id ?? "" }, never), 1);
  expect(resumed?.taskId).toBe(missed[1]?.taskId);
  const [foreign] = await take(stream.read(ann, { at: "after", id: "nonsense" }, never), 1);
  expect(foreign?.kind).toBe("EventsMissed");
  const restarted = new EventStream(ids, 200_000, { state: new State() }, KEPT);
  const [afterRestart] = await take(restarted.read(ann, { at: "after", id: ids.idOf(7) }, never), 1);
  expect(afterRestart?.kind).toBe("EventsMissed");
});

test("a slow reader learns what it missed while it read", async () => {
  const stream = published(1, 10);
  const events = stream.read(ann, { at: "start" }, never)[Symbol.asyncIterator]();
  expect((await events.next()).value?.taskId).toBe("task 1");
  for (let from = 11; from < 300_000; from += 50_000) {
    stream.publish(Array.from({ length: 50_000 }, (_, at) => factOf(from + at)));
  }
  expect((await events.next()).value?.kind).toBe("EventsMissed");
  expect((await events.next()).value?.kind).toBe("TaskCancelled");
});

test("[Q-15] [Q-16] an agent sees its own events of its zone, and ids tell nothing of others", async () => {
  const stream = new EventStream(ids, 0, { state: new State() }, KEPT);
  stream.publish([factOf(1, { agent: "bob" }), factOf(2), factOf(3, { zone: "elsewhere" }), factOf(4)]);
  const seen = await take(stream.read(ann, { at: "start" }, never), 2);
  expect(seen.map(({ taskId }) => taskId)).toEqual(["task 2", "task 4"]);
  expect(seen.map(({ id }) => Buffer.from(id, "base64url").length)).toEqual([16, 16]);
  expect(ids.seqOf("AAAAAAAAAAAAAAAAAAAAAA")).toBeUndefined();
});

test("an event is made once for all readers, who let others have their turn", async () => {
  let made = 0;
  class CountedIds extends StreamIds {
    override idOf(seq: number): string {
      made += 1;
      return super.idOf(seq);
    }
  }
  const stream = new EventStream(new CountedIds(Buffer.alloc(32, 7)), 0, { state: new State() }, KEPT);
  const readers = Array.from({ length: 5 }, () => take(stream.read(ann, { at: "now" }, never), 1000));
  let turns = 0;
  const count = () => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  const foreign = Array.from({ length: 1000 }, (_, at) => factOf(at + 1, { zone: "elsewhere" }));
  stream.publish([...foreign, ...Array.from({ length: 1000 }, (_, at) => factOf(at + 1001))]);
  const [first = [], ...others] = await Promise.all(readers);
  clearImmediate(next);
  for (const told of others) expect(told.every((event, at) => event === first[at])).toBe(true);
  expect(made).toBe(1000);
  expect(turns).toBeGreaterThanOrEqual(19);
});

test("events of much text are kept for less long", async () => {
  const stream = new EventStream(ids, 0, { state: new State() }, KEPT);
  const message = "x".repeat(10_000);
  const failed = (seq: number): Fact => ({
    ...factOf(seq),
    event: { kind: "AttemptFailed", run: -1, node: seq, attempt: 1, startedAt: 0, code: "exit", message },
  });
  for (let seq = 1; seq <= 5000; seq++) stream.publish([failed(seq)]);
  const [missed, first] = await take(stream.read(ann, { at: "after", id: ids.idOf(1) }, never), 2);
  expect([missed?.kind, first?.kind]).toEqual(["EventsMissed", "AttemptFailed"]);
  expect((await take(stream.read(ann, { at: "start" }, never), 1000)).length).toBe(1000);
});

test("of a graph only its size is kept", async () => {
  const stream = new EventStream(ids, 0, { state: new State() }, KEPT);
  const publish = () => {
    const event = submits("r", [aNode("a"), aNode("b", { needs: ["a"] })]);
    stream.publish([
      { ...factOf(1), event, about: { zone: "z", agent: "ann", runId: "r", task: undefined } },
    ]);
    return new WeakRef(event.graph);
  };
  const graph = publish();
  await collectGarbage();
  expect(graph.deref()).toBeUndefined();
  const [run] = await take(stream.read(ann, { at: "start" }, never), 1);
  expect(run?.data).toEqual({ name: "r", nodes: 2 });
});
