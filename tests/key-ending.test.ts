// What becomes of schedules, webhooks and keys when the key ends that made them: over HTTP on both stores, and by command.

import { describe, expect, test } from "vitest";
import { directoryWith, type Finished, startOrrery } from "./cli.ts";
import { serve } from "./http-app.ts";
import { ADMIN_KEY, BACKENDS, TestService } from "./service.ts";
import { Receiver } from "./webhook-receiver.ts";

const WITHIN = { timeout: 30_000, interval: 20 };
const REVOKED = "its key was revoked";
const SCHEDULE = { cron: "0 6 * * *", task: { task_type: "report", executor: "nobody" } };
const EVERYTHING = { scopes: ["admin"], zones: ["*"], agents: ["*"] };

interface Key {
  readonly id: string;
  readonly secret: string;
}

function started(backend: (typeof BACKENDS)[number]): Promise<TestService> {
  return TestService.start(backend, { webhooks: { allowHttp: true, allow: ["127.0.0.0/8"] } });
}

async function made<Value = Key>(
  service: TestService,
  path: string,
  body: object,
  key?: Key,
): Promise<Value> {
  const answer = await service.post(path, body, key && { key: key.secret });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body as Value;
}

const makeKey = (service: TestService, name: string, by?: Key, rights: object = {}) =>
  made(service, "keys", { name, ...EVERYTHING, ...rights }, by);
const makeSchedule = (service: TestService, by?: Key, changed: object = {}) =>
  made<{ id: string }>(service, "schedules", { name: "report", ...SCHEDULE, ...changed }, by);
const makeWebhook = (service: TestService, url: string, by?: Key) =>
  made<{ id: string }>(service, "webhooks", { url }, by);
const revoke = (service: TestService, { id }: Key, to?: string) =>
  service.post(`keys/${id}/revoke`, to === undefined ? undefined : { hand_over_to: to });
const idsOf = (items: readonly { id: string }[]) => items.map(({ id }) => id);

async function stateOf(service: TestService, path: string): Promise<[string | null, string | null]> {
  const { key_id, suspended_reason } = (await service.get(path)).body;
  return [key_id, suspended_reason];
}

async function statusWith(service: TestService, { secret }: Key): Promise<number> {
  return (await service.get("whoami", { key: secret })).status;
}

