import { describe, expect, test } from "vitest";
import { blockOn, endedAt, runOf, taskOf } from "../../tests/any-rows.ts";
import { testDatabase } from "../../tests/postgres.ts";
import type { ServiceStore } from "./contract.ts";
import { MemoryStore } from "./memory.ts";
import { PostgresStore } from "./postgres/store.ts";
import { NO_CHANGES, QUEUED, type RowChanges } from "./rows.ts";
import type { Delivery, DeliveryProgress, EndsCursor, WebhookRow } from "./webhook-rows.ts";

const STORES: Readonly<Record<string, () => Promise<ServiceStore>>> = {
  memory: async () => new MemoryStore(),
  postgres: async () => PostgresStore.open(await testDatabase()),
};

const START: EndsCursor = { at: 0, seq: 0, id: "", runsAt: 0, runIds: [] };

function webhookOf(id: string, changed: Partial<WebhookRow> = {}): WebhookRow {
  return {
    id,
    zone: "main",
    url: "https://example.com/",
    description: 'for "us", {all}',
    events: ["task.failed", "run.ended"],
    agents: [],
    types: ["build", 'b,"u'],
    executors: ["shell"],
    includeResult: true,
    secrets: [
      { secret: "whsec_new", expiresAt: -1 },
      { secret: "whsec_old", expiresAt: 99 },
    ],
    createdAt: 1,
    since: 2,
    disabledAt: -1,
    disabledReason: "",
    failingSince: 7,
    keyId: "the key",
    ...changed,
  };
}

function deliveryOf(id: string, changed: Partial<Delivery> = {}): Delivery {
  return {
    id,
    webhookId: "w1",
    type: "task.failed",
    subject: "t1",
    body: '{"a":"ü\\""}',
    createdAt: 10,
    ...changed,
  };
}

const FRESH: DeliveryProgress = {
  status: "pending",
  tries: 0,
  nextAt: 10,
  triedAt: -1,
  answered: 0,
  error: "",
};

async function commit(store: ServiceStore, changes: Partial<RowChanges>): Promise<void> {
  expect(await store.commit(blockOn(store.head), { ...NO_CHANGES, ...changes })).toBe(true);
}

function ids(rows: readonly { readonly id: string }[]): string[] {
  return rows.map(({ id }) => id);
}

