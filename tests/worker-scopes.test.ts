// What one worker can do to the work of others, over real HTTP connections.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { HolderAddresses, requestChunk } from "../src/chunks/index.ts";
import { graph, OrreryClient } from "../src/client/index.ts";
import type { Registration } from "../src/protocol/index.ts";
import { PollTransport, task, WebSocketTransport } from "../src/worker/index.ts";
import { ADMIN_KEY, type Answer, type RequestOptions, TestService } from "./service.ts";
import { startWorker } from "./worker-fixture.ts";

const SHA = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const IDLE = { attempts: [] };

let service: TestService;
let client: OrreryClient;
beforeEach(async () => {
  service = await TestService.start("memory");
  client = new OrreryClient({ url: service.server.url, key: ADMIN_KEY });
});
afterEach(async () => {
  await service[Symbol.asyncDispose]();
});

/** A worker by HTTP, whose every word is ours. */
class Hand {
  readonly id: string;
  readonly session: string;
  readonly options: RequestOptions;

  constructor(id: string, options: RequestOptions = {}, session = `session of ${id}`) {
    this.id = id;
    this.options = options;
    this.session = session;
  }

  registration(fields: Readonly<Record<string, unknown>> = {}): Registration {
    return {
      protocol: 1,
      id: this.id,
      session: this.session,
      executors: ["default"],
      types: ["t"],
      cpu_millicores: 1_000_000,
      memory_bytes: 2 ** 40,
      slots: 1,
      ...fields,
    };
  }

  register(fields: Readonly<Record<string, unknown>> = {}): Promise<Answer> {
    const registration = this.registration(fields);
    return service.post("/worker/register", { registration, heartbeat: IDLE }, this.options);
  }

  say(what: string, body: object = {}): Promise<Answer> {
    return service.post(`/worker/${this.id}/${what}`, { session: this.session, ...body }, this.options);
  }

  /** The next assignment. */
  async next(attempts: readonly object[] = []) {
    const { body } = await this.say("poll?wait=10", { heartbeat: { attempts } });
    return body.assignments[0];
  }

  report(given: { task: string; attempt: number }, rest: object): Promise<Answer> {
    const { task, attempt } = given;
    return this.say("report", { report: { task, attempt, started_at: 1, ...rest } });
  }
}

async function eventsOf(kind: string): Promise<unknown[][]> {
  const { body } = await service.get("ledger");
  const blocks = String(body).trimEnd().split("\n");
  return blocks.flatMap((line) => JSON.parse(line).events).filter(([name]) => name === kind);
}

test("[F22] a stale report that an input is missing changes nothing", async () => {
  const [holder, reader] = [new Hand("holder"), new Hand("reader")];
  await holder.register({ types: ["make"], data_url: "http://127.0.0.1:1" });
  await reader.register({ types: ["use"], data_url: "http://127.0.0.1:2" });
  const g = graph();
  await client.start(g, g.with({ retries: 3 }).task("use", g.task("make")));
  const made = await holder.next();
  const chunk = { kind: "bytes", bytes: 100_000, sha256: SHA };
  expect((await holder.report(made, { type: "finished", chunk })).body).toEqual({ accepted: true });
  const first = await reader.next();
  const missing = [{ chunk: first.data.inputs[0].chunk, worker: "holder" }];
  const failed = { type: "failed", code: "x", message: "x" };
  expect((await reader.report(first, failed)).body).toEqual({ accepted: true });
  const second = await reader.next();
  expect(second).toMatchObject({ task: first.task, attempt: 2 });
  const stale = await reader.report(first, { ...failed, code: "input-missing", missing });
  expect(stale.body).toEqual({ accepted: false, code: "stale" });
  expect(await eventsOf("ChunkLost")).toEqual([]);
  expect((await reader.report(second, { ...failed, code: "input-missing", missing })).body.accepted).toBe(
    true,
  );
  expect(await eventsOf("ChunkLost"), "that of the current attempt counts").toHaveLength(1);
});

