// Two servers on one PostgreSQL, as their users meet them.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OrreryClient } from "../src/client/index.ts";
import { open } from "../src/embedded/index.ts";
import { task, WebSocketTransport, Worker } from "../src/worker/index.ts";
import { directoryWith, startOrrery } from "./cli.ts";
import { ADMIN_KEY, TestService } from "./service.ts";

const SOON = { timeout: 30_000, interval: 50 };

let ada: TestService;
let bob: TestService;
beforeAll(async () => {
  ada = await TestService.start("postgresql");
  bob = await TestService.start("postgresql", {}, ada.storeUrl);
}, 60_000);
afterAll(async () => {
  await bob[Symbol.asyncDispose]();
  await ada[Symbol.asyncDispose]();
});

async function roles(): Promise<unknown[]> {
  return await Promise.all(
    [ada, bob].map(async (service) => ((await service.get("/readyz")).body as { role?: string }).role),
  );
}

function clientOf(service: TestService): OrreryClient {
  return new OrreryClient({ url: service.server.url, key: ADMIN_KEY });
}

/** A worker that reaches the leader through one of the servers. */
function workerAt(service: TestService): { worker: Worker; ended: Promise<unknown> } {
  const worker = new Worker({
    transport: new WebSocketTransport({ url: service.server.url, key: ADMIN_KEY }),
    handlers: { double: task<{ n: number }>(({ n }) => 2 * n) },
    registration: {
      id: "through-the-follower",
      executors: ["default"],
      cpu_millicores: 1000,
      memory_bytes: 1000,
      slots: 4,
    },
  });
  return { worker, ended: worker.run() };
}

describe("[P-16] a follower", { timeout: 60_000 }, () => {
  test("answers for itself how it is and who is there", async () => {
    expect(await roles()).toEqual(["leader", "follower"]);
    expect((await bob.get("/livez")).status).toBe(200);
    const metrics = await bob.get("/metrics");
    expect(metrics.body).toContain("orrery_leader 0");
    expect((await ada.get("/metrics")).body).toContain("orrery_leader 1");
    expect((await bob.get("/metrics", { key: null })).status).toBe(401);
    const { body } = await bob.get("cluster");
    expect(body).toMatchObject({ leader: { url: ada.server.url }, epoch: 1 });
    await expect
      .poll(async () => (await bob.get("cluster")).body.members, SOON)
      .toMatchObject(
        [ada, bob]
          .map(({ server }, at) => ({ url: server.url, role: at === 0 ? "leader" : "follower" }))
          .sort((one, other) => (one.url < other.url ? -1 : 1)),
      );
  });

  test("hands on tasks, long polls, streams and workers", async () => {
    const { worker, ended } = workerAt(bob);
    const client = clientOf(bob);
    const events: string[] = [];
    const stop = new AbortController();
    const listening = (async () => {
      for await (const event of client.events({ signal: stop.signal, from: "now" })) events.push(event.kind);
    })().catch(() => {});
    expect(await client.submitAndWait({ task_type: "double", payload: { n: 21 } })).toBe(42);
    await expect
      .poll(async () => {
        await client.submitAndWait({ task_type: "double", payload: { n: 1 } });
        return events;
      }, SOON)
      .toContain("AttemptFinished");
    stop.abort();
    await listening;
    worker.drain();
    await ended;
  });

  test("refuses with the leader's words", async () => {
    expect((await bob.get("tasks", { key: null })).body).toMatchObject({ status: 401, code: "unauthorized" });
    expect((await bob.post("submit", "{")).body).toMatchObject({ status: 400, code: "malformed" });
    expect((await bob.get("/nowhere")).body).toMatchObject({ status: 404, code: "not-found" });
    expect((await bob.post("cluster")).status).toBe(405);
    const forwarded = await bob.get("tasks", { headers: { "x-orrery-forwarded": "eve" } });
    expect([forwarded.status, forwarded.body.code, forwarded.headers.get("retry-after")]).toEqual([
      503,
      "no-leader",
      "1",
    ]);
  });

  test("keeps programs from the store that would lead it, and says who does", async () => {
    const opening = open({ store: ada.storeUrl });
    await expect(opening).rejects.toMatchObject({ name: "StoreError", code: "locked" });
    await expect(opening).rejects.toThrow(`at ${ada.server.url} leads this store`);
  });

  test("leads when the leader steps down, and workers and tasks go on", async () => {
    const { worker, ended } = workerAt(ada);
    const { id } = await clientOf(ada).submit({ task_type: "later", executor: "nobody" });
    const cwd = await directoryWith({});
    const cli = (...args: string[]) =>
      startOrrery(cwd, ["cluster", ...args, "--server", bob.server.url], { ORRERY_API_KEY: ADMIN_KEY })
        .finished;
    const stepped = await cli("step-down", "--json");
    expect([stepped.code, stepped.stderr]).toEqual([0, ""]);
    expect(JSON.parse(stepped.stdout)).toMatchObject({ epoch: 1 });
    await expect.poll(roles, SOON).toEqual(["follower", "leader"]);
    expect(await clientOf(ada).submitAndWait({ task_type: "double", payload: { n: 4 } })).toBe(8);
    expect((await clientOf(ada).task(id)).status).toBe("queued");
    const status = await cli("status");
    expect(status.stdout).toMatch(/^\S+ leads; epoch 2, event \d+\n/);
    expect(status.stdout).toMatch(/follower .* http:\/\//);
    worker.drain();
    await ended;
  });
});

test("[P-16] a server without another does not step down, and one in memory leads alone", async () => {
  await using alone = await TestService.start("memory");
  expect((await alone.post("cluster/step-down")).body).toMatchObject({ status: 409, code: "no-standby" });
  expect((await alone.get("cluster")).body).toMatchObject({
    members: [{ role: "leader", lag: 0 }],
    epoch: 1,
  });
  expect((await alone.submit()).status).toBe(201);
});

test("[P-16] a program that leads is followed by a server, which takes over when it ends", {
  timeout: 60_000,
}, async () => {
  const first = await TestService.start("postgresql");
  await first[Symbol.asyncDispose]();
  const program = await open({ store: first.storeUrl });
  await using server = await TestService.start("postgresql", {}, first.storeUrl);
  // A follower that cannot forward a submission is not ready.
  expect((await server.get("/readyz")).status).toBe(503);
  const refused = await server.submit();
  expect([refused.status, refused.body.code]).toEqual([503, "no-leader"]);
  expect(refused.body.detail).toContain("takes no requests");
  expect((await server.get("cluster")).body.leader).toMatchObject({ url: null });
  const id = await program.submit("wait", {}, { executor: "nobody" });
  await program.close();
  await expect.poll(() => server.get(`task/${id}`), SOON).toMatchObject({ body: { id, status: "queued" } });
  await expect.poll(() => server.get("/readyz"), SOON).toMatchObject({ body: { role: "leader" } });
  expect((await server.submit()).status).toBe(201);
});
