// Starts that cannot succeed: each ends by itself, soon, and says what to change.

import pg from "pg";
import { expect, test } from "vitest";
import { startOrrery } from "./cli.ts";
import { PgBouncer } from "./pgbouncer.ts";
import { SERVER_KEY, startServerProcess } from "./server-process.ts";
import { freshDatabase } from "./service.ts";

const SENTENCE =
  /use session mode for Orrery \(PgBouncer: pool_mode = session\), or connect to PostgreSQL directly/;
const ENV = { ORRERY_API_KEY: SERVER_KEY, DATABASE_URL: undefined };

function serve(store: string): ReturnType<typeof startOrrery>["finished"] {
  return startOrrery("/", ["serve", "--port", "0", "--store", store], ENV).finished;
}

test("[S-26.start] behind PgBouncer in transaction mode every start ends with what to do, and doctor says the same", async ({
  skip,
}) => {
  if (!(await PgBouncer.isInstalled())) return skip("pgbouncer is not installed (apt-get install pgbouncer)");
  const url = await freshDatabase();
  await using pooler = await PgBouncer.before(url, "transaction");
  const starts = await Promise.all([1, 2, 3].map(() => serve(pooler.urlOf(url))));
  for (const { code, stderr } of starts) expect([code, stderr]).toEqual([2, expect.stringMatching(SENTENCE)]);
  const args = ["doctor", "--json", "--store", pooler.urlOf(url)];
  const { code, stdout } = await startOrrery("/", args, ENV).finished;
  expect(code).toBe(1);
  expect(JSON.parse(stdout).checks).toContainEqual(
    expect.objectContaining({ name: "pooling", result: "fail", fix: expect.stringMatching(SENTENCE) }),
  );
});

test("[S-26.start] behind PgBouncer in session mode a server works", async ({ skip }) => {
  if (!(await PgBouncer.isInstalled())) return skip("pgbouncer is not installed (apt-get install pgbouncer)");
  const url = await freshDatabase();
  await using pooler = await PgBouncer.before(url, "session");
  const server = await startServerProcess("/", ["--store", pooler.urlOf(url)]);
  const answer = await fetch(`${server.url}/api/v2/scheduler/submit`, {
    method: "POST",
    headers: { authorization: `Bearer ${SERVER_KEY}`, "content-type": "application/json" },
    body: '{"executor":"nobody","task_type":"t"}',
  });
  expect(answer.status).toBe(201);
  server.child.kill("SIGTERM");
  expect((await server.finished).code).toBe(0);
});

test("[S-26.start] a database that only reads, or a role that may not create, ends the start at once with the remedy", async () => {
  const url = await freshDatabase();
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  const { rows } = await admin.query("select quote_ident(current_database()) as name");
  const [{ name }] = rows;
  const role = `poor_${name}`;
  await admin.query(
    `create role ${role} login password 'poor'; revoke create on database ${name} from public`,
  );
  const asRole = url.replace(/\/\/[^@]*@/, `//${role}:poor@`);
  const poor = await serve(asRole);
  expect([poor.code, poor.stderr]).toEqual([1, expect.stringContaining("grant create on database")]);
  await admin.query(`alter database ${name} set default_transaction_read_only = on`);
  const reading = await serve(url);
  expect([reading.code, reading.stderr]).toEqual([1, expect.stringContaining("name the primary")]);
  await admin.query(`drop role ${role}`);
  await admin.end();
});
