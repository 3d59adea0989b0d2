// What one `work` key can make the scheduler keep by registering workers (finding F6), as workers meet it.

import { expect, test } from "vitest";
import { anonymousWorker, registerAndVanish } from "./attacks/registrations.ts";
import { registrationOf } from "./rogue-worker.ts";
import { ADMIN_KEY, type Answer, TestService } from "./service.ts";

const MIB = 2 ** 20;
/** 227 KiB of memory, by the server's estimate. */
const TYPES = Array.from({ length: 1000 }, (_, at) => `t${at}`.padEnd(60, "x"));

async function register(service: TestService, id: string, key: string, types = TYPES): Promise<Answer> {
  const registration = { ...registrationOf(id, `session of ${id}`), types };
  return await service.post("/worker/register", { registration, heartbeat: { attempts: [] } }, { key });
}

async function workKey(service: TestService): Promise<string> {
  const { body } = await service.post("keys", {
    name: "w",
    scopes: ["work"],
    zones: ["default"],
    agents: ["*"],
  });
  return body.secret;
}

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
  const most = { parallel: 2, most: 4, leaves: true };
  expect(await registerAndVanish(target, most, new AbortController().signal)).toEqual({ 200: 4 });
});

test("[F6] registrations are bounded for each key and for the server; workers that leave make room", async () => {
  await using service = await TestService.start("memory", { config: { backlogBytes: 8 * MIB } });
  const keys = [await workKey(service), await workKey(service), await workKey(service)] as const;
  const [greedy, other, late] = keys;
  for (let n = 0; n < 4; n++) expect((await register(service, `w${n}`, greedy)).status).toBe(200);
  const refused = await register(service, "w4", greedy);
  expect([refused.status, refused.body.code]).toEqual([503, "backlog"]);
  expect(refused.body.detail).toMatch(
    /^the registrations of workers with this key hold [89]\d\d(\.\d)? KiB of memory, and at most 1 MiB is allowed \(by queue\.backlog_size\)/,
  );
  // A worker that comes back takes nothing more.
  expect((await register(service, "w3", greedy)).status).toBe(200);
  for (let n = 0; n < 4; n++) expect((await register(service, `o${n}`, other)).status).toBe(200);
  expect((await register(service, "l0", late)).status).toBe(200);
  const full = await register(service, "l1", late);
  expect([full.status, full.body.detail]).toEqual([
    503,
    expect.stringContaining("registrations of all workers"),
  ]);
  expect((await register(service, "small", late, ["t"])).status).toBe(200);
  await service.post("/worker/w0/leave", { session: "session of w0" }, { key: greedy });
  expect((await register(service, "w4", greedy)).status).toBe(200);
});
