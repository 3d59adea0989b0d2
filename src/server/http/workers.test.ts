import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { ADMIN_KEY, API, bearer, type Served, serve } from "../../../tests/http-app.ts";

let served: Served;
let url: string;
beforeAll(async () => {
  served = await serve();
  await served.app.listen({ port: 0, host: "127.0.0.1" });
  url = `ws://127.0.0.1:${(served.app.server.address() as AddressInfo).port}/worker/connect`;
});
afterAll(async () => {
  await served.close();
});

const registration = {
  protocol: 1,
  id: "w1",
  session: "session-of-w1",
  executors: ["crunch"],
  types: ["t"],
  cpu_millicores: 1000,
  memory_bytes: 0,
  slots: 1,
};
const heartbeat = { attempts: [] };
const session = registration.session;
const submit = async (executor: string) =>
  (await served.call("POST", `${API}/submit`, { executor, task_type: "t", payload: { n: 1 } })).body.id;

describe("a time that no date can have", () => {
  const at = Number.MAX_SAFE_INTEGER;
  const id = "0195a6c2-6f0e-7c3a-9d1b-2f4e5a6b7c8d";

  test("is refused in a log", async () => {
    const entries = [{ task: id, attempt: 1, at, stream: "stdout", text: "late" }];
    const { status, body } = await served.call("POST", "/worker/w1/log", { session, entries });
    expect([status, body.errors[0].pointer]).toEqual([422, "/entries/0/at"]);
  });

  test("is shown as the last one, where it is in a log already", async () => {
    served.instead.log = async () => [
      { taskId: id, line: 0, attempt: 1, at, stream: "stdout", text: "late" },
    ];
    const { status, body } = await served.call("GET", `${API}/task/${id}/log`);
    delete served.instead.log;
    expect([status, body.lines[0].at]).toEqual([200, "+275760-09-13T00:00:00.000Z"]);
  });
});

test("what a worker holds, moved and freed is shown as its last heartbeat has it", async () => {
  const holder = { ...registration, id: "w-holder", session: "session-of-w-holder" };
  const shown = async () => {
    const { body } = await served.call("GET", `${API}/workers`);
    return body.workers.find(({ id }: { id: string }) => id === holder.id).chunks;
  };
  await served.call("POST", "/worker/register", { registration: holder, heartbeat });
  expect(await shown()).toBeUndefined();
  const memory = { held: 5, spilled: 7, moved: 11, freed: 13 };
  const poll = { session: holder.session, heartbeat: { ...heartbeat, memory } };
  await served.call("POST", "/worker/w-holder/poll?wait=0", poll);
  expect(await shown()).toEqual({ held_bytes: 5, spilled_bytes: 7, moved_bytes: 11, freed_bytes: 13 });
  const leave = await served.call("POST", "/worker/w-holder/leave", { session: holder.session });
  expect(leave.status).toBeLessThan(300);
});

