// Somebody who can read the whole database, and nothing else: a dump, a replica, a reporting role.

import { createCipheriv, createHmac, randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { graph, OrreryClient } from "../src/client/index.ts";
import { directoryWith, type Started, startOrrery } from "./cli.ts";
import { ADMIN_KEY, TestService } from "./service.ts";

const LENGTH = 200_000;

let service: TestService;
let holder: Server;
let worker: Started;
let run: string;
/** The token that the server shows a worker to get a result. */
let token: string | undefined;
let secrets: readonly string[];

beforeAll(async () => {
  service = await TestService.start("postgresql");
  holder = createServer((request, response) => {
    token ??= request.headers.authorization;
    response.writeHead(request.headers.authorization === token ? 410 : 401).end();
  }).listen(0, "127.0.0.1");
  await once(holder, "listening");
  const cwd = await directoryWith({
    "tasks.mjs": `export const make = (length) => Buffer.alloc(length, "x");`,
  });
  const at = ["--server", service.server.url, "--data-url", origin(holder)];
  worker = startOrrery(cwd, ["worker", ...at, "--tasks", "tasks.mjs", "--quiet"], {
    ORRERY_API_KEY: ADMIN_KEY,
  });
  const client = new OrreryClient({ url: service.server.url, key: ADMIN_KEY });
  const g = graph();
  ({ run } = await client.start(g, g.task("make", LENGTH)));
  expect(await client.waitForRun(run)).toMatchObject({ status: "completed" });
  await service.server.dashboardLink();
  const texts = await dump(service.storeUrl);
  // Other keys may have been derived from the values that were read.
  secrets = texts.flatMap((text) => [text, ...PURPOSES.map((purpose) => derived(text, purpose))]);
}, 60_000);

afterAll(async () => {
  worker.child.kill("SIGTERM");
  await worker.finished;
  holder.closeAllConnections();
  holder.close();
  await service[Symbol.asyncDispose]();
});

const PURPOSES = ["tickets", "cursors", "chunk tokens", "stream ids"];

function derived(secret: string, purpose: string): string {
  return createHmac("sha256", secret).update(`orrery ${purpose}`).digest().toString("latin1");
}

function origin(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Every text in every table that is short enough to be a secret, or holds one as JSON. */
async function dump(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows: tables } = await client.query<{ name: string }>(
    "select table_name as name from information_schema.tables where table_schema = 'orrery'",
  );
  const texts = new Set<string>();
  for (const { name } of tables) {
    const { rows } = await client.query<Record<string, unknown>>(`select * from orrery."${name}"`);
    for (const text of rows.flatMap((row) => Object.values(row))) {
      if (typeof text !== "string" || text.length < 8 || text.length > 400) continue;
      texts.add(text);
      for (const [part] of text.matchAll(/[\w-]{16,}/g)) texts.add(part);
    }
  }
  await client.end();
  return [...texts];
}

test("[F3] nobody makes a login ticket from what is in the database", async () => {
  const claim = `${Date.now() + 60_000}.${randomBytes(16).toString("base64url")}`;
  const signed = secrets.map((secret) => {
    const signature = createHmac("sha256", Buffer.from(secret, "latin1")).update(claim).digest("base64url");
    return `${claim}.${signature}`;
  });
  // Only hashes of tickets are kept, and a hash is not a ticket.
  const tickets = [...signed, ...secrets].filter((ticket) => ticket.length <= 256);
  const answers = await Promise.all(
    tickets.map((ticket) => service.post("session", { ticket }, { key: null })),
  );
  expect(answers.filter(({ status }) => status === 200)).toEqual([]);
});

test("[F3] nobody makes the token for a run's results from what is in the database", async () => {
  await service.get(`runs/${run}/nodes/make-1/result`);
  expect(token).toMatch(/^Bearer .{40}/);
  const forged = secrets.map((secret) =>
    createHmac("sha256", Buffer.from(secret, "latin1")).update(run).digest("base64url"),
  );
  const accepted = [];
  for (const one of forged) if (`Bearer ${one}` === token) accepted.push(one);
  expect(accepted).toEqual([]);
});

test("[F3] nobody makes a place in a list from what is in the database", async () => {
  const keys = secrets.map((secret) => Buffer.from(secret, "latin1")).filter(({ length }) => length === 32);
  expect(keys.length).toBeGreaterThan(10);
  const answers = await Promise.all(
    keys.map((key) => service.get(`tasks?cursor=${sealed(key, `1 ${randomUUID()}`)}`)),
  );
  expect(answers.filter(({ status }) => status === 200)).toEqual([]);
});

/** Seals a place in a list, as `Cursors` does. */
function sealed(key: Buffer, place: string): string {
  const iv = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, iv);
  return Buffer.concat([iv, cipher.update(place), cipher.final(), cipher.getAuthTag()]).toString("base64url");
}
