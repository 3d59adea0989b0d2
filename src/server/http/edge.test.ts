import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ADMIN_KEY, API, aloneOn, type Served, serve } from "../../../tests/http-app.ts";
import { MemoryStore, StoreError } from "../../store/index.ts";
import { ServerSecret } from "../secret.ts";
import { buildApp } from "./app.ts";

const log: string[] = [];
let served: Served;
beforeAll(async () => {
  served = await serve(log);
  await served.app.listen({ port: 0, host: "127.0.0.1" });
});
afterAll(async () => {
  await served.close();
});

/** What comes back for bytes that need not be HTTP. */
async function raw(bytes: string): Promise<string> {
  const { port } = served.app.server.address() as AddressInfo;
  const socket = connect(port, "127.0.0.1");
  let answer = "";
  socket.on("data", (data) => {
    answer += String(data);
  });
  socket.on("error", () => {});
  socket.end(bytes);
  await new Promise((resolve) => socket.once("close", resolve));
  return answer;
}

describe("a request", () => {
  test("to nowhere is 404, with another method 405, and says so in JSON", async () => {
    const nowhere = await served.call("GET", "/nowhere");
    expect([nowhere.status, nowhere.body.code, nowhere.headers["content-type"]]).toEqual([
      404,
      "not-found",
      "application/problem+json; charset=utf-8",
    ]);
    const method = await served.call("DELETE", `${API}/submit`);
    expect([method.status, method.headers["allow"]]).toEqual([405, "POST"]);
    expect((await served.call("POST", `${API}/limits/x`, {})).headers["allow"]).toBe("PUT");
    expect((await served.call("HEAD", `${API}/tasks`)).status).toBe(405);
    expect((await served.call("HEAD", "/livez")).status).toBe(200);
  });

  test("has an id, its own or a new one", async () => {
    const own = await served.call("GET", "/nowhere", undefined, { "x-request-id": "mine-1" });
    expect([own.headers["x-request-id"], own.body.request_id]).toEqual(["mine-1", "mine-1"]);
    const bad = await served.call("GET", "/nowhere", undefined, { "x-request-id": "not mine" });
    expect(bad.headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("with a path that is none is answered", async () => {
    const answer = await served.call("GET", `${API}/task/%zz`);
    expect([answer.status, answer.body.code]).toEqual([400, "malformed"]);
    expect((await served.call("GET", `${API}/task/${"x".repeat(3000)}`)).status).toBe(404);
  });

  test("that is not HTTP is answered on the socket", async () => {
    expect(await raw("nonsense\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 .*application\/problem\+json/s);
    expect(await raw(`GET / HTTP/1.1\r\nhost: x\r\na: ${"b".repeat(20_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 /,
    );
    expect(
      await raw("GET /elsewhere HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"),
    ).toMatch(/^HTTP\/1\.1 404 /);
  });
});

describe("a request that offers another protocol is answered in this one:", () => {
  const upgrade =
    "host: x\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n";
  const key = `authorization: Bearer ${ADMIN_KEY}\r\ncontent-type: application/json\r\n`;

  test("without a body", async () => {
    expect(await raw(`GET /livez HTTP/1.1\r\n${upgrade}\r\n`)).toMatch(/^HTTP\/1\.1 200 .*"status":"ok"/s);
  });

  test("with one", async () => {
    const body = '{"priority":"high"}';
    const head = `POST ${API}/classify HTTP/1.1\r\n${upgrade}${key}`;
    expect(await raw(`${head}content-length: ${body.length}\r\n\r\n${body}`)).toMatch(
      / 200 .*"interactive"/s,
    );
    expect(await raw(`${head}transfer-encoding: chunked\r\n\r\n0\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe("what goes wrong here", () => {
  const task = { executor: "e", task_type: "t", payload: { password: "hunter2" } };
  const fail = async (error: Error) => {
    served.instead.submit = async () => {
      throw error;
    };
    const answer = await served.call("POST", `${API}/submit`, task);
    delete served.instead.submit;
    return answer;
  };

  test("is a bug to the client, and a line in the log without keys and payloads", async () => {
    const { status, body, text } = await fail(new TypeError("secret detail"));
    expect([status, body.code]).toEqual([500, "bug"]);
    expect(text).not.toMatch(/secret detail|\.ts:/);
    expect(log.join("")).toContain("secret detail");
    expect(log.join("")).toContain(body.request_id);
    expect(log.join("")).not.toMatch(`hunter2|${ADMIN_KEY}`);
  });

  test("or in the store is a time to try again", async () => {
    const { status, body, headers } = await fail(new StoreError("unwritable", "the disk is full"));
    expect([status, body.code, headers["retry-after"]]).toEqual([503, "unavailable", "1"]);
    expect(body.detail).not.toContain("disk");
  });
});

test("a server that is not ready says so, and why", async () => {
  const app = buildApp({
    api: served.service.api,
    gateway: served.service.gateway,
    webhooks: served.service.webhooks,
    schedules: served.service.schedules,
    past: served.service.past,
    audit: new MemoryStore().audit,
    keys: served.keys,
    tickets: served.tickets,
    secret: ServerSecret.random(),
    version: "0.0.0",
    health: { notReady: () => "migrating", info: () => ({}) },
    cluster: aloneOn(new MemoryStore()),
  });
  const headers = { authorization: `Bearer ${ADMIN_KEY}` };
  const ready = await app.inject({ url: "/readyz", headers });
  expect([ready.statusCode, ready.json()]).toEqual([503, { status: "unavailable", detail: "migrating" }]);
  const toStranger = await app.inject("/readyz");
  expect([toStranger.statusCode, toStranger.json()]).toEqual([503, { status: "unavailable" }]);
  expect((await app.inject("/livez")).statusCode).toBe(200);
  await app.close();
});

test("[P-16] who was taken over from leads no more, whatever it said last", async () => {
  const store = new MemoryStore();
  const app = await serve([], { store });
  const leadership = await store.leadership();
  store.leadership = async () => ({ ...leadership, holder: "b/2", url: "http://b" });
  const said = (name: string, role: "leader" | "follower", seenMsAgo: number) => ({
    name,
    url: `http://${name}`,
    role,
    seq: 0,
    seenMsAgo,
  });
  store.members = async () => [
    said("a", "leader", 4_000),
    said("b", "leader", 900),
    said("c", "leader", 900),
    said("d", "follower", 9_000),
    said("e", "follower", 11_000),
  ];
  const { body } = await app.call("GET", `${API}/cluster`);
  expect(body.members.map(({ name, role }: { name: string; role: string }) => [name, role])).toEqual([
    ["a", "lost"],
    ["b", "leader"],
    // It has stepped down, and not said so yet.
    ["c", "follower"],
    ["d", "follower"],
    ["e", "lost"],
  ]);
  await app.close();
});

test("metrics are for operators, over all zones", async () => {
  const { status, text, headers } = await served.call("GET", "/metrics");
  expect([status, headers["content-type"]]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
  expect(text).toContain("orrery_http_request_seconds_bucket");
  expect(text).toContain("orrery_event_loop_lag_seconds");
  expect(text).toContain('route="/api/v2/scheduler/submit"');
});
