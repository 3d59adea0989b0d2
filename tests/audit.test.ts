// The audit on a real PostgreSQL: complete, in the chain of the ledger, and not to be changed unnoticed.

import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AUDITED } from "../src/server/http/audited.ts";
import { directoryWith, startOrrery } from "./cli.ts";
import { SERVER_KEY, startServerProcess } from "./server-process.ts";
import { ADMIN_KEY, freshDatabase, TestService } from "./service.ts";

let service: TestService;
beforeAll(async () => {
  // Names lead to this machine, where nobody listens on the ports that they have by themselves.
  const webhooks = { allow: ["127.0.0.0/8"], resolve: async () => ["127.0.0.1"] };
  service = await TestService.start("postgresql", { webhooks });
}, 60_000);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
});

interface Entry {
  readonly id: string;
  readonly action: string;
  readonly key_id: string;
  readonly agent: string;
  readonly target: string;
  readonly detail: Readonly<Record<string, unknown>>;
  readonly seq: number;
}

async function entries(of: TestService = service): Promise<readonly Entry[]> {
  return (await of.get("audit?limit=1000")).body.entries;
}

async function sql(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: service.storeUrl });
  await client.connect();
  await client.query(text);
  await client.end();
}

async function verified(): Promise<{ readonly code: number | null; readonly stdout: string }> {
  const env = { ORRERY_URL: service.server.url, ORRERY_API_KEY: ADMIN_KEY };
  return await startOrrery("/", ["audit", "--verify"], env).finished;
}

test("[F11] every action of every route leaves an entry with its key and its agent", {
  timeout: 60_000,
}, async () => {
  const { body: who } = await service.get("whoami");
  const all = { zones: ["*"], agents: ["*"] };
  const task = { executor: "nobody", task_type: "t" };
  const made = async (path: string, body: object): Promise<string> =>
    (await service.post(path, body)).body.id;
  const id = await made("submit", task);
  const run = (await service.post("runs", { nodes: { a: { task: "t", executor: "nobody" } } })).body.id;
  const key = await made("keys", { name: "k", scopes: ["read"], ...all });
  const schedule = await made("schedules", { name: "s", cron: "0 3 * * *", task });
  const webhook = await made("webhooks", { url: "https://example.com/in" });
  await using _worker = service.worker({}, { executors: ["w"] });
  const worker = (await service.get("workers")).body.workers[0].id;
  await service.put("zone", { max_concurrent: 3 });
  await service.put("agents/ann", { max_concurrent: 3 });
  await service.post("agents/ann/credits", { amount: "1" });
  await service.put("limits/openai", { concurrency: 3 });
  await service.post("pause", {});
  await service.post("resume", {});
  await service.post(`keys/${key}/rotate`, {});
  await service.post(`keys/${key}/revoke`);
  await service.post(`task/${id}/cancel`);
  await service.post(`task/${id}/retry`);
  await service.post(`task/${id}/recharge`, { ops: 1 });
  await service.post("tasks/bulk", { action: "cancel", filter: "executor:nobody" });
  await service.post(`runs/${run}/cancel`);
  await service.post(`runs/${run}/release`);
  for (const word of ["pause", "resume", "run"]) await service.post(`schedules/${schedule}/${word}`);
  await service.request("DELETE", `schedules/${schedule}`);
  await service.request("PATCH", `webhooks/${webhook}`, { include_result: true });
  await service.post(`webhooks/${webhook}/rotate`, {});
  const delivery = (await service.post(`webhooks/${webhook}/test`)).body.id;
  await service.post(`webhooks/${webhook}/deliveries/${delivery}/redeliver`);
  await service.request("DELETE", `webhooks/${webhook}`);
  await service.post(`workers/${worker}/drain`);
  await service.post("cluster/step-down");
  const found = await entries();
  const actions = new Set(found.map(({ action }) => action.replace("tasks.cancel", "tasks.bulk")));
  expect([...actions].sort()).toEqual(Object.keys(AUDITED).sort());
  for (const entry of found)
    expect(entry, entry.action).toMatchObject({ key_id: who.key_id, agent: "admin" });
});

test("[F11] an entry that was changed, deleted or added in the database is named", {
  timeout: 60_000,
}, async () => {
  await service.put("limits/openai", { concurrency: 4 });
  await service.put("zone", { max_concurrent: 4 });
  expect(await verified()).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("holds the hashes of all"),
  });
  const limit = (await entries()).find(({ action }) => action === "limit.set");
  await sql(`update orrery.audit set agent = 'somebody else' where id = '${limit?.id}'`);
  expect(await verified()).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(`the entry ${limit?.id} of event ${limit?.seq} was changed`),
  });
  await sql(`update orrery.audit set agent = 'admin' where id = '${limit?.id}'`);
  const zone = (await entries()).find(({ action }) => action === "zone.set");
  await sql(`insert into orrery.audit select 'f' || substr(id, 2), at, zone, key_id, agent, action, target, detail, before, 1
               from orrery.audit where id = '${zone?.id}'`);
  expect((await verified()).stdout).toContain("of event 1 was added");
  await sql("delete from orrery.audit where seq = 1");
  expect((await verified()).code).toBe(0);
  await sql(`delete from orrery.audit where id = '${zone?.id}'`);
  expect((await verified()).stdout).toContain(`the entry of event ${zone?.seq} was deleted`);
  const env = { ORRERY_API_KEY: ADMIN_KEY, DATABASE_URL: "" };
  const args = ["doctor", "--json", "--store", "memory", "--server", service.server.url];
  const { checks } = JSON.parse((await startOrrery("/", args, env).finished).stdout);
  expect(checks).toContainEqual(expect.objectContaining({ name: "audit", result: "fail" }));
});

test("[F11] a server that is killed leaves no change without its entry", { timeout: 120_000 }, async () => {
  const store = await freshDatabase();
  const cwd = await directoryWith({});
  const headers = { authorization: `Bearer ${SERVER_KEY}`, "content-type": "application/json" };
  for (const round of [1, 2]) {
    const { url, child, finished } = await startServerProcess(cwd, ["--store", store, "--takeover", "200ms"]);
    let answered = 0;
    const set = async (name: string) => {
      for (let n = 0; child.exitCode === null && child.signalCode === null; n++) {
        const body = JSON.stringify({ concurrency: n });
        const path = `${url}/api/v2/scheduler/limits/${name}-${round}-${n}`;
        const answer = await fetch(path, { method: "PUT", headers, body }).catch(() => undefined);
        if (answer?.ok) answered++;
        // The server is killed while other changes are in progress.
        if (answered === 5) child.kill("SIGKILL");
      }
    };
    await Promise.all(["a", "b", "c"].map(set));
    await finished;
  }
  await using after = await TestService.start("postgresql", {}, store);
  const set: string[] = (await after.get("limits")).body.limits.map(({ name }: { name: string }) => name);
  const told = new Set((await entries(after)).map(({ target }) => target));
  expect(set.length).toBeGreaterThan(3);
  expect(set.filter((name) => !told.has(name))).toEqual([]);
  expect((await after.get("audit/check")).body).toMatchObject({ ok: true });
});