describe.each(BACKENDS)("on %s", (backend) => {
  test("[F12] a revoked key takes along what it made, and the keys that those keys made", async () => {
    await using receiver = await Receiver.open();
    await using service = await started(backend);
    const maker = await makeKey(service, "maker");
    const child = await makeKey(service, "child", maker);
    const grandchild = await makeKey(service, "grandchild", child);
    const schedule = await makeSchedule(service, maker);
    const ofChild = await makeSchedule(service, child);
    const webhook = await makeWebhook(service, receiver.url, grandchild);
    const other = await makeWebhook(service, receiver.url);
    expect(await stateOf(service, `schedules/${schedule.id}`)).toEqual([maker.id, null]);

    const { status, body } = await revoke(service, maker);
    expect(status).toBe(200);
    expect(idsOf(body.ended.keys).sort()).toEqual([child.id, grandchild.id].sort());
    expect(idsOf(body.ended.schedules).sort()).toEqual([schedule.id, ofChild.id].sort());
    expect(body.ended.webhooks).toEqual([
      { id: webhook.id, name: `http://127.0.0.1:${receiver.port}`, zone: "default" },
    ]);
    expect([body.handed_over_to, body.handed_over.schedules]).toEqual([null, []]);
    expect([await statusWith(service, child), await statusWith(service, grandchild)]).toEqual([401, 401]);
    expect(await stateOf(service, `schedules/${schedule.id}`)).toEqual([maker.id, REVOKED]);
    expect((await service.get(`schedules/${ofChild.id}`)).body.next_times).toEqual([]);
    expect(await stateOf(service, `webhooks/${webhook.id}`)).toEqual([grandchild.id, REVOKED]);

    // Its deliveries are made before those of the other webhook, which comes later in every list.
    const { id } = (await service.submit()).body;
    await service.post(`task/${id}/cancel`);
    await receiver.until(1);
    expect((await service.get(`webhooks/${other.id}/deliveries`)).body.deliveries).toHaveLength(1);
    expect((await service.get(`webhooks/${webhook.id}/deliveries`)).body.deliveries).toEqual([]);
    const tried = await service.post(`webhooks/${webhook.id}/test`);
    expect([tried.status, tried.body.detail]).toEqual([409, expect.stringContaining(REVOKED)]);
    const listed = (await service.get("keys")).body.keys as { id: string; standing_still: number }[];
    expect(listed.find((key) => key.id === maker.id)?.standing_still).toBe(1);
  });

  test("[F12] what a key made goes on under the key that it was handed over to by name", async () => {
    await using receiver = await Receiver.open();
    await using service = await started(backend);
    const maker = await makeKey(service, "maker");
    const heir = await makeKey(service, "heir");
    const child = await makeKey(service, "child", maker);
    const schedule = await makeSchedule(service, maker);
    const webhook = await makeWebhook(service, receiver.url, maker);
    const { body } = await revoke(service, maker, "heir");
    expect(body.handed_over_to).toEqual({ id: heir.id, name: "heir" });
    expect(idsOf(body.handed_over.keys)).toEqual([child.id]);
    expect(idsOf(body.handed_over.schedules)).toEqual([schedule.id]);
    expect(idsOf(body.handed_over.webhooks)).toEqual([webhook.id]);
    expect(body.ended).toEqual({ keys: [], schedules: [], webhooks: [] });
    expect([await statusWith(service, maker), await statusWith(service, child)]).toEqual([401, 200]);
    expect(await stateOf(service, `schedules/${schedule.id}`)).toEqual([heir.id, null]);
    const { id } = (await service.submit()).body;
    await service.post(`task/${id}/cancel`);
    await receiver.until(1);

    // The key ends with the other key from now on.
    expect(idsOf((await revoke(service, heir)).body.ended.schedules)).toEqual([schedule.id]);
    expect(await statusWith(service, child)).toBe(401);
    expect(await stateOf(service, `webhooks/${webhook.id}`)).toEqual([heir.id, REVOKED]);
    const [entry] = (await service.get("audit?limit=1")).body.entries;
    expect(entry).toMatchObject({
      action: "key.revoke",
      target: heir.id,
      detail: {
        revoked: true,
        ended: { keys: [child.id], schedules: [schedule.id], webhooks: [webhook.id] },
      },
    });
  });
});

test("[F12] a schedule fires no more from the moment its key is revoked, and goes on when it is handed over", async () => {
  await using service = await started("memory");
  const maker = await makeKey(service, "maker");
  const every = { cron: "* * * * * *", catch_up: "none" };
  const schedule = await makeSchedule(service, maker, every);
  const clock = await makeSchedule(service, undefined, every);
  const lastOf = async (id: string) =>
    (await service.get(`schedules/${id}`)).body.last_fired_at as string | null;
  const ticks = async (count: number) => {
    for (let at = 0; at < count; at++) {
      const before = await lastOf(clock.id);
      await expect.poll(() => lastOf(clock.id), WITHIN).not.toBe(before);
    }
  };
  await expect.poll(() => lastOf(schedule.id), WITHIN).not.toBeNull();
  await revoke(service, maker);
  // A time that came before may be on its way.
  await ticks(1);
  const last = await lastOf(schedule.id);
  await ticks(2);
  expect(await lastOf(schedule.id)).toBe(last);
  const { body } = await revoke(service, maker, "admin");
  expect(idsOf(body.handed_over.schedules)).toEqual([schedule.id]);
  await expect.poll(() => lastOf(schedule.id), WITHIN).not.toBe(last);
});

test("[F12] keys that ended with their maker stay revoked when its schedules are handed over later", async () => {
  await using service = await started("memory");
  const maker = await makeKey(service, "maker");
  const child = await makeKey(service, "child", maker);
  const schedule = await makeSchedule(service, maker);
  const ofChild = await makeSchedule(service, child);
  await revoke(service, maker);
  const { body } = await revoke(service, maker, "admin");
  expect([body.handed_over.keys, idsOf(body.handed_over.schedules)]).toEqual([[], [schedule.id]]);
  expect([idsOf(body.ended.keys), idsOf(body.ended.schedules)]).toEqual([[child.id], [ofChild.id]]);
  expect(await statusWith(service, child)).toBe(401);
  expect((await stateOf(service, `schedules/${schedule.id}`))[1]).toBeNull();
});

