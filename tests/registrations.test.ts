// What one `work` key can make the scheduler keep by registering workers (finding F6), as workers meet it.

import { expect, test } from "vitest";
import { takeSnapshot } from "../src/scheduler/index.ts";
import { PollTransport, task, WebSocketTransport, Worker } from "../src/worker/index.ts";
import { anonymousWorker, registerAndVanish } from "./attacks/registrations.ts";
import type { Target } from "./attacks/target.ts";
import { ADMIN_KEY, type Answer, TestService } from "./service.ts";

const NEVER = new AbortController().signal;

async function workKey(service: TestService): Promise<Target> {
  const asked = { name: "k", scopes: ["work"], zones: ["*"], agents: ["*"] };
  const { body } = await service.post("keys", asked);
  return { url: service.server.url, key: body.secret };
}

async function register(
  service: TestService,
  { key }: Target,
  id: string,
  zone: string,
  characters = 256,
): Promise<Answer> {
  return await service.post("/worker/register", anonymousWorker(id, characters, zone), { key });
}

/** Types of 15,000 characters in all. */
const MANY_TYPES = Object.fromEntries(
  Array.from({ length: 60 }, (_, at) => [`t${at}-`.padEnd(250, "x"), task(() => {})]),
);

test("[F6] a registration with too many task types or too long names is refused with the field", async () => {
  await using service = await TestService.start("memory");
  const { registration, heartbeat } = anonymousWorker("w", 256);
  const register = (types: readonly string[]) =>
    service.post("/worker/register", { registration: { ...registration, types }, heartbeat });
  const many = Array.from({ length: 1_001 }, (_, at) => `t${at}`);
  const long = Array.from({ length: 257 }, (_, at) => `${at}-`.padEnd(256, "x"));
  const [tooMany, tooLong] = [await register(many), await register(long)];
  expect([tooMany.status, tooMany.body.errors[0].pointer]).toEqual([422, "/registration/types"]);
  expect([tooLong.status, tooLong.body.errors[0].pointer]).toEqual([422, "/registration/types"]);
  expect(tooLong.body.detail).toContain("at most 65536 are taken");
  const target = { url: service.server.url, key: ADMIN_KEY };
  expect(await registerAndVanish(target, { parallel: 2, most: 4, leaves: true }, NEVER)).toEqual({ 200: 4 });
});

test("[F6] workers over the limits of a key and of a zone are refused, and others come in", async () => {
  await using service = await TestService.start("memory", {
    workers: { workersPerKey: 3, workersPerZone: 4, registrationBytes: null },
  });
  const [ann, bob] = [await workKey(service), await workKey(service)];
  const attack = { parallel: 3, most: 6, zones: ["one", "two"], characters: 256, pauseMs: 0 };
  expect(await registerAndVanish(ann, attack, NEVER)).toEqual({ 200: 3, 429: 3 });
  const ofKey = await register(service, ann, "w1", "three");
  expect([ofKey.status, ofKey.body.code, ofKey.headers.get("retry-after")]).toEqual([429, "rate-limit", "5"]);
  expect(ofKey.body.detail).toBe(
    "this API key has 3 workers, and server.workers_per_key allows no more; stop some workers, or raise the limit",
  );
  await registerAndVanish(bob, { ...attack, zones: ["one"] }, NEVER);
  const inOne = service.leading.driver.state.fleet.registrations.byZone.get("one") ?? 0;
  expect(inOne).toBe(4);
  const ofZone = await register(service, await workKey(service), "w2", "one");
  expect([ofZone.status, ofZone.body.detail]).toEqual([
    429,
    "the zone one has 4 workers, and server.workers_per_zone allows no more; stop some workers, or raise the limit",
  ]);
  expect((await register(service, await workKey(service), "w2", "four")).status).toBe(200);
});

