import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { API, bearer, type Served, serve } from "../../../tests/http-app.ts";
import { testDatabase } from "../../../tests/postgres.ts";
import { localCaller } from "../../embedded/index.ts";
import { MemoryStore } from "../../store/index.ts";
import { PostgresStore } from "../../store/postgres/store.ts";
import type { NewKey } from "../keys.ts";

const ADMIN = localCaller("default");
const STORES = {
  memory: async () => new MemoryStore(),
  postgresql: async () => PostgresStore.open(await testDatabase()),
};

describe.each(Object.entries(STORES))("on %s", (_, openStore) => {
  let served: Served;
  beforeAll(async () => {
    served = await serve([], { store: await openStore() });
    const submit = (body: object, agent: string) =>
      served.call(
        "POST",
        `${API}/submit`,
        { executor: "x", task_type: "a", ...body },
        { "x-agent-id": agent },
      );
    for (let n = 0; n < 3; n++) await submit({}, "ann");
    await submit({ priority: "critical", task_type: "b" }, "ann");
    await submit({ priority: "low", executor: "y" }, "bob");
    const cancelled = await submit({ task_type: "b" }, "bob");
    await served.call("POST", `${API}/task/${cancelled.body.id}/cancel`);
  });
  afterAll(async () => {
    await served.close();
  });

  const found = async (filter: string, limit = 2, headers: Record<string, string> = {}) => {
    const kinds: string[] = [];
    let cursor: string | null | undefined;
    do {
      const query = `filter=${encodeURIComponent(filter)}&limit=${limit}${cursor ? `&cursor=${cursor}` : ""}`;
      const { status, body } = await served.call("GET", `${API}/tasks?${query}`, undefined, headers);
      expect(status, JSON.stringify(body)).toBe(200);
      for (const one of body.tasks) kinds.push(`${one.agent_id} ${one.task_type} ${one.status}`);
      cursor = body.next;
    } while (cursor);
    return kinds;
  };
  const bulk = (body: object, headers: Record<string, string> = {}) =>
    served.call("POST", `${API}/tasks/bulk`, body, headers);

  test("each term narrows, and all of them must fit", async () => {
    expect(await found("")).toHaveLength(6);
    expect(await found("class:interactive")).toEqual(["ann b queued"]);
    expect(await found("class:background")).toEqual(["bob a queued"]);
    expect(await found("type:b")).toEqual(["bob b cancelled", "ann b queued"]);
    expect(await found("type:b status:cancelled")).toEqual(["bob b cancelled"]);
    expect(await found("type:b status:queued,running")).toEqual(["ann b queued"]);
    expect(await found("agent:ann class:batch")).toHaveLength(3);
    expect(await found("executor:y")).toEqual(["bob a queued"]);
    expect(await found("run:none type:a")).toEqual([]);
    expect(await found("wait>1h")).toEqual([]);
    expect(await found("wait<1h class:batch", 1)).toHaveLength(4);
    expect(await found("type:b", 2, { "x-agent-id": "ann" })).toEqual(["ann b queued"]);
    expect(await found("agent:bob", 2, { "x-agent-id": "ann" })).toHaveLength(4);
  });

  test("all that fit are counted, cancelled and put back, page by page; a foreign zone has none", async () => {
    const counted = await bulk({ action: "cancel", filter: "agent:ann class:batch", dry_run: true });
    expect(counted.body).toEqual({ matching: 3, done: 0, next: null });
    const foreign = { "x-zone-id": "elsewhere" };
    expect((await bulk({ action: "cancel", dry_run: true }, foreign)).body.matching).toBe(0);
    expect((await bulk({ action: "cancel" }, foreign)).body).toEqual({ matching: 0, done: 0, next: null });
    let done = 0;
    let cursor: string | undefined;
    do {
      const body = { action: "cancel", filter: "agent:ann class:batch", limit: 2, ...(cursor && { cursor }) };
      const answer = (await bulk(body)).body;
      done += answer.done;
      cursor = answer.next ?? undefined;
    } while (cursor);
    expect(done).toBe(3);
    expect(await found("agent:ann status:cancelled")).toHaveLength(3);
    expect((await bulk({ action: "retry", filter: "status:queued", dry_run: true })).body.matching).toBe(0);
    expect((await bulk({ action: "retry", filter: "agent:ann" })).body).toMatchObject({
      matching: 3,
      done: 3,
    });
    expect(await found("agent:ann status:queued class:batch")).toHaveLength(3);
  });

  test("what happened to a task is told in order", async () => {
    const { id } = (await served.call("POST", `${API}/submit`, { executor: "x", task_type: "a" })).body;
    await served.call("POST", `${API}/task/${id}/cancel`);
    const { events } = (await served.call("GET", `${API}/task/${id}/events`)).body;
    expect(events.map(({ kind }: { kind: string }) => kind)).toEqual([
      "TaskSubmitted",
      "CancelRequested",
      "TaskCancelled",
    ]);
  });
});

