import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ADMIN_KEY, API, bearer, type Served, serve } from "../../../tests/http-app.ts";

let served: Served;
let base: string;
beforeAll(async () => {
  served = await serve();
  await served.app.listen({ port: 0, host: "127.0.0.1" });
  base = `http://127.0.0.1:${(served.app.server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await served.close();
});

interface Told {
  readonly id: string | undefined;
  readonly kind: string;
  // biome-ignore lint/suspicious/noExplicitAny: what is in an event is what the tests are about
  readonly data: any;
}

/** Reads events until there are enough, or the stream ends. */
async function listen(path: string, count: number, headers: Record<string, string> = {}): Promise<Told[]> {
  const stop = new AbortController();
  const response = await fetch(base + path, {
    headers: { ...bearer(ADMIN_KEY), ...headers },
    signal: stop.signal,
  });
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  const told: Told[] = [];
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    told.push(...blocks.flatMap(parse));
    if (told.length >= count) break;
  }
  stop.abort();
  return told.slice(0, count);
}

function parse(block: string): Told[] {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
  const data = field("data");
  return data === undefined ? [] : [{ id: field("id"), kind: field("event") ?? "", data: JSON.parse(data) }];
}

const submit = async (headers = {}) =>
  (await served.call("POST", `${API}/submit`, { executor: "e", task_type: "t" }, headers)).body.id;

describe("the stream", () => {
  test("tells what happens, and goes on after the last that was told", async () => {
    const ids = [await submit(), await submit(), await submit()];
    const first = await listen(`${API}/events?from=start`, 1);
    expect(first[0]).toMatchObject({
      kind: "TaskSubmitted",
      data: { kind: "TaskSubmitted", task_id: ids[0], run_id: null },
    });
    const place = first[0]?.id ?? "";
    const byHeader = await listen(`${API}/events`, 2, { "last-event-id": place });
    const byQuery = await listen(`${API}/events?after=${place}`, 2);
    expect(byHeader.map(({ data }) => data.task_id)).toEqual(ids.slice(1));
    expect(byQuery).toEqual(byHeader);
  });

  test("tells a burst without cutting off who reads", async () => {
    const tasks = Array.from({ length: 2000 }, () => ({ executor: "burst", task_type: "t" }));
    const headers = { "x-zone-id": "burst" };
    const listening = listen(`${API}/events`, 2000, headers);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await served.call("POST", `${API}/submit/batch`, { tasks }, headers);
    expect(new Set((await listening).map(({ data }) => data.task_id)).size).toBe(2000);
  });

  test("begins now, and holds nothing of another zone", async () => {
    const listening = listen(`${API}/events`, 1, { "x-zone-id": "quiet" });
    await new Promise((resolve) => setTimeout(resolve, 50));
    await submit();
    const id = await submit({ "x-zone-id": "quiet" });
    expect((await listening).map(({ data }) => data.task_id)).toEqual([id]);
  });

  test("refuses an id that is none", async () => {
    const { status } = await served.call("GET", `${API}/events`, undefined, { "last-event-id": "a b" });
    expect(status).toBe(400);
  });
});

describe("a run's stream", () => {
  /** What else is recorded in between is the scheduler's affair. */
  const isOfRun = ({ kind }: Told) => kind.startsWith("Run");

  const start = async () =>
    (await served.call("POST", `${API}/runs`, { nodes: { a: { task: "t" } } })).body.id;

  test("begins and ends with the run, and ends with it", async () => {
    const id = await start();
    const listening = listen(`${API}/runs/${id}/events`, 99);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await submit();
    await served.call("POST", `${API}/runs/${id}/cancel`);
    const told = (await listening).filter(isOfRun);
    expect(told.map(({ kind, data }) => [kind, data.status])).toEqual([
      ["Run", "running"],
      ["RunEnded", undefined],
      ["Run", "cancelled"],
    ]);
    expect(told.at(-1)?.id).toBe("end");
  });

  test("of an ended run ends at once, and says so to whoever comes back", async () => {
    const id = await start();
    await served.call("POST", `${API}/runs/${id}/cancel`);
    expect((await listen(`${API}/runs/${id}/events`, 99)).map(({ kind }) => kind)).toEqual(["Run", "Run"]);
    const again = await served.call("GET", `${API}/runs/${id}/events`, undefined, { "last-event-id": "end" });
    expect([again.status, again.text]).toEqual([204, ""]);
    const whole = await listen(`${API}/runs/${id}/events?from=start`, 99);
    expect(whole.filter(isOfRun).map(({ kind }) => kind)).toEqual(["Run", "RunSubmitted", "RunEnded", "Run"]);
  });
});

/** Counts what a reader is told without reading it, so that little of the time is the reader's. */
function counted(
  headers: string,
  count: number,
): { readonly listens: Promise<unknown>; readonly done: Promise<void> } {
  const socket = connect((served.app.server.address() as AddressInfo).port, "127.0.0.1");
  socket.write(`GET ${API}/events HTTP/1.1\r\nhost: x\r\n${headers}\r\n\r\n`);
  let told = 0;
  // The head of the answer comes once it listens.
  const listens = once(socket, "data");
  const done = new Promise<void>((resolve) => {
    socket.on("data", (bytes) => {
      for (let at = bytes.indexOf("\nid: "); at !== -1; at = bytes.indexOf("\nid: ", at + 1)) told += 1;
      // A few are torn between two packets.
      if (told < 0.99 * count) return;
      socket.destroy();
      resolve();
    });
  });
  return { listens, done };
}

test("a burst for a hundred readers leaves the server time for others", async () => {
  const headers = `authorization: Bearer ${ADMIN_KEY}\r\nx-zone-id: crowd`;
  const readers = Array.from({ length: 100 }, () => counted(headers, 10_000));
  await Promise.all(readers.map(({ listens }) => listens));
  const tasks = Array.from({ length: 10_000 }, () => ({ executor: "crowd", task_type: "t" }));
  let longestMs = 0;
  let last = performance.now();
  const clock = setInterval(() => {
    longestMs = Math.max(longestMs, performance.now() - last);
    last = performance.now();
  }, 1);
  await served.call("POST", `${API}/submit/batch`, { tasks }, { "x-zone-id": "crowd" });
  await Promise.all(readers.map(({ done }) => done));
  clearInterval(clock);
  // It was beyond fifteen seconds when each reader turned each event into text.
  expect(longestMs).toBeLessThan(12_000);
}, 120_000);

test("a reader that does not read is cut off", async () => {
  const other = await serve();
  const data = { text: "x".repeat(100_000) };
  let sent = 0;
  other.instead.events = async function* (_caller, _from, signal) {
    for (; !signal.aborted; sent++) {
      yield { id: "1", kind: "Flood", at: 0, taskId: undefined, runId: undefined, data };
      await new Promise(setImmediate);
    }
  };
  await other.app.listen({ port: 0, host: "127.0.0.1" });
  const socket = connect((other.app.server.address() as AddressInfo).port, "127.0.0.1");
  socket.write(`GET ${API}/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ADMIN_KEY}\r\n\r\n`);
  socket.pause();
  const connections = () =>
    new Promise((resolve) => other.app.server.getConnections((_, count) => resolve(count)));
  await expect.poll(() => sent).toBeGreaterThan(0);
  await expect.poll(connections, { timeout: 20_000 }).toBe(0);
  // Little more than the sockets' own buffers went out, whatever there was to tell.
  expect(sent).toBeLessThan(200);
  socket.destroy();
  await other.close();
});
