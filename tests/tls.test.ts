// A cluster whose connections are all encrypted: callers, followers, workers and the results that workers exchange.

import { copyFile } from "node:fs/promises";
import { request as plainRequest } from "node:http";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { connect, type PeerCertificate } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { graph, OrreryClient } from "../src/client/index.ts";
import { Authority, type Pair } from "./certificates.ts";
import { directoryWith, type Started, startOrrery } from "./cli.ts";
import { SERVER_KEY, type ServerProcess, startServerProcess } from "./server-process.ts";
import { freshDatabase } from "./service.ts";

const SOON = { timeout: 30_000, interval: 50 };
const TASKS = `
  export const big = (fill) => Buffer.alloc(300_000, fill);
  export const length = (bytes) => bytes.length;
`;
const big = (fill: number): Buffer => Buffer.alloc(300_000, fill);
const length = (bytes: Uint8Array): number => bytes.length;

let cwd: string;
let authority: Authority;
let pair: Pair;
let leader: ServerProcess;
let follower: ServerProcess;
let workers: Started[] = [];
/** Environment variables of a caller that has a certificate. */
let env: Record<string, string>;

beforeAll(async () => {
  cwd = await directoryWith({ "tasks.mjs": TASKS });
  authority = await Authority.in(cwd);
  pair = await authority.issue("first");
  env = {
    ORRERY_API_KEY: SERVER_KEY,
    ORRERY_TLS_CA: authority.ca,
    ORRERY_TLS_CERT: pair.cert,
    ORRERY_TLS_KEY: pair.key,
  };
  const store = await freshDatabase();
  const tls = ["--tls-cert", pair.cert, "--tls-key", pair.key, "--tls-ca", authority.ca];
  const serve = () => startServerProcess(cwd, ["--store", store, ...tls, "--tls-client-ca", authority.ca]);
  leader = await serve();
  follower = await serve();
  const args = ["worker", "--tasks", "tasks.mjs", "--slots", "2", "--quiet", ...tls];
  const key = { ORRERY_API_KEY: SERVER_KEY };
  workers = [
    startOrrery(cwd, [...args, "--id", "w1", "--capability", "c1", "--server", follower.url], key),
    startOrrery(
      cwd,
      [...args, "--id", "w2", "--capability", "c2", "--server", leader.url, "--transport", "http"],
      key,
    ),
  ];
  Object.assign(process.env, env);
}, 60_000);
afterAll(async () => {
  for (const { child, finished } of [...workers, follower, leader]) {
    child.kill("SIGTERM");
    expect((await finished).code).toBe(0);
  }
});

test("[F18] tasks, results and chunks cross only encrypted connections, through a follower too", async () => {
  expect([leader.url, follower.url].map((url) => new URL(url).protocol)).toEqual(["https:", "https:"]);
  const client = new OrreryClient({ url: follower.url, key: SERVER_KEY });
  await expect.poll(() => client.workers(), SOON).toHaveLength(2);
  const g = graph();
  const on = (capability: string) => ({ capabilities: [capability] });
  const made = g.with(on("c1")).task(big, 7);
  // The second worker fetches it from the first, and the server for us.
  const measured = g.with(on("c2")).task(length, made);
  const [bytes, counted] = await client.compute(g, [made, measured]);
  expect([Buffer.from(bytes).equals(big(7)), counted]).toEqual([true, 300_000]);
  const { stdout, code } = await startOrrery(cwd, ["workers", "--server", follower.url], env).finished;
  expect([code, stdout]).toEqual([0, expect.stringContaining("w1")]);
}, 60_000);

test("[F18] a caller without a certificate, one that trusts no other, and plain HTTP get no answer", async () => {
  const ca = { ORRERY_API_KEY: SERVER_KEY, ORRERY_TLS_CERT: "", ORRERY_TLS_KEY: "" };
  const ask = (more: NodeJS.ProcessEnv) =>
    startOrrery(cwd, ["workers", "--server", leader.url], { ...ca, ...more }).finished;
  const [stranger, distrustful] = await Promise.all([ask({}), ask({ ORRERY_TLS_CA: "" })]);
  expect([stranger.code, stranger.stderr]).toEqual([1, expect.stringContaining("ORRERY_TLS_CERT")]);
  expect([distrustful.code, distrustful.stderr]).toEqual([1, expect.stringContaining("ORRERY_TLS_CA")]);
  const plain = new Promise((resolve, reject) => {
    plainRequest(leader.url.replace("https", "http")).on("response", resolve).on("error", reject).end();
  });
  await expect(plain).rejects.toThrow();
}, 30_000);

/** The serial number of the certificate that a new connection gets. */
async function served(url: URL): Promise<string> {
  return await new Promise((resolve, reject) => {
    const socket = connect({ host: url.hostname, port: Number(url.port), rejectUnauthorized: false }, () => {
      resolve((socket.getPeerCertificate() as PeerCertificate).subject.CN as string);
      socket.destroy();
    }).on("error", reject);
  });
}

test("[F18] [S-26.signals] SIGHUP reads a certificate again, and drops no connection", async () => {
  const second = await authority.issue("second");
  const own = { cert: join(cwd, "own.pem"), key: join(cwd, "own-key.pem") };
  const use = (from: Pair) => Promise.all([copyFile(from.cert, own.cert), copyFile(from.key, own.key)]);
  await use(pair);
  const server = await startServerProcess(cwd, [
    ...["--store", "memory", "--tls-cert", own.cert, "--tls-key", own.key],
  ]);
  const url = new URL(server.url);
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
  const ports = new Set<number | undefined>();
  const livez = async (): Promise<string> =>
    await new Promise((resolve, reject) => {
      request(new URL("/livez", url), { agent })
        .on("response", (answer) => {
          ports.add(answer.socket.localPort);
          resolve(text(answer));
        })
        .on("error", reject)
        .end();
    });
  expect([await served(url), await livez()]).toEqual(["first", '{"status":"ok"}']);
  await use(second);
  server.child.kill("SIGHUP");
  await expect.poll(() => served(url), SOON).toBe("second");
  await use({ cert: pair.cert, key: second.key });
  server.child.kill("SIGHUP");
  await expect.poll(server.said, SOON).toContain("the TLS certificate stays as it was: server.tls_key");
  expect([await served(url), await livez(), ports.size]).toEqual(["second", '{"status":"ok"}', 1]);
  agent.destroy();
  server.child.kill("SIGTERM");
  expect((await server.finished).code).toBe(0);
}, 30_000);

test("[F18] a server with a certificate that cannot be used does not start, and names the setting", async () => {
  const args = ["serve", "--store", "memory", "--port", "0", "--tls-cert", pair.cert];
  const { code, stderr } = await startOrrery(cwd, args, { ORRERY_TLS_KEY: "" }).finished;
  expect([code, stderr]).toEqual([2, "orrery: server.tls_cert needs server.tls_key as well\n"]);
}, 30_000);
