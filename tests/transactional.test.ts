// Submissions inside of the transactions of users: a task exists if and only if the transaction is committed.

import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { checkStore } from "../src/cli/check-store.ts";
import { OrreryClient } from "../src/client/index.ts";
import { open } from "../src/embedded/index.ts";
import { TestService } from "./service.ts";

const WITHIN_MS = 20_000;
let service: TestService;
let client: OrreryClient;
const connections: pg.Client[] = [];

beforeAll(async () => {
  service = await TestService.start("postgresql");
  client = new OrreryClient({ url: service.server.url, key: "sk-test-admin-0123456789-and-0123456789" });
  const user = await connected();
  await user.query("create table orders (number integer primary key, task text)");
});

afterEach(async () => {
  for (const connection of connections.splice(0)) await connection.end();
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
});

async function connected(): Promise<pg.Client> {
  const connection = new pg.Client({ connectionString: service.storeUrl });
  connections.push(connection);
  await connection.connect();
  return connection;
}

const statusOf = async (id: string) => (await service.get(`task/${id}`)).status;
const appears = (id: string) => expect.poll(() => statusOf(id), { timeout: WITHIN_MS }).toBe(200);

/** Whatever was committed before is taken in by now. */
async function untilAllTakenIn(user: pg.Client): Promise<void> {
  const { rows } = await user.query("select orrery.submit('marker') as id");
  await appears(rows[0].id);
}

test("what is submitted in a transaction is a task once it is committed, and never when it is rolled back", async () => {
  const user = await connected();
  const task = { task_type: "ship", executor: "nobody", payload: { order: 17 }, priority: "high" } as const;
  await user.query("begin");
  await user.query("insert into orders values (17)");
  const { id } = await client.submit(task, { client: user });
  const other = await connected();
  await untilAllTakenIn(other);
  expect(await statusOf(id)).toBe(404);
  await user.query("commit");
  await appears(id);
  const { body } = await service.get(`task/${id}`);
  expect(body).toMatchObject({
    id,
    task_type: "ship",
    executor_id: "nobody",
    payload: { order: 17 },
    priority_tier: "high",
    zone: "default",
    agent_id: "orrery",
    status: "queued",
  });

  await user.query("begin");
  const undone = await client.submit(task, { client: user });
  await user.query("rollback");
  await untilAllTakenIn(user);
  expect(await statusOf(undone.id)).toBe(404);
});

test("a savepoint that is rolled back takes its submissions with it, and only those", async () => {
  const user = await connected();
  await user.query("begin");
  const kept = await client.submit({ task_type: "kept" }, { client: user });
  await user.query("savepoint here");
  const undone = await client.submit({ task_type: "undone" }, { client: user });
  await user.query("rollback to savepoint here");
  const also = await client.submit({ task_type: "also" }, { client: user });
  await user.query("commit");
  await appears(kept.id);
  await appears(also.id);
  await untilAllTakenIn(user);
  expect(await statusOf(undone.id)).toBe(404);
});

test("fifty transactions at once: each task that was committed is there once, with an id of its own", async () => {
  const users = await Promise.all(Array.from({ length: 50 }, connected));
  const outcomes = await Promise.all(
    users.map(async (user, number) => {
      const ids: string[] = [];
      for (let round = 0; round < 4; round++) {
        await user.query("begin");
        const { id } = await client.submit(
          { task_type: "many", payload: { number, round } },
          { client: user },
        );
        await sleep((number * 7 + round * 13) % 20);
        const isKept = (number + round) % 3 !== 0;
        await user.query(isKept ? "commit" : "rollback");
        ids.push(isKept ? id : "");
      }
      return ids;
    }),
  );
  const ids = outcomes.flat().filter((id) => id !== "");
  const [user] = users as [pg.Client];
  await untilAllTakenIn(user);
  const { rows } = await user.query("select id from orrery.tasks where type = 'many'");
  expect(new Set(rows.map(({ id }) => id))).toEqual(new Set(ids));
  expect(rows).toHaveLength(ids.length);
  expect(new Set(ids).size).toBe(ids.length);
  await expect
    .poll(async () => (await user.query("select from orrery.inbox")).rowCount, { timeout: WITHIN_MS })
    .toBe(0);
});

test("a role that may only execute the function can submit, and nothing else", async () => {
  const owner = await connected();
  await owner.query("create role app_user login");
  await owner.query("grant usage on schema orrery to app_user");
  const user = await connected();
  await user.query("set session authorization app_user");
  await expect(user.query("select orrery.submit('a')")).rejects.toThrow(
    "permission denied for function submit",
  );
  await expect(client.submit({ task_type: "a" }, { client: user })).rejects.toThrow(
    "grant the role usage on schema orrery, and execute on function orrery.submit(text, jsonb, jsonb)",
  );
  await owner.query("grant execute on function orrery.submit(text, jsonb, jsonb) to app_user");
  // A table of the same name among the caller's own must not get what is submitted.
  await user.query("create temporary table inbox (number bigint, task_id text)");
  const { id } = await client.submit({ task_type: "a" }, { client: user });
  await appears(id);
  expect((await service.get(`task/${id}`)).body.agent_id).toBe("app_user");
  await expect(user.query("select * from orrery.inbox")).rejects.toThrow("permission denied");
  await expect(user.query("select * from orrery.tasks")).rejects.toThrow("permission denied");
});

