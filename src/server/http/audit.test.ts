import { afterAll, beforeAll, expect, test } from "vitest";
import { ADMIN_KEY, API, bearer, type Served, serve } from "../../../tests/http-app.ts";
import { MemoryStore } from "../../store/index.ts";

let served: Served;
const log: string[] = [];
const store = new MemoryStore();
beforeAll(async () => {
  served = await serve(log, { store });
});
afterAll(async () => {
  await served.close();
});

interface Entry {
  readonly action: string;
  readonly target: string;
  readonly before: object | null;
  readonly detail: object;
}

const call = (method: string, path: string, body?: unknown, headers = {}) =>
  served.call(method, `${API}${path}`, body, headers);
const audit = async (query = "", headers = {}) =>
  (await call("GET", `/audit${query}`, undefined, headers)).body;
const told = async (headers = {}) =>
  (await audit("", headers)).entries.map(({ action, target, before, detail }: Entry) => {
    return [action, target, before, detail];
  });
const last = async () => (await told())[0];

const ALL = { zones: ["*"], agents: ["*"] };

test("[F11] what admins set is kept with what it was before, and without secrets", async () => {
  await call("PUT", "/limits/openai", { concurrency: 5 });
  expect(await last()).toEqual(["limit.set", "openai", null, { concurrency: 5 }]);
  await call("PUT", "/limits/openai", { concurrency: 7 });
  expect(await last()).toEqual(["limit.set", "openai", { concurrency: 5, rate: null }, { concurrency: 7 }]);
  await call("PUT", "/zone", { max_concurrent: 7 });
  expect(await last()).toEqual([
    "zone.set",
    "default",
    { max_concurrent: 10, own_max_concurrent: false },
    { max_concurrent: 7 },
  ]);
  await call("PUT", "/agents/al%2Fice", { max_concurrent: 3 });
  await call("PUT", "/agents/al%2Fice", { max_concurrent: 4 });
  expect(await last()).toMatchObject(["agent.set", "al/ice", { max_concurrent: 3 }, { max_concurrent: 4 }]);
  await call("POST", "/agents/alice/credits", { amount: "1.5" });
  expect(await last()).toMatchObject(["agent.credits", "alice", null, { amount: "1.5" }]);
  await call("POST", "/pause", { executor: "e" });
  expect(await last()).toEqual(["queue.pause", "e", { paused: false }, { paused: true }]);
  await call("POST", "/resume");
  expect(await last()).toMatchObject(["queue.resume", "default", { paused: false }, { paused: false }]);
  const [entry] = (await audit("?limit=1")).entries;
  expect(entry).toMatchObject({ zone: "default", agent: "admin", at: expect.stringMatching(/Z$/) });
  expect((await call("GET", "/whoami")).body.key_id).toBe(entry.key_id);
});

test("[F11] keys are kept with their rights, and never with their secrets", async () => {
  const made = (await call("POST", "/keys", { name: "ci", scopes: ["read"], ...ALL })).body;
  expect(await last()).toEqual(["key.create", made.id, null, { name: "ci", scopes: ["read"], ...ALL }]);
  const rotated = (await call("POST", `/keys/${made.id}/rotate`, {})).body;
  expect(await last()).toMatchObject(["key.rotate", made.id, { name: "ci" }, { by: rotated.id }]);
  await call("POST", `/keys/${made.id}/revoke`);
  expect(await last()).toMatchObject(["key.revoke", made.id, { revokedAt: -1 }, { revoked: true }]);
  const all = JSON.stringify(await audit("?limit=1000"));
  for (const secret of [ADMIN_KEY, made.secret, rotated.secret]) expect(all).not.toContain(secret);
  const other = bearer(await served.secretOf({ scopes: ["admin"], zones: ["there"] }));
  expect((await call("POST", `/keys/${made.id}/revoke`, undefined, other)).status).toBe(404);
  expect(await told(other)).toEqual([]);
});

