import { afterAll, beforeAll, expect, test } from "vitest";
import { API, bearer, type Served, serve } from "../../../tests/http-app.ts";

let served: Served;
beforeAll(async () => {
  served = await serve();
  const registration = {
    ...{ protocol: 1, id: "w1", session: "session-of-w1", executors: ["x"], types: ["t"] },
    ...{ cpu_millicores: 8000, memory_bytes: 0, slots: 1 },
  };
  await served.call("POST", "/worker/register", { registration, heartbeat: { attempts: [] } });
  const task = { executor: "x", task_type: "t", estimated_service_time: 10 };
  for (const agent of ["ann", "ann", "bob", "bob"])
    expect((await served.call("POST", `${API}/submit`, task, { "x-agent-id": agent })).status).toBe(201);
});
afterAll(async () => {
  await served.close();
});

/** As a client does: what is being replayed is asked for again. */
async function ask(body: object, headers: Record<string, string> = {}) {
  for (;;) {
    const answer = await served.call("POST", `${API}/what-if`, body, headers);
    if ((answer.body as { code?: string }).code !== "past-building") return answer;
  }
}

test("what if there were more workers, from now on or from an event on", async () => {
  const changes = [{ kind: "more-workers", like: "w1", count: 3 }];
  const { status, body, text } = await ask({ changes });
  expect(status, text).toBe(200);
  expect(body.is_whole).toBe(true);
  expect(body.as_is).toMatchObject({ ended: 4, unfinished: 0 });
  expect(body.as_is.makespan).toBeCloseTo(40, 0);
  expect(body.changed.makespan).toBeCloseTo(10, 0);
  expect(body.changed.agents.map(({ agent }: { agent: string }) => agent)).toEqual(["ann", "bob"]);
  expect(body.moved).toMatchObject({ total: 3, sooner: 3, later: 0, elsewhere: 3 });
  const [first] = body.moved.tasks;
  expect(first).toMatchObject({ type: "t", as_is: { worker: "w1" }, run_id: null });
  expect(first.changed.worker).toMatch(/^w1 \(\d\)$/);
  const early = await ask({ at: 2, changes });
  expect(early.body.at).toBe(2);
  // What came later came as well.
  expect(early.body.as_is.ended).toBe(4);
  const { body: whole } = await ask({ at: 0, changes: [] });
  expect(whole.as_is).toMatchObject({ ended: 4, makespan: expect.closeTo(40, -1) });
});

test("what if an agent's tasks had another priority", async () => {
  const { body } = await ask({ changes: [{ kind: "priority", agent: "bob", priority: "critical" }] });
  expect(body.moved).toMatchObject({ total: 3, sooner: 2, later: 1 });
});

test("what cannot be asked is said", async () => {
  const unknown = await ask({
    changes: [
      { kind: "order", order: "graph" },
      { kind: "slots", worker: "w9", slots: 2 },
    ],
  });
  expect([unknown.status, unknown.body.errors[0].pointer]).toEqual([422, "/changes/1/worker"]);
  expect(unknown.body.detail).toContain("w9");
  for (const changes of [[{ kind: "magic" }], [{ kind: "slots", worker: "w1", slots: 0 }], "all"])
    expect((await ask({ changes })).status).toBe(422);
  expect((await ask({ at: 999_999, changes: [] })).status).toBe(422);
  const reader = bearer(await served.secretOf({ scopes: ["read", "admin"] }));
  expect((await ask({ changes: [] }, reader)).status).toBe(403);
});

test("[Q-15] of another zone nothing is told", async () => {
  const { body } = await ask({ changes: [{ kind: "order", order: "graph" }] }, { "x-zone-id": "elsewhere" });
  expect(body).toMatchObject({ as_is: { ended: 0, agents: [] }, moved: { total: 0, tasks: [] } });
});