test("[F12] a key hands over to no key with lesser rights, none that ended, none that is not named clearly", async () => {
  await using receiver = await Receiver.open();
  await using service = await started("memory");
  const handOver = async (key: Key, to: string, by?: Key) => {
    const answer = await service.post(
      `keys/${key.id}/revoke`,
      { hand_over_to: to },
      by && { key: by.secret },
    );
    return [answer.status, answer.body.errors?.[0].pointer, answer.body.errors?.[0].detail];
  };
  const refusal = (detail: string | RegExp) => [422, "/hand_over_to", expect.stringMatching(detail)];
  const maker = await makeKey(service, "maker");
  const schedule = await makeSchedule(service, maker);
  const other = { zones: ["other"], agents: ["maker"], scopes: ["submit"] };
  const elsewhere = await makeKey(service, "elsewhere", undefined, other);
  await makeKey(service, "reader", undefined, { ...other, zones: ["default"], scopes: ["read"] });
  await makeKey(service, "ann", undefined, { ...other, zones: ["default"], agents: ["ann"] });
  const lacks = (what: string) => refusal(`^lacks the ${what}, which the schedule ${schedule.id} needs`);
  expect(await handOver(maker, elsewhere.id)).toEqual(lacks("zone default"));
  expect(await handOver(maker, "reader")).toEqual(lacks("scope submit"));
  expect(await handOver(maker, "ann")).toEqual(lacks("agent maker"));
  const submitter = await makeKey(service, "fits", undefined, { ...other, zones: ["default"] });
  await makeWebhook(service, receiver.url, maker);
  expect(await handOver(maker, submitter.id)).toEqual(
    refusal(/^lacks the scope admin, which the webhook wh_/),
  );
  await makeKey(service, "all zones", maker);
  const narrow = await makeKey(service, "narrow", undefined, { zones: ["default"] });
  expect(await handOver(maker, narrow.id)).toEqual(refusal(/^lacks all zones, which the key /));

  expect(await handOver(maker, "nobody")).toEqual(refusal(/^names no valid key/));
  expect(await handOver(maker, maker.id)).toEqual(refusal(/^is the key that ends/));
  await revoke(service, elsewhere);
  expect(await handOver(maker, elsewhere.id)).toEqual(refusal(/^names no valid key/));
  await makeKey(service, "twice");
  await makeKey(service, "twice");
  expect(await handOver(maker, "twice")).toEqual(refusal(/^names 2 keys/));
  // A key that the caller may not manage does not exist for the caller.
  const mine = await makeKey(service, "mine", narrow, { zones: ["default"] });
  expect(await handOver(mine, maker.id, narrow)).toEqual(refusal(/^names no valid key/));
  expect((await service.post(`keys/${maker.id}/revoke`, { hand_over: "x" })).status).toBe(422);
  expect(await statusWith(service, maker)).toBe(200);
  expect((await handOver(maker, "admin"))[0]).toBe(200);
  expect(await handOver(maker, "mine")).toEqual(refusal(/^comes too late: .* belongs to the key /));
});

test("[F12] a rotated key hands over to its successor by itself", async () => {
  await using service = await started("memory");
  const old = await makeKey(service, "ci");
  const child = await makeKey(service, "child", old);
  const schedule = await makeSchedule(service, old);
  const next = await made(service, `keys/${old.id}/rotate`, {}, old);
  const [entry] = (await service.get("audit?limit=1")).body.entries;
  expect(entry).toMatchObject({
    action: "key.rotate",
    detail: { by: next.id, handed_over: { keys: [child.id], schedules: [schedule.id], webhooks: [] } },
  });
  // The old secret is valid for an hour. What is made with it in that time is the successor's too.
  const late = await makeSchedule(service, old);
  expect((await revoke(service, old)).body.ended).toEqual({ keys: [], schedules: [], webhooks: [] });
  for (const { id } of [schedule, late])
    expect(await stateOf(service, `schedules/${id}`)).toEqual([next.id, null]);
  expect([await statusWith(service, next), await statusWith(service, child)]).toEqual([200, 200]);
  await revoke(service, next);
  expect(await statusWith(service, child)).toBe(401);
  expect((await stateOf(service, `schedules/${late.id}`))[1]).toBe(REVOKED);
});