describe("by HTTP a worker", () => {
  test("registers, gets a task, prints, reports and leaves", async () => {
    const registered = await served.call("POST", "/worker/register", { registration, heartbeat });
    expect(registered.body).toEqual({ worker: "w1", lease_ms: 15_000, heartbeat_ms: 5000 });
    const id = await submit("crunch");
    const polled = await served.call("POST", "/worker/w1/poll?wait=1", { session, heartbeat });
    expect(polled.body.assignments).toMatchObject([{ task: id, attempt: 1, payload: { n: 1 } }]);
    const entries = [{ task: id, attempt: 1, at: 5, stream: "stdout", text: "nul \0 and \ud800" }];
    await served.call("POST", "/worker/w1/log", { session, entries });
    // A service gathers lines before it keeps them.
    const logged = () => served.call("GET", `${API}/task/${id}/log`);
    await expect.poll(async () => (await logged()).body.lines.length).toBe(1);
    const log = await logged();
    expect(log.body.lines).toMatchObject([
      { at: "1970-01-01T00:00:00.005Z", text: "nul \u{fffd} and \u{fffd}" },
    ]);
    const report = { type: "finished", task: id, attempt: 1, started_at: 1, result: { ok: true } };
    expect((await served.call("POST", "/worker/w1/report", { session, report })).body).toEqual({
      accepted: true,
    });
    expect((await served.call("POST", "/worker/w1/report", { session, report })).body.accepted).toBe(false);
    expect((await served.call("GET", `${API}/task/${id}`)).body).toMatchObject({
      status: "completed",
      result: { ok: true },
    });
    expect((await served.call("POST", "/worker/w1/leave", { session })).status).toBe(200);
    const late = await served.call("POST", "/worker/w1/poll", { session, heartbeat });
    expect([late.status, late.body.code]).toEqual([409, "session-ended"]);
  });

  test("serves only zones of its key", async () => {
    const headers = bearer(await served.secretOf({ scopes: ["work"], zones: ["a"] }));
    const register = (zones: object) =>
      served.call(
        "POST",
        "/worker/register",
        { registration: { ...registration, id: "w2", ...zones }, heartbeat },
        headers,
      );
    expect((await register({})).status).toBe(200);
    expect((await register({ zones: ["b"] })).body.code).toBe("zone-not-allowed");
    expect((await register({ zone: "b" })).body.code).toBe("zone-not-allowed");
  });

  test("is told which part of a message is wrong", async () => {
    const wrong = await served.call("POST", "/worker/register", {
      registration: { ...registration, slots: 0 },
      heartbeat,
    });
    expect([wrong.status, wrong.body.errors[0].pointer]).toEqual([422, "/registration/slots"]);
    const named = await served.call("POST", "/worker/register", {
      registration: { ...registration, id: "a\0" },
      heartbeat,
    });
    expect([named.status, named.body.errors[0].pointer]).toEqual([422, "/registration/id"]);
    const report = { type: "failed", task: "no-uuid", attempt: 1, started_at: 1, code: "x", message: "" };
    const reported = await served.call("POST", "/worker/w1/report", { session, report });
    expect([reported.status, reported.body.errors[0].pointer]).toEqual([422, "/report/task"]);
  });
});

