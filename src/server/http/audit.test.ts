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

const audit = async (query = "", headers = {}) =>
  (await served.call("GET", `${API}/audit${query}`, undefined, headers)).body;
const told = async (headers = {}) =>
  (await audit("", headers)).entries.map((entry: { action: string; target: string; detail: object }) => {
    return [entry.action, entry.target, entry.detail];
  });

test("what admins do is noted with who and when, without secrets, and what was refused is not", async () => {
  const made = (
    await served.call("POST", `${API}/keys`, { name: "ci", scopes: ["read"], zones: ["*"], agents: ["*"] })
  ).body;
  const rotated = (await served.call("POST", `${API}/keys/${made.id}/rotate`, {})).body;
  await served.call("POST", `${API}/keys/${made.id}/revoke`);
  await served.call("POST", `${API}/pause`, { executor: "e" });
  await served.call("POST", `${API}/resume`);
  await served.call("PUT", `${API}/agents/al%2Fice`, { max_concurrent: 3 });
  await served.call("PUT", `${API}/agents/alice`, { max_concurrent: "many" });
  await served.call("POST", `${API}/agents/alice/credits`, { amount: "1.5" });
  await served.call("PUT", `${API}/limits/openai`, { concurrency: 5 });
  await served.call("PUT", `${API}/zone`, { max_concurrent: 7 });
  await served.call("POST", `${API}/workers/nobody/drain`);
  expect(await told()).toEqual([
    ["zone.set", "default", { max_concurrent: 7 }],
    ["limit.set", "openai", { concurrency: 5 }],
    ["agent.credits", "alice", { amount: "1.5" }],
    ["agent.set", "al/ice", { max_concurrent: 3 }],
    ["queue.resume", "default", { whole_zone: true }],
    ["queue.pause", "e", {}],
    ["key.revoke", made.id, { name: "ci" }],
    ["key.rotate", made.id, { name: "ci", by: rotated.id }],
    ["key.create", made.id, { name: "ci", scopes: ["read"], zones: ["*"], agents: ["*"] }],
  ]);
  const all = JSON.stringify(await audit());
  for (const secret of [ADMIN_KEY, made.secret, rotated.secret]) expect(all).not.toContain(secret);
  const [entry] = (await audit("?limit=1")).entries;
  expect(entry).toMatchObject({ zone: "default", agent: "admin", at: expect.stringMatching(/Z$/) });
  expect((await served.call("GET", `${API}/whoami`)).body.key_id).toBe(entry.key_id);
});

test("what is done to many tasks at once is noted, counting is not", async () => {
  await served.call("POST", `${API}/submit`, { executor: "e", task_type: "t" });
  const filter = "executor:e";
  await served.call("POST", `${API}/tasks/bulk`, { action: "cancel", filter, dry_run: true });
  await served.call("POST", `${API}/tasks/bulk`, { action: "cancel", filter });
  await served.call("POST", `${API}/tasks/bulk`, { action: "cancel", filter });
  const entries = await told();
  expect(entries[0]).toEqual(["tasks.cancel", filter, { done: 1 }]);
  expect(entries.filter(([action]: [string]) => action === "tasks.cancel")).toHaveLength(1);
});

test("each zone is told its own, pages follow each other, and only operators learn what concerns all", async () => {
  const there = bearer(await served.secretOf({ scopes: ["admin"], zones: ["there"] }));
  expect(await told(there)).toEqual([]);
  await served.call("POST", `${API}/pause`, { executor: "x" }, there);
  expect(await told(there)).toEqual([["queue.pause", "x", {}]]);
  const first = await audit("?limit=4");
  const second = await audit(`?limit=1000&cursor=${first.next}`);
  expect(second.next).toBeNull();
  expect([...first.entries, ...second.entries]).toEqual((await audit("?limit=1000")).entries);
  expect(JSON.stringify(second)).not.toContain('"x"');
  const row = { keyId: "k", agent: "op", action: "leader.step-down", target: "host:1", detail: "{}" };
  await store.audit.add({ ...row, id: "ffffffff-ffff-7fff-bfff-ffffffffffff", at: 1, zone: "" });
  expect((await told())[0]).toEqual(["leader.step-down", "host:1", {}]);
  const admin = bearer(await served.secretOf({ scopes: ["admin"], zones: ["default"] }));
  expect(JSON.stringify(await audit("", admin))).not.toContain("step-down");
  const wrong = await served.call("GET", `${API}/audit?cursor=nonsense`);
  expect([wrong.status, wrong.body.errors[0].pointer]).toEqual([422, "/cursor"]);
});

test("what cannot be noted was done all the same, and is in the log", async () => {
  const { add } = store.audit;
  store.audit.add = async () => {
    throw new Error("the disk is full");
  };
  const { status } = await served.call("POST", `${API}/pause`, { executor: "y" });
  store.audit.add = add;
  expect(status).toBe(200);
  expect(log.join("\n")).toMatch(/not in the audit/);
});