test("[F12] a key that another one made can take its place, and does not end with it", async () => {
  await using service = await started("memory");
  const first = await makeKey(service, "first");
  const second = await makeKey(service, "second", first);
  const third = await makeKey(service, "third", second);
  expect(idsOf((await revoke(service, first, third.id)).body.handed_over.keys)).toEqual([second.id]);
  expect([await statusWith(service, second), await statusWith(service, third)]).toEqual([200, 200]);
  expect(idsOf((await revoke(service, third)).body.ended.keys)).toEqual([second.id]);
  const maker = await makeKey(service, "maker");
  const child = await makeKey(service, "child", maker);
  const next = await made(service, `keys/${maker.id}/rotate`, { overlap_seconds: 0 }, child);
  expect([await statusWith(service, child), await statusWith(service, next)]).toEqual([200, 200]);
});

test("[F12] an expired key takes its schedules along, and the log says so; rows without a key go on", async () => {
  const log: string[] = [];
  const served = await serve(log);
  try {
    const { body: key } = await served.call("POST", "/api/v2/scheduler/keys", {
      name: "brief",
      ...EVERYTHING,
      expires_at: new Date(Date.now() + 400).toISOString(),
    });
    const by = { authorization: `Bearer ${key.secret}` };
    const { status, body } = await served.call(
      "POST",
      "/api/v2/scheduler/schedules",
      { name: "report", ...SCHEDULE },
      by,
    );
    expect(status).toBe(201);
    const reason = async () =>
      (await served.call("GET", `/api/v2/scheduler/schedules/${body.id}`)).body.suspended_reason;
    await expect.poll(reason, WITHIN).toBe("its key has expired");
    await expect.poll(() => log.join(""), WITHIN).toContain("1 schedule and 0 webhooks stand still");
    expect(log.join("")).toContain(`${body.id}; hand them over with "orrery keys revoke KEY`);
    expect(log.join("")).toContain(key.id);
    const { id } = await served.service.schedules
      .create(
        { keyId: "", zone: "default", agent: "a", scopes: new Set(["submit"]), isZoneAdmin: false },
        { ...SETTING, name: "from before" },
      )
      .then((view) => view as { id: string });
    const before = (await served.call("GET", `/api/v2/scheduler/schedules/${id}`)).body;
    expect([before.key_id, before.suspended_reason, before.next_times.length]).toEqual([null, null, 5]);
  } finally {
    await served.close();
  }
});

const SETTING = {
  cron: "0 6 * * *",
  timeZone: "UTC",
  startAt: -1,
  endAt: -1,
  task: JSON.stringify(SCHEDULE.task),
  catchUp: "latest",
  catchUpLimit: 1,
  overlap: "allow",
  paused: false,
} as const;

test("[F12] by command: what ends is listed, what stands still is said, and a key is handed over", async () => {
  await using receiver = await Receiver.open();
  await using service = await started("memory");
  const maker = await makeKey(service, "maker");
  const schedule = await makeSchedule(service, maker);
  const webhook = await makeWebhook(service, receiver.url, maker);
  const cwd = await directoryWith({});
  const run = (...args: string[]): Promise<Finished> =>
    startOrrery(cwd, args, { ORRERY_URL: service.server.url, ORRERY_API_KEY: ADMIN_KEY }).finished;
  const revoked = await run("keys", "revoke", maker.id);
  expect(revoked.stdout).toBe(
    `${maker.id} revoked\nended with it:\n  schedule ${schedule.id} report\n  webhook ${webhook.id} http://127.0.0.1:${receiver.port}\n`,
  );
  const [schedules, webhooks, doctor] = await Promise.all([
    run("schedules", "list"),
    run("webhooks", "list"),
    run("doctor", "--store", "memory"),
  ]);
  expect(schedules.stdout).toMatch(new RegExp(`${schedule.id} .* ${REVOKED}`));
  expect(webhooks.stdout).toMatch(new RegExp(`${webhook.id} .* stands still: ${REVOKED}`));
  expect(doctor.stdout).toContain(
    `ended keys: 2 schedules or webhooks stand still because their keys have ended: maker (${maker.id})`,
  );
  const handed = await run("keys", "revoke", maker.id, "--hand-over-to", "admin");
  expect(handed.stdout).toMatch(
    new RegExp(`^${maker.id} revoked\nhanded over to admin \\(.*\\):\n  schedule ${schedule.id} report\n`),
  );
  const refused = await run("keys", "revoke", maker.id, "--hand-over-to", "nobody");
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("names no valid key")]);
});