/** A WebSocket with its messages in order. */
class Line {
  readonly #socket: WebSocket;
  readonly #got: unknown[] = [];
  #closeCode: number | undefined;
  constructor(headers: Record<string, string> = bearer(ADMIN_KEY)) {
    this.#socket = new WebSocket(url, { headers });
    this.#socket.on("message", (data) => this.#got.push(JSON.parse(String(data))));
    this.#socket.on("close", (code) => {
      this.#closeCode = code;
    });
    this.#socket.on("error", () => {});
  }
  async opened(): Promise<this> {
    await once(this.#socket, "open");
    return this;
  }
  async closed(): Promise<number | undefined> {
    await expect.poll(() => this.#closeCode).toBeDefined();
    return this.#closeCode;
  }
  say(message: unknown): void {
    this.#socket.send(typeof message === "string" ? message : JSON.stringify(message));
  }
  // biome-ignore lint/suspicious/noExplicitAny: what is in a message is what the tests are about
  async next(): Promise<any> {
    await expect.poll(() => this.#got.length).toBeGreaterThan(0);
    return this.#got.shift();
  }
  /** A task that a heartbeat does not name is assigned again. */
  async nextOf(type: string): Promise<unknown> {
    for (;;) {
      const message = await this.next();
      if (message.type === type) return message;
    }
  }
}

describe("over a socket a worker", () => {
  test("registers, gets a task and is acknowledged", async () => {
    const line = await new Line().opened();
    line.say({
      type: "register",
      registration: { ...registration, id: "w3", executors: ["spin"] },
      heartbeat,
    });
    const id = await submit("spin");
    line.say({ type: "heartbeat", heartbeat });
    expect(await line.next()).toMatchObject({ type: "registered", worker: "w3" });
    expect(await line.next()).toMatchObject({ type: "assign", assignments: [{ task: id }] });
    const report = {
      type: "failed",
      task: id,
      attempt: 1,
      started_at: 1,
      code: "exit",
      message: "1\0",
      retry: false,
    };
    line.say({ type: "report", ref: 7, report });
    expect(await line.nextOf("ack")).toEqual({ type: "ack", ref: 7, ack: { accepted: true } });
    expect((await served.call("GET", `${API}/task/${id}`)).body).toMatchObject({
      status: "failed",
      error_message: "1\u{fffd}",
    });
    line.say({ type: "leave" });
    expect(await line.closed()).toBe(1000);
  });

  test.each([
    ["something else first", { type: "drain" }, "malformed"],
    ["no JSON", "{", "malformed"],
    ["no message", { type: "nonsense" }, "invalid"],
    ["too deep a message", "[".repeat(200) + "]".repeat(200), "invalid"],
  ])("that says %s is cut off", async (_what, message, code) => {
    const line = await new Line().opened();
    line.say(message);
    expect(await line.next()).toMatchObject({ type: "error", code, retry: false });
    expect(await line.closed()).toBe(1008);
  });

  test("that says too much is cut off", async () => {
    const line = await new Line().opened();
    line.say("x".repeat(5 * 1024 * 1024));
    expect(await line.closed()).toBe(1009);
  });

  test("that pings without end and reads nothing is not answered without end", async () => {
    const socket = new WebSocket(url, { headers: bearer(ADMIN_KEY) });
    await once(socket, "open");
    const registered = once(socket, "message");
    socket.send(
      JSON.stringify({ type: "register", registration: { ...registration, id: "w-pings" }, heartbeat }),
    );
    expect(JSON.parse(String((await registered)[0]))).toMatchObject({ type: "registered" });
    let pongs = 0;
    socket.on("pong", () => {
      pongs += 1;
    });
    socket.pause();
    const pings = 400_000;
    for (let n = 0; n < pings; n++) {
      socket.ping("x".repeat(125));
      // Lets them go out.
      if (n % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await expect.poll(() => socket.bufferedAmount, { timeout: 30_000 }).toBe(0);
    const answered = once(socket, "message");
    const report = { type: "cancelled", task: randomUUID(), attempt: 1, started_at: -1 };
    socket.send(JSON.stringify({ type: "report", ref: 7, report }));
    socket.resume();
    expect(JSON.parse(String((await answered)[0]))).toMatchObject({ type: "ack", ref: 7 });
    expect(pongs).toBeGreaterThan(0);
    expect(pongs).toBeLessThan(pings);
    socket.terminate();
  });

  test("without a fitting key does not get in", async () => {
    const read = await served.secretOf({ scopes: ["read"] });
    const statusOf = async (headers: Record<string, string>) => {
      const [, response] = await once(new WebSocket(url, { headers }), "unexpected-response");
      return (response as { statusCode: number }).statusCode;
    };
    expect([await statusOf({}), await statusOf(bearer("sk-bogus")), await statusOf(bearer(read))]).toEqual([
      401, 401, 403,
    ]);
  });
});

test("a server that closes lets workers and streams go, at once", async () => {
  const other = await serve();
  await other.app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = other.app.server.address() as AddressInfo;
  const socket = new WebSocket(`ws://127.0.0.1:${port}/worker/connect`, { headers: bearer(ADMIN_KEY) });
  await once(socket, "open");
  const stream = await fetch(`http://127.0.0.1:${port}${API}/events`, { headers: bearer(ADMIN_KEY) });
  const { id } = (await other.call("POST", `${API}/submit`, { executor: "a", task_type: "b" })).body;
  const waiting = fetch(`http://127.0.0.1:${port}${API}/task/${id}?wait=60`, { headers: bearer(ADMIN_KEY) });
  await new Promise((resolve) => setTimeout(resolve, 50));
  const began = Date.now();
  const gone = once(socket, "close");
  await other.close();
  expect((await gone)[0]).toBe(1001);
  await stream.text();
  expect((await waiting).status).toBe(200);
  expect(Date.now() - began).toBeLessThan(4000);
});