test("the same idempotency key is the same task, from transactions and by HTTP", async () => {
  const [first, second] = [await connected(), await connected()];
  const task = { task_type: "once", executor: "nobody", idempotency_key: "once-1", payload: { a: 1 } };
  await first.query("begin");
  const { id } = await client.submit(task, { client: first });
  // It waits for the first one, which may still be rolled back.
  const same = client.submit(task, { client: second });
  await first.query("commit");
  expect((await same).id).toBe(id);
  await appears(id);
  expect((await client.submit(task, { client: second })).id).toBe(id);
  const agent = "orrery";
  const byHttp = await service.post("submit", task, { agent });
  expect([byHttp.status, byHttp.body.id]).toEqual([200, id]);

  await first.query("begin");
  await client.submit({ ...task, idempotency_key: "once-2" }, { client: first });
  const next = client.submit({ ...task, idempotency_key: "once-2" }, { client: second });
  await first.query("rollback");
  await appears((await next).id);
});

test("what is wrong is refused with the name of the field and what would be right", async () => {
  const user = await connected();
  const cases: readonly (readonly [
    type: string | null,
    payload: unknown,
    options: unknown,
    message: string,
  ])[] = [
    ["", {}, {}, "type must have 1 to 256 characters"],
    [null, {}, {}, "type must have 1 to 256 characters"],
    ["a\u0007", {}, {}, "type must have 1 to 256 characters"],
    ["a", [1], {}, 'payload must be a JSON object such as {"a": 1}'],
    ["a", "text", {}, "payload must be a JSON object"],
    ["a", { text: "x".repeat(1_048_576) }, {}, "payload must fit into 1 MiB of JSON"],
    ["a", {}, [], "options must be a JSON object"],
    ["a", {}, 5, "options must be a JSON object"],
    ["a", {}, { priorty: "high" }, "options.priorty is unknown; known are agent, boost"],
    [
      "a",
      {},
      { priority: "urgent" },
      'options.priority must be critical, high, normal, low or best_effort; got "urgent"',
    ],
    ["a", {}, { priority: 1 }, "options.priority must be critical"],
    ["a", {}, { request_state: "busy" }, "options.request_state must be io_wait"],
    ["a", {}, { executor: "" }, "options.executor must have 1 to 256 characters"],
    ["a", {}, { agent: { a: 1 } }, "options.agent must have 1 to 256 visible ASCII characters"],
    ["a", {}, { agent: "a b" }, "options.agent must have 1 to 256 visible ASCII characters"],
    ["a", {}, { zone: "a\nb" }, "options.zone must have 1 to 256 visible ASCII characters"],
    [
      "a",
      {},
      { zone: "zäöü" },
      'options.zone must have 1 to 256 visible ASCII characters and no spaces; got "zäöü"',
    ],
    ["a", {}, { idempotency_key: "k".repeat(257) }, "options.idempotency_key must have"],
    ["a", {}, { estimated_service_time: 0 }, "options.estimated_service_time must be a number of seconds"],
    ["a", {}, { timeout: "1m" }, "options.timeout must be a number of seconds"],
    ["a", {}, { retry_backoff: -1 }, "options.retry_backoff must be a number of seconds"],
    ["a", {}, { max_attempts: 1.5 }, "options.max_attempts must be a whole number from 1 to 101"],
    ["a", {}, { max_attempts: 102 }, "options.max_attempts must be a whole number from 1 to 101; got 102"],
    ["a", {}, { run_at: "tomorrow" }, "options.run_at must be a time with a zone"],
    ["a", {}, { run_at: "2026-03-01T10:00:00" }, "options.run_at must be a time with a zone"],
    ["a", {}, { deadline: "2026-02-30T10:00:00Z" }, "options.deadline must be a time with a zone"],
    ["a", {}, { boost: "1.2345678" }, "options.boost must be a decimal"],
    ["a", {}, { boost: [1] }, "options.boost must be a decimal"],
    ["a", {}, { resources: { gpu: 1 } }, "options.resources must be an object with cpu, memory or both"],
    ["a", {}, { resources: { cpu: "many" } }, "options.resources has a cpu that is no number of cores"],
    ["a", {}, { resources: { memory: "big" } }, "options.resources has a memory that is no whole number"],
    ["a", {}, { limits: "openai" }, "options.limits must be a list of up to 20 names"],
    ["a", {}, { limits: { gpu: 1.5 } }, "options.limits must be a list of up to 20 names"],
    ["a", {}, { tokens: -1 }, "options.tokens must be a whole number from 0 to 1000000000"],
    ["a", {}, { capabilities: [""] }, "options.capabilities must be a list"],
  ];
  for (const [type, payload, options, message] of cases) {
    const asked = user.query("select orrery.submit($1, $2::jsonb, $3::jsonb)", [
      type,
      JSON.stringify(payload),
      JSON.stringify(options),
    ]);
    await expect(asked, message).rejects.toThrow(`orrery.submit: ${message}`);
  }
});