test("[F11] webhooks and schedules are kept: where results went before, and where they go", async () => {
  const url = "https://hooks.example.com/T0/secret-of-the-path?token=hush";
  const { id } = (await call("POST", "/webhooks", { url })).body;
  expect(await last()).toMatchObject(["webhook.create", "https://hooks.example.com", null, {}]);
  await call("PATCH", `/webhooks/${id}`, { url: "https://elsewhere.example.com/in", include_result: true });
  expect(await last()).toMatchObject([
    "webhook.update",
    id,
    { url: "https://hooks.example.com", include_result: false, url_sha256: expect.any(String) },
    { url: "https://elsewhere.example.com", include_result: true },
  ]);
  await call("POST", `/webhooks/${id}/rotate`, {});
  expect((await last())[0]).toBe("webhook.rotate");
  await call("DELETE", `/webhooks/${id}`);
  expect((await last())[0]).toBe("webhook.delete");
  const task = { executor: "e", task_type: "t", payload: { password: "hush" } };
  const schedule = (await call("POST", "/schedules", { name: "nightly", cron: "0 3 * * *", task })).body;
  expect(await last()).toMatchObject(["schedule.create", "nightly", null, { cron: "0 3 * * *" }]);
  await call("POST", `/schedules/${schedule.id}/pause`);
  expect(await last()).toMatchObject(["schedule.pause", schedule.id, { paused: false }, { paused: true }]);
  await call("DELETE", `/schedules/${schedule.id}`);
  expect((await last())[0]).toBe("schedule.delete");
  expect(JSON.stringify(await audit("?limit=1000"))).not.toMatch(/hush|secret-of-the-path/);
});

test("[F11] what an admin does to tasks is kept, what agents do to their own is not, nor is counting", async () => {
  const submit = async () => (await call("POST", "/submit", { executor: "e", task_type: "t" })).body.id;
  const id = await submit();
  await call("POST", `/task/${id}/cancel`);
  expect(await last()).toMatchObject([
    "task.cancel",
    id,
    { agent: "admin", executor: "e", task_type: "t", status: "queued" },
    {},
  ]);
  await call("POST", `/task/${id}/retry`);
  expect(await last()).toMatchObject(["task.retry", id, { status: "cancelled" }, {}]);
  const before = await told();
  await call("POST", `/task/${id}/cancel`, undefined, { "x-agent-id": "admin" });
  const filter = "executor:e";
  await call("POST", "/tasks/bulk", { action: "cancel", filter, dry_run: true });
  expect(await told()).toEqual(before);
  await submit();
  await call("POST", "/tasks/bulk", { action: "cancel", filter });
  expect(await last()).toMatchObject(["tasks.cancel", filter, null, { is_next_page: false }]);
});

test("[F11] a request that is refused after its entry has a second entry, and one that is refused before has none", async () => {
  const before = await told();
  await call("PUT", "/agents/alice", { max_concurrent: "many" });
  await call("POST", "/workers/nobody/drain");
  await call("POST", "/keys/nobody/revoke");
  expect(await told()).toEqual(before);
  await call("POST", "/keys", { name: "k", scopes: ["read"], ...ALL, expires_at: "yesterday" });
  const [second, first] = (await audit("?limit=2")).entries;
  expect([first.action, second.action]).toEqual(["key.create", "key.create"]);
  expect(second.detail).toEqual({ refused: 422, entry: first.id });
});

test("[F11] nothing is changed when its entry cannot be recorded", async () => {
  served.instead.recordAudit = async () => {
    throw new Error("the disk is full");
  };
  const { status } = await call("PUT", "/limits/unrecorded", { concurrency: 1 });
  delete served.instead.recordAudit;
  expect(status).toBe(500);
  expect((await call("GET", "/limits")).text).not.toContain("unrecorded");
});

test("each zone is told its own, pages follow each other, and only operators learn what concerns all", async () => {
  const there = bearer(await served.secretOf({ scopes: ["admin"], zones: ["there"] }));
  await call("POST", "/pause", { executor: "x" }, there);
  expect(await told(there)).toEqual([["queue.pause", "x", { paused: false }, { paused: true }]]);
  const first = await audit("?limit=4");
  const second = await audit(`?limit=1000&cursor=${first.next}`);
  expect(second.next).toBeNull();
  expect([...first.entries, ...second.entries]).toEqual((await audit("?limit=1000")).entries);
  expect(JSON.stringify(second)).not.toContain('"x"');
  await served.tickets.issue();
  expect((await last())[0]).toBe("ticket.issue");
  const admin = bearer(await served.secretOf({ scopes: ["admin"], zones: ["default"] }));
  expect(JSON.stringify(await audit("", admin))).not.toContain("ticket.issue");
  const wrong = await call("GET", "/audit?cursor=nonsense");
  expect([wrong.status, wrong.body.errors[0].pointer]).toEqual([422, "/cursor"]);
  expect((await call("GET", "/audit/check")).body).toMatchObject({ ok: true, unchained: 0, faults: [] });
});