test("[F6] a worker that is refused says which limit is reached, tries again, and comes in when there is room", async () => {
  await using service = await TestService.start("memory", {
    workers: { workersPerKey: 100, workersPerZone: 100, registrationBytes: 900_000 },
  });
  const key = await workKey(service);
  for (const id of ["a", "b"]) expect((await register(service, key, id, "default", 64_000)).status).toBe(200);
  const server = { url: service.server.url, key: key.key };
  for (const [id, transport] of [
    ["a", new WebSocketTransport(server)],
    ["b", new PollTransport(server)],
  ] as const) {
    const said: string[] = [];
    const leave = () =>
      service.post(
        `/worker/${id}/leave`,
        { session: anonymousWorker(id, 1).registration.session },
        { key: key.key },
      );
    let resolve = () => {};
    const connected = new Promise<void>((done) => {
      resolve = done;
    });
    const worker = new Worker({
      transport,
      handlers: MANY_TYPES,
      registration: { id: `late-${id}`, executors: ["nobody"], cpu_millicores: 1, memory_bytes: 1, slots: 1 },
      observe: (event) => {
        if (event.type === "disconnected") {
          said.push(event.reason);
          void leave();
        }
        if (event.type === "connected") resolve();
      },
    });
    const running = worker.run();
    await connected;
    expect(said).toEqual([
      expect.stringMatching(
        /^the registrations of workers with this API key hold 4\d\d(\.\d)? KiB of memory, and at most 4\d\d(\.\d)? KiB \(half of server\.registrations\)/,
      ),
    ]);
    worker.drain();
    await running;
    expect((await register(service, key, id, "default", 64_000)).status).toBe(200);
  }
});

test("[F6] workers that register and leave in a loop leave little in the snapshot", async () => {
  await using service = await TestService.start("memory", {
    workers: { workersPerKey: 100, workersPerZone: 100, registrationBytes: 2_000_000 },
  });
  const { state } = service.leading.driver;
  const key = await workKey(service);
  expect(await registerAndVanish(key, { parallel: 4, most: 40, leaves: true }, NEVER)).toEqual({ 200: 40 });
  // The next registration forgets lost workers that are too many.
  await register(service, key, "last", "default");
  expect(JSON.stringify(takeSnapshot(state)).length).toBeLessThan(500_000);
  expect(state.fleet.registrations.lostBytes).toBeLessThanOrEqual(500_000);
});

test("[F6] registrations are bounded for each key and for the server; workers that leave make room", async () => {
  await using service = await TestService.start("memory", { config: { backlogBytes: 8 * 2 ** 20 } });
  const [greedy, other, late] = [await workKey(service), await workKey(service), await workKey(service)];
  const large = (key: Target, id: string) => register(service, key, id, "default", 60_000);
  for (let n = 0; n < 5; n++) expect((await large(greedy, `w${n}`)).status).toBe(200);
  const refused = await large(greedy, "w5");
  expect([refused.status, refused.body.code, refused.headers.get("retry-after")]).toEqual([
    429,
    "rate-limit",
    "5",
  ]);
  expect(refused.body.detail).toMatch(/at most 1 MiB \(half of server\.registrations\) is allowed/);
  // A worker that comes back takes nothing more.
  expect((await large(greedy, "w3")).status).toBe(200);
  for (let n = 0; n < 5; n++) expect((await large(other, `o${n}`)).status).toBe(200);
  const full = await large(late, "l0");
  expect([full.status, full.body.code]).toEqual([503, "backlog"]);
  expect(full.body.detail).toMatch(
    /^the registrations of all workers hold 1.9 MiB of memory, and at most 2 MiB \(server\.registrations\) is allowed/,
  );
  expect((await register(service, late, "small", "default")).status).toBe(200);
  const { session } = anonymousWorker("w0", 1).registration;
  await service.post("/worker/w0/leave", { session }, { key: greedy.key });
  expect((await large(greedy, "w5")).status).toBe(200);
});
