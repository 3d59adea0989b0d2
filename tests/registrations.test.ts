// What one `work` key can make the scheduler keep by registering workers (finding F6), as workers meet it.

import { expect, test } from "vitest";
import { anonymousWorker, registerAndVanish } from "./attacks/registrations.ts";
import { ADMIN_KEY, TestService } from "./service.ts";

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