test("a task is submitted once more, with all that was asked and another payload", async () => {
  const served = await serve();
  const asked = {
    executor: "x",
    task_type: "a",
    payload: { n: 1 },
    priority: "high",
    capabilities: ["net"],
    limits: { gpu: 2 },
    budget: { ops: 5 },
    max_attempts: 7,
  };
  const owner = { "x-agent-id": "ann" };
  const { id } = (await served.call("POST", `${API}/submit`, asked, owner)).body;
  const same = await served.call("POST", `${API}/task/${id}/clone`, {});
  expect([same.status, same.body.payload, same.body.agent_id]).toEqual([201, { n: 1 }, "ann"]);
  const other = await served.call("POST", `${API}/task/${id}/clone`, { payload: { n: 2 } }, owner);
  expect(other.body).toMatchObject({ payload: { n: 2 }, priority_tier: "high", status: "queued" });
  expect(other.body.budget).toEqual(same.body.budget);
  expect(new Set([id, same.body.id, other.body.id]).size).toBe(3);
  const settings = async (one: string) => (await served.service.api.task(ADMIN, one))?.settings;
  expect(await settings(other.body.id)).toBe(await settings(id));
  for (const body of [{ payload: [] }, { payload: "x" }, { other: 1 }])
    expect((await served.call("POST", `${API}/task/${id}/clone`, body)).status).toBe(422);
  expect((await served.call("POST", `${API}/task/${id}/clone`, {}, { "x-agent-id": "bob" })).status).toBe(
    404,
  );
  const run = (await served.call("POST", `${API}/runs`, { nodes: { n: { task: "t" } } })).body.id;
  const [node] = (await served.call("GET", `${API}/tasks?run=${run}`)).body.tasks;
  expect((await served.call("POST", `${API}/task/${node.id}/clone`, {})).body.code).toBe("part-of-a-run");
  await served.close();
});

test("what is wrong with a filter is said with the field and the fix", async () => {
  const served = await serve();
  const ask = (filter: string) => served.call("GET", `${API}/tasks?filter=${encodeURIComponent(filter)}`);
  for (const filter of ["status:queud", "nonsense", "wait>soon", "type:"]) {
    const { status, body } = await ask(filter);
    expect([status, body.code, body.errors[0].pointer]).toEqual([422, "invalid", "/filter"]);
  }
  expect((await ask("status:queud")).body.detail).toContain('did you mean "queued"?');
  for (const body of [
    {},
    { action: "drop" },
    { action: "cancel", filter: "x" },
    { action: "cancel", cursor: "x" },
  ])
    expect((await served.call("POST", `${API}/tasks/bulk`, body)).status).toBe(422);
  await served.close();
});

test("[F26] a key that may not act for an agent submits no copy of its task", async () => {
  const served = await serve();
  const owner = { "x-agent-id": "ann" };
  const { id } = (await served.call("POST", `${API}/submit`, { executor: "e", task_type: "t" }, owner)).body;
  const clone = async (key: Partial<NewKey>) =>
    served.call("POST", `${API}/task/${id}/clone`, {}, bearer(await served.secretOf(key)));
  const other = await clone({ scopes: ["admin"], agents: ["bob"] });
  expect([other.status, other.body.code]).toEqual([403, "agent-not-allowed"]);
  expect((await clone({ scopes: ["admin"], agents: ["bob", "ann"] })).body).toMatchObject({
    agent_id: "ann",
  });
  await served.close();
});