test("[S-26.records] a refused report names task, attempt, worker and reason in the ledger", async () => {
  const worker = new Hand("w1");
  await worker.register();
  const { body } = await service.submit({ executor: "default", task_type: "t" });
  const given = await worker.next();
  const finished = { type: "finished", result: 1 };
  expect((await worker.report(given, finished)).body).toEqual({ accepted: true });
  // The scheduler has forgotten the task by now.
  expect((await worker.report(given, finished)).body.accepted).toBe(false);
  expect(await eventsOf("ReportRefused")).toEqual([
    ["ReportRefused", -1, 0, 1, "AttemptFinished", "unknown", body.id, 0],
  ]);
  const entries = () => service.get("ledger/events?kind=ReportRefused");
  // Until the ledger has been replayed.
  await expect.poll(async () => (await entries()).status, { timeout: 30_000 }).toBe(200);
  expect((await entries()).body.events).toMatchObject([
    { task_id: body.id, worker_id: "w1", data: { attempt: 1 } },
  ]);
});

test("[F23] a result that looks like the handle of a chunk is a result", async () => {
  const worker = new Hand("w1");
  await worker.register({ types: ["make", "use"], data_url: "http://127.0.0.1:1", slots: 2 });
  const values = [{ $held: 5 }, { $held: { kind: "json", bytes: 100_000, sha256: SHA } }];
  for (const value of values) {
    const g = graph();
    const make = g.task("make");
    const computation = await client.start(g, [make, g.task("use", make)]);
    const made = await worker.next();
    expect((await worker.report(made, { type: "finished", result: value })).body.accepted).toBe(true);
    const use = await worker.next();
    expect(use.data.inputs).toMatchObject([{ value }]);
    expect((await worker.report(use, { type: "finished", result: value })).body.accepted).toBe(true);
    expect(await computation.results()).toEqual([value, value]);
    expect((await service.get(`task/${made.task}`)).body).toMatchObject({ result: value, held_result: null });
  }
  const g = graph();
  await client.start(g, g.task("make"));
  const chunk = { kind: "json", bytes: 100_000, sha256: SHA };
  const made = await worker.next();
  await worker.report(made, { type: "finished", chunk });
  expect((await service.get(`task/${made.task}`)).body).toMatchObject({ result: null, held_result: chunk });
});

/** The secret of a new key that may work in these zones. */
async function workKey(name: string, zones: string[] = ["default"]): Promise<string> {
  const { secret } = await client.keys.create({ name, scopes: ["work"], zones, agents: ["*"] });
  return secret;
}

test("[F9] workers of two zones have the same id, and neither hears of the other", async () => {
  const [here, there] = [new Hand("build-1"), new Hand("build-1", { zone: "other" }, "session there")];
  expect((await here.register()).status).toBe(200);
  expect((await there.register()).status).toBe(200);
  const ids: string[] = [];
  for (const zone of ["default", "other"]) {
    const { body } = await service.submit({ executor: "default", task_type: "t" }, { zone });
    ids.push(body.id);
  }
  const given = [await here.next(), await there.next()];
  expect(given).toMatchObject([{ task: ids[0] }, { task: ids[1], zone: "other" }]);
  expect((await service.post("workers/build-1/drain", {}, { zone: "other" })).status).toBe(200);
  const seen = async (zone: string) => (await service.get("workers", { zone })).body.workers;
  expect(await seen("default")).toMatchObject([{ id: "build-1", zone: "default", status: "Busy" }]);
  expect(await seen("other")).toMatchObject([{ id: "build-1", zone: "other", status: "Draining" }]);
  await there.say("leave");
  expect((await here.report(given[0], { type: "finished" })).body).toEqual({ accepted: true });
});

test("[F9] a worker of a home zone and a granted one runs the tasks of both beside a namesake", async () => {
  const both = new Hand("w", {}, "session of both");
  await both.register({ zones: ["other"], slots: 2 });
  await new Hand("w", { zone: "other" }, "session of other").register({ types: ["nothing"] });
  for (const zone of ["default", "other"]) {
    const { body } = await service.submit({ executor: "default", task_type: "t" }, { zone });
    const given = await both.next();
    expect(given).toMatchObject({ task: body.id, zone });
    expect((await both.report(given, { type: "finished" })).body).toEqual({ accepted: true });
  }
});