test("all that can be asked for arrives, and null is as if it were not there", async () => {
  const user = await connected();
  const options = {
    executor: "nobody",
    agent: "ada",
    zone: "default",
    priority: "low",
    request_state: "compute",
    estimated_service_time: 12.5,
    boost: "0.02",
    deadline: "2036-03-01T10:00:00Z",
    run_at: "2035-03-01T10:00:00.250+01:00",
    idempotency_key: null,
    resources: { cpu: "500m", memory: "512MiB" },
    capabilities: ["net"],
    limits: { openai: 1, gpu: 2 },
    tokens: 50_000,
    max_attempts: 5,
    retry_backoff: 0,
    timeout: null,
  };
  const { rows } = await user.query("select orrery.submit('all', '{\"a\": [1, 2.50]}', $1) as id", [options]);
  await appears(rows[0].id);
  expect((await service.get(`task/${rows[0].id}`)).body).toMatchObject({
    agent_id: "ada",
    priority_tier: "low",
    request_state: "compute",
    estimated_service_time: 12.5,
    boost_amount: "0.02",
    deadline: "2036-03-01T10:00:00.000Z",
    run_at: "2035-03-01T09:00:00.250Z",
    payload: { a: [1, 2.5] },
  });
});

test("a number that would come back as another one is refused before anything is committed, and no other is", async () => {
  const user = await connected();
  const submitted = async (payload: string) =>
    (await user.query("select orrery.submit('numbers', $1::jsonb)", [payload])).rows[0].submit as string;
  for (const [payload, message] of [
    ['{"a": [{"id": 9223372036854775807}]}', "payload has 9223372036854775807, which has more digits than"],
    ['{"id": -9007199254740993}', "payload has -9007199254740993, which has more digits than"],
    ['{"id": 1e400}', "payload has 1000000000.* which is too large for a number"],
  ] as const)
    await expect(submitted(payload)).rejects.toThrow(new RegExp(`orrery.submit: ${message}`));
  await user.query("set extra_float_digits = -5");
  const kept = { a: [1e21, 1e300, 2 ** 63, -(2 ** 53)], b: 0.1234567890123456, c: "9007199254740993" };
  const { id } = await client.submit(
    { task_type: "numbers", executor: "nobody", payload: kept },
    { client: user },
  );
  const last = await submitted('{"id": 9007199254740992}');
  for (const [one, payload] of [
    [id, kept],
    [last, { id: 2 ** 53 }],
  ] as const) {
    await appears(one);
    expect((await service.get(`task/${one}`)).body.payload).toEqual(payload);
  }
});

test("what was committed before numbers were looked at is taken in", async () => {
  const user = await connected();
  const id = "0195a6c2-6f0e-7c3a-9d1b-2f4e5a6b7c8e";
  await user.query(
    `insert into orrery.inbox (task_id, zone, agent, bytes, body) values ($1, 'default', 'ada', 9, $2)`,
    [id, '{"task_type": "old", "executor": "nobody", "payload": {"id": 9007199254740993}}'],
  );
  await appears(id);
});

test("what can never be taken in is kept with its error and counted, and holds up nothing behind it", async () => {
  const user = await connected();
  // As nobody can write it but an owner: the function refuses it.
  const { rows } = await user.query(
    `insert into orrery.inbox (task_id, zone, agent, bytes, body)
     values ('0195a6c2-6f0e-7c3a-9d1b-2f4e5a6b7c8d', 'default', 'ada', 9, '{"task_type": "bad", "executor": 5}')
     returning number`,
  );
  await untilAllTakenIn(user);
  const kept = await user.query("select error from orrery.inbox where number = $1", [rows[0].number]);
  expect(kept.rows[0].error).toMatch(/^executor must be/);
  await expect
    .poll(async () => (await service.get("/metrics")).body, { timeout: WITHIN_MS })
    .toContain('orrery_inbox_rows{state="refused"} 1');
  const checks = await checkStore(service.storeUrl);
  expect(checks.find(({ name }) => name === "inbox")).toMatchObject({
    result: "warn",
    detail: expect.stringMatching(/^1 submission cannot be taken in/),
  });
  await user.query("delete from orrery.inbox where error is not null");
});

test("a store in memory says that it has no transactions", async () => {
  const orrery = await open({ store: "memory" });
  const user = await connected();
  await expect(orrery.submit("a", {}, { client: user })).rejects.toThrow(
    "in memory, which has no transactions",
  );
  await orrery.close();
});

test("a database without Orrery says what to do", async () => {
  const user = await connected();
  await user.query("begin");
  await user.query("alter schema orrery rename to elsewhere");
  await expect(client.submit({ task_type: "a" }, { client: user })).rejects.toThrow(
    "the database has no tables of Orrery; start a server with --store",
  );
  await user.query("rollback");
});