describe.each(Object.entries(STORES))("the webhooks of the %s store", (_, open) => {
  test("are added, replaced and removed, with all that they have", async () => {
    await using store = await open();
    const { webhooks } = store;
    await webhooks.save(webhookOf("w1"));
    await webhooks.save(webhookOf("w2", { zone: "east", agents: ["ada"] }));
    const changed = webhookOf("w1", { url: "https://a.example/", disabledAt: 5, disabledReason: "gone" });
    await webhooks.save(changed);
    expect(await webhooks.webhooks()).toEqual([changed, webhookOf("w2", { zone: "east", agents: ["ada"] })]);
    await webhooks.addDelivery(deliveryOf("d1"));
    await webhooks.addDelivery(deliveryOf("d2", { webhookId: "w2" }));
    await webhooks.remove("w1");
    expect(ids(await webhooks.webhooks())).toEqual(["w2"]);
    expect(await webhooks.delivery("d1")).toBeUndefined();
    expect(await webhooks.delivery("d2")).toBeDefined();
  });

  test("tasks that ended are read in the order of their ends, page by page", async () => {
    await using store = await open();
    const large = JSON.stringify("x".repeat(100));
    await commit(store, {
      submitted: [
        { task: taskOf("b"), progress: endedAt(100, { seq: 5 }) },
        { task: taskOf("a"), progress: endedAt(100, { seq: 5 }) },
        { task: taskOf("waiting"), progress: QUEUED },
        { task: taskOf("later"), progress: QUEUED },
        { task: taskOf("east", { zone: "east" }), progress: endedAt(100, { seq: 6 }) },
        { task: taskOf("of-a-run", { run: { id: "r1", node: "n" } }), progress: endedAt(101, { seq: 7 }) },
      ],
      runs: [runOf("r1")],
    });
    const progress = endedAt(101, { seq: 9, status: "failed", result: large });
    await commit(store, { progressed: [{ id: "later", progress }] });
    const { webhooks } = store;
    const all = await webhooks.endedTasks(START, ["main"], 50, 10);
    expect(ids(all)).toEqual(["a", "b", "of-a-run", "later"]);
    expect(ids(await webhooks.endedTasks(START, ["main", "east"], 50, 4))).toEqual([
      "a",
      "b",
      "east",
      "of-a-run",
    ]);
    expect(all.map(({ result, resultBytes }) => [result, resultBytes])).toEqual([
      ['{"ok":true}', 11],
      ['{"ok":true}', 11],
      ['{"ok":true}', 11],
      [undefined, 102],
    ]);
    const after = { ...START, at: 100, seq: 5, id: "a" };
    expect(ids(await webhooks.endedTasks(after, ["main"], -1, 10))).toEqual(["b", "of-a-run", "later"]);
    const last = { ...START, at: 101, seq: 9, id: "later" };
    expect(await webhooks.endedTasks(last, ["main"], -1, 10)).toEqual([]);
    await commit(store, { progressed: [{ id: "later", progress: { ...QUEUED, attempt: 1, seq: 10 } }] });
    expect(ids(await webhooks.endedTasks(after, ["main"], -1, 10))).toEqual(["b", "of-a-run"]);
    await commit(store, { progressed: [{ id: "later", progress: endedAt(102, { seq: 12 }) }] });
    expect(ids(await webhooks.endedTasks(last, ["main"], -1, 10))).toEqual(["later"]);
  });

  test("runs that ended are read by time, without those that are known", async () => {
    await using store = await open();
    await commit(store, {
      runs: [runOf("c"), runOf("b"), runOf("a"), runOf("open"), runOf("east", { zone: "east" })],
    });
    const ended = (id: string, at: number) => ({ id, outcome: "completed" as const, endedAt: at });
    await commit(store, { runsEnded: [ended("c", 50), ended("b", 60), ended("a", 60), ended("east", 60)] });
    const { webhooks } = store;
    expect(ids(await webhooks.endedRuns(START, ["main"], 10))).toEqual(["c", "a", "b"]);
    expect(ids(await webhooks.endedRuns(START, ["main"], 2))).toEqual(["c", "a"]);
    const after = { ...START, runsAt: 60, runIds: ["a"] };
    expect(ids(await webhooks.endedRuns(after, ["main", "east"], 10))).toEqual(["b", "east"]);
    const [first] = await webhooks.endedRuns(START, ["main"], 1);
    expect(first).toEqual(runOf("c", { outcome: "completed", endedAt: 50 }));
  });

  test("the cursor moves with what is added, or neither does", async () => {
    await using store = await open();
    const { webhooks } = store;
    expect(await webhooks.cursor()).toBeUndefined();
    const first = { ...START, at: 100, seq: 5, id: "a", runIds: ['r"1'] };
    expect(await webhooks.enqueue(undefined, first, [deliveryOf("d1"), deliveryOf("d2")])).toBe(true);
    expect(await webhooks.cursor()).toEqual(first);
    expect(await webhooks.enqueue(undefined, { ...first, seq: 6 }, [deliveryOf("d3")])).toBe(false);
    expect(await webhooks.enqueue({ ...first, seq: 4 }, first, [deliveryOf("d3")])).toBe(false);
    expect(await webhooks.delivery("d3")).toBeUndefined();
    expect(await webhooks.delivery("d2")).toEqual({ ...deliveryOf("d2"), ...FRESH });
    expect(await webhooks.enqueue(first, { ...first, seq: 6 }, [])).toBe(true);
    expect((await webhooks.cursor())?.seq).toBe(6);
  });

  test("what is due is found for each webhook by itself, earliest first", async () => {
    await using store = await open();
    const { webhooks } = store;
    for (const [id, webhookId, createdAt] of [
      ["a1", "a", 12],
      ["a2", "a", 11],
      ["a3", "a", 13],
      ["b1", "b", 12],
      ["b2", "b", 30],
      ["c1", "c", 1],
    ] as const)
      await webhooks.addDelivery(deliveryOf(id, { webhookId, createdAt }));
    const due = async (rooms: Record<string, number>, underWay: string[] = []) =>
      ids(await webhooks.due(new Map(Object.entries(rooms)), 20, underWay)).sort();
    expect(await due({ a: 2, b: 5 })).toEqual(["a1", "a2", "b1"]);
    expect(await due({ a: 2, b: 5 }, ["a2", "b1"])).toEqual(["a1", "a3"]);
    expect(await due({})).toEqual([]);
    expect(await webhooks.nextDue(["a", "b"], 20)).toBe(30);
    expect(await webhooks.nextDue(["a", "b"], 11)).toBe(12);
    expect(await webhooks.nextDue(["a"], 20)).toBeUndefined();
    expect(await webhooks.nextDue([], 0)).toBeUndefined();
    const ended = { ...FRESH, status: "delivered", nextAt: -1 } as const;
    await webhooks.progress([{ id: "a1", progress: ended }]);
    expect(await due({ a: 5 })).toEqual(["a2", "a3"]);
  });

  test("deliveries come forward, are listed newest first, and go with their age", async () => {
    await using store = await open();
    const { webhooks } = store;
    for (const id of ["d1", "d2", "d3"]) await webhooks.addDelivery(deliveryOf(id));
    await webhooks.addDelivery(deliveryOf("e1", { createdAt: 50 }));
    const progress: DeliveryProgress = {
      status: "failed",
      tries: 3,
      nextAt: -1,
      triedAt: 40,
      answered: 503,
      error: 'it said "no"',
    };
    await webhooks.progress([
      { id: "d2", progress },
      { id: "unknown", progress },
    ]);
    expect(await webhooks.delivery("d2")).toEqual({ ...deliveryOf("d2"), ...progress });
    expect(ids(await webhooks.deliveries("w1", undefined, 2))).toEqual(["e1", "d3"]);
    expect(ids(await webhooks.deliveries("w1", "d3", 10))).toEqual(["d2", "d1"]);
    expect(await webhooks.deliveries("w2", undefined, 10)).toEqual([]);
    await webhooks.prune(20);
    expect(ids(await webhooks.deliveries("w1", undefined, 10))).toEqual(["e1"]);
  });
});