test("[F9] another key takes a worker's id over only after its lease, and the other worker waits for that", async () => {
  await service[Symbol.asyncDispose]();
  service = await TestService.start("memory", { leaseMs: 2_000 });
  client = new OrreryClient({ url: service.server.url, key: ADMIN_KEY });
  const [first, second] = [await workKey("first"), await workKey("second")];
  const holder = new Hand("w", { key: first });
  await holder.register();
  const refused = await new Hand("w", { key: second }, "another session").register();
  expect([refused.status, refused.body.code]).toEqual([409, "worker-taken"]);
  expect((await new Hand("w", { key: first }, "after a restart").register()).status).toBe(200);
  const waited = [WebSocketTransport, PollTransport].map(async (Transport, at) => {
    const id = `w${at}`;
    await new Hand(id, { key: first }).register();
    const { events, worker, ended } = startWorker(
      new Transport({ url: service.server.url, key: second }),
      { t: task(() => 1) },
      { registration: { id, executors: ["default"], cpu_millicores: 1, memory_bytes: 1, slots: 1 } },
    );
    await expect.poll(() => events.map(({ type }) => type), { timeout: 20_000 }).toContain("connected");
    expect(events[0]).toMatchObject({ type: "disconnected", reason: expect.stringContaining("lease") });
    worker.stop();
    await ended;
  });
  await Promise.all(waited);
});

describe("[F10] a data_url", () => {
  test("is refused when a worker registers, if it is no origin or leads to what only the server reaches", async () => {
    const urls = [
      "http://127.0.0.1:1/any/path",
      "http://127.0.0.1:1?q",
      "http://127.0.0.1:1/#",
      "http://user:word@127.0.0.1:1",
      "http://169.254.169.254",
      "http://[fe80::1]:80",
      "http://[::ffff:169.254.169.254]",
      "http://168.63.129.16",
      "http://2852039166",
      "file:///etc/passwd",
    ];
    for (const data_url of urls) {
      const { status, body } = await new Hand("w").register({ data_url });
      expect([data_url, status, body.code]).toEqual([data_url, 422, "invalid"]);
      expect(JSON.stringify(body)).toContain("/registration/data_url");
    }
    expect((await new Hand("w").register({ data_url: "http://127.0.0.1:1" })).status).toBe(200);
  });

  test("on loopback is never asked by the server for a worker of another machine", async () => {
    const asked: string[] = [];
    const inside = createServer((request, response) => {
      asked.push(request.url ?? "");
      response.writeHead(302, { location: "http://127.0.0.1:1/" }).end();
    }).listen(0, "127.0.0.1");
    await once(inside, "listening");
    const { port } = inside.address() as AddressInfo;
    const worker = new Hand("w");
    const caller = { keyId: "k", zone: "default", agent: "a", scopes: new Set<never>(), isZoneAdmin: true };
    /** Requests that reach the address inside when a result is asked for. */
    const requestsFor = async (host: string, peer: string): Promise<number> => {
      const registration = worker.registration({ data_url: `http://${host}:${port}`, types: ["make"] });
      const { gateway } = service.leading;
      const session = await gateway.register(caller, registration, IDLE, undefined, peer);
      if ("refused" in session) throw new Error(session.message);
      const g = graph();
      const { run } = await client.start(g, g.task("make"));
      const { assignments } = await session.poll(IDLE, 5_000, AbortSignal.timeout(10_000));
      const { task: id = "", attempt = 0 } = assignments[0] ?? {};
      const chunk = { kind: "bytes", bytes: 100_000, sha256: SHA } as const;
      await session.report([{ type: "finished", task: id, attempt, started_at: 1, chunk }]);
      asked.length = 0;
      expect((await service.get(`runs/${run}/nodes/make-1/result`)).status).toBeGreaterThanOrEqual(400);
      await session.leave();
      return asked.length;
    };
    expect(await requestsFor("127.0.0.1", "127.0.0.1"), "a redirect is not followed").toBe(1);
    for (const host of ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"])
      expect([host, await requestsFor(host, "10.0.0.9")]).toEqual([host, 0]);
    inside.close();
  });

  test("is checked by the address that its name has when a chunk is fetched", async () => {
    const inside = createServer((_, response) => response.end()).listen(0, "127.0.0.1");
    await once(inside, "listening");
    let connections = 0;
    inside.on("connection", () => connections++);
    const url = `http://localhost:${(inside.address() as AddressInfo).port}`;
    const addresses = new HolderAddresses();
    const permits = (address: string): boolean => addresses.permits(address, "10.0.0.9");
    const asked = { url, id: `${crypto.randomUUID()}:1`, token: "t", signal: AbortSignal.timeout(5_000) };
    await expect(requestChunk({ ...asked, permits })).rejects.toThrow("not allowed");
    expect(connections).toBe(0);
    inside.close();
  });
});
