import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ChunkHandle } from "../protocol/index.ts";
import { requestChunk } from "./chunk-request.ts";
import { ChunkServer } from "./chunk-server.ts";
import { ChunkStore } from "./chunk-store.ts";
import { encode } from "./encoding.ts";
import { Fetcher } from "./fetcher.ts";

const TOKEN = "the run's token";
const LIMIT = 100_000;
let directory: string;
let there: ChunkStore;
let here: ChunkStore;
let server: ChunkServer;
let fetcher: Fetcher;
let others: Server[];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "orrery-transfer-"));
  there = new ChunkStore({ limitBytes: LIMIT, directory });
  here = new ChunkStore({ limitBytes: LIMIT, directory });
  server = await ChunkServer.listen(there, { host: "127.0.0.1", port: 0, maxOut: 2 });
  fetcher = new Fetcher(here, 3);
  others = [];
});

afterEach(async () => {
  await server.close(0);
  for (const other of others) other.closeAllConnections();
  await Promise.all(others.map((other) => new Promise((resolve) => other.close(resolve))));
  await Promise.all([there.close(), here.close()]);
  rmSync(directory, { recursive: true, force: true });
});

const url = (): string => `http://127.0.0.1:${server.port}`;
const holder = (worker = "w1", at = url()) => ({ worker, url: at });
const NEVER = new AbortController().signal;

async function chunk(
  bytes: Buffer = Buffer.from("some bytes"),
): Promise<{ id: string; handle: ChunkHandle }> {
  const id = `${randomUUID()}:1`;
  return { id, handle: await there.put({ id, token: TOKEN }, encode(bytes, 0)) };
}

/** A holder that does whatever a test wants. */
async function another(listener: RequestListener): Promise<string> {
  const other = createServer(listener).listen(0, "127.0.0.1");
  others.push(other);
  await once(other, "listening");
  return `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
}

const ask = (id: string, token = TOKEN, at = url()): Promise<Response> =>
  fetch(`${at}/chunks/${id}`, { headers: { authorization: `Bearer ${token}` } });

test("[D-07] a chunk is given to who shows its run's token, from memory or disk", async () => {
  for (const bytes of [Buffer.from("in memory"), Buffer.alloc(50_000, "on disk")]) {
    const { id, handle } = await chunk(bytes);
    const response = await ask(id);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-length": String(bytes.length),
      "x-orrery-kind": "bytes",
      "x-orrery-sha256": handle.sha256,
    });
    expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes);
  }
  expect(there.counters.spilled).toBe(50_000);
});

test("whoever lacks the token gets nothing, and what is not here is not found", async () => {
  const { id } = await chunk();
  expect((await fetch(`${url()}/chunks/${id}`)).status).toBe(401);
  expect((await ask(id, "another")).status).toBe(401);
  expect((await ask(id, "")).status).toBe(401);
  expect((await ask(`${randomUUID()}:1`)).status).toBe(404);
  expect((await ask(encodeURIComponent(id))).status).toBe(200);
  for (const path of ["", "x", "../chunks", `${id}/`, `${id}?a`, "%00", `${id}0000000000`])
    expect((await ask(path)).status, path).toBe(404);
  const posted = await fetch(`${url()}/chunks/${id}`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  expect(posted.status).toBe(405);
  there.free([id]);
  expect((await ask(id)).status).toBe(404);
});

test("[D-07] only so many are sent at once, and who does not read holds up only so many", async () => {
  const large = await chunk(Buffer.alloc(20_000_000, "large"));
  const { id } = await chunk();
  const idle = [0, 1].map(() => {
    const socket = connect(server.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(`GET /chunks/${large.id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`);
    return socket.pause();
  });
  await Promise.all(idle.map((socket) => once(socket, "readable")));
  let isAnswered = false;
  const third = ask(id).then((response) => {
    isAnswered = true;
    return response;
  });
  expect((await ask(`${randomUUID()}:1`)).status).toBe(404);
  expect(isAnswered).toBe(false);
  for (const socket of idle) socket.destroy();
  expect((await third).status).toBe(200);
});

test("[D-07] a fetched chunk is kept, and the next one who wants it has it", async () => {
  const { id, handle } = await chunk(Buffer.alloc(50_000, "x"));
  const wanted = { chunk: id, token: TOKEN, ...handle, from: [holder()] };
  expect(await fetcher.fetch(wanted, NEVER)).toMatchObject({ bytes: 50_000, from: wanted.from[0]?.worker });
  expect((await here.read(id))?.bytes).toEqual(Buffer.alloc(50_000, "x"));
  await server.close(0);
  expect(await fetcher.fetch(wanted, NEVER)).toBeUndefined();
  expect(fetcher.moved).toBe(50_000);
});

test("[D-07] what several want at once comes once", async () => {
  let asked = 0;
  const { id, handle } = await chunk();
  const at = await another((request, response) => {
    asked++;
    setImmediate(
      () =>
        void ask((request.url ?? "").slice(8)).then(async (answer) => {
          response.writeHead(answer.status, Object.fromEntries(answer.headers));
          response.end(Buffer.from(await answer.arrayBuffer()));
        }),
    );
  });
  const wanted = { chunk: id, token: TOKEN, ...handle, from: [holder("w1", at)] };
  const moved = await Promise.all([1, 2, 3].map(() => fetcher.fetch(wanted, NEVER)));
  expect(moved.map((landed) => landed?.bytes)).toEqual([handle.bytes, undefined, undefined]);
  expect(asked).toBe(1);
});

test("[D-07] a holder that is gone, lies or breaks off is passed over for the next", async () => {
  const { id, handle } = await chunk(Buffer.from("the right ones"));
  const headers = {
    "x-orrery-kind": "bytes",
    "x-orrery-sha256": handle.sha256,
    "content-length": handle.bytes,
  };
  const asked: string[] = [];
  const says = (name: string, listener: RequestListener) =>
    another((request, response) => {
      asked.push(name);
      listener(request, response);
    });
  const from = [
    holder("dead", "http://127.0.0.1:1"),
    holder("gone", await says("gone", (_, response) => void response.writeHead(404).end())),
    holder(
      "liar",
      await says("liar", (_, response) => void response.writeHead(200, headers).end("the wrong ones")),
    ),
    holder(
      "cut",
      await says("cut", (_, response) => {
        response.writeHead(200, headers).write("the");
        setImmediate(() => response.destroy());
      }),
    ),
    holder("other", await says("other", (_, response) => void response.writeHead(200).end("<html>"))),
  ];
  await expect(fetcher.fetch({ chunk: id, token: TOKEN, ...handle, from }, NEVER)).rejects.toMatchObject({
    code: "input-missing",
    missing: from.map(({ worker }) => ({ chunk: id, worker })),
  });
  // Only who breaks off may do better.
  expect(asked.slice(0, 6)).toEqual(["gone", "liar", "cut", "other", "cut", "cut"]);
  expect(new Set(asked.slice(6))).toEqual(new Set(["cut"]));
  expect(here.ids()).toEqual([]);
  const all = [...from, holder()];
  const landed = await fetcher.fetch({ chunk: id, token: TOKEN, ...handle, from: all }, NEVER);
  expect(landed).toMatchObject({ bytes: handle.bytes, from: all.at(-1)?.worker });
  expect((await here.read(id))?.bytes.toString()).toBe("the right ones");
});

test("[D-07] a holder that sends more than there is, without end, is left", async () => {
  const { id, handle } = await chunk();
  const piece = Buffer.alloc(65_536);
  const endless = await another((_, response) => {
    response.writeHead(200, { "x-orrery-kind": "bytes", "x-orrery-sha256": handle.sha256 });
    const more = (): void => {
      while (response.write(piece));
      response.once("drain", more);
    };
    more();
  });
  const from = [holder("endless", endless), holder()];
  expect(await fetcher.fetch({ chunk: id, token: TOKEN, ...handle, from }, NEVER)).toMatchObject({
    from: "w1",
  });
  expect(here.counters.spilled).toBe(0);
});

test("[D-07] a holder that does not answer, or drips, is passed over for the next", async () => {
  const { id, handle } = await chunk(Buffer.alloc(90_000, "x"));
  const headers = {
    "x-orrery-kind": "bytes",
    "x-orrery-sha256": handle.sha256,
    "content-length": handle.bytes,
  };
  const silent = await another(() => {});
  const stuck = await another((_, response) => void response.writeHead(200, headers).write("x"));
  const dripping = await another((_, response) => {
    response.writeHead(200, headers);
    const drip = setInterval(() => response.write("x"), 10);
    response.once("close", () => clearInterval(drip));
  });
  const limits = { answerMs: 200, windowMs: 200, windowBytes: 1000 };
  const from = [holder("silent", silent), holder("stuck", stuck), holder("dripping", dripping)];
  const impatient = new Fetcher(here, 3, limits);
  const wanted = { chunk: id, token: TOKEN, ...handle };
  await expect(impatient.fetch({ ...wanted, from }, NEVER)).rejects.toThrow(
    /silent at http:\S+: no answer within 200 ms; stuck at \S+: it sends less than 1000 bytes in 200 ms; dripping at \S+: it sends less/,
  );
  const all = [...from, holder()];
  expect(await impatient.fetch({ ...wanted, from: all }, NEVER)).toMatchObject({ from: "w1" });
});

test("[D-07] a holder that is away for a moment is asked again, and one that stays away is named with its address", async () => {
  const { id, handle } = await chunk();
  const { port } = server;
  await server.close(0);
  const wanted = { chunk: id, token: TOKEN, ...handle };
  const away = fetcher.fetch({ ...wanted, from: [holder("w1", `http://127.0.0.1:${port}`)] }, NEVER);
  await sleep(900);
  server = await ChunkServer.listen(there, { host: "127.0.0.1", port });
  expect(await away).toMatchObject({ bytes: handle.bytes, from: "w1" });
  const never = { ...wanted, chunk: `${randomUUID()}:1`, from: [holder("dead", "http://127.0.0.1:1")] };
  await expect(fetcher.fetch(never, NEVER)).rejects.toThrow(
    /dead at http:\/\/127\.0\.0\.1:1: connect ECONNREFUSED.*--data-host and --data-url/,
  );
  const stop = new AbortController();
  const stopped = fetcher.fetch({ ...never, chunk: `${randomUUID()}:1` }, stop.signal);
  setTimeout(() => stop.abort(new Error("cancelled")), 50);
  await expect(stopped).rejects.toThrow("cancelled");
});

test("[D-07] who waits for one that is away leaves its place to others", async () => {
  const { id, handle } = await chunk();
  const narrow = new Fetcher(here, 1);
  const begunMs = performance.now();
  const dead = { chunk: `${randomUUID()}:1`, token: TOKEN, from: [holder("dead", "http://127.0.0.1:1")] };
  const away = narrow.fetch(dead, NEVER).catch((error: Error) => [error.name, performance.now() - begunMs]);
  expect(await narrow.fetch({ chunk: id, token: TOKEN, ...handle, from: [holder()] }, NEVER)).toBeDefined();
  const tookMs = performance.now() - begunMs;
  const [, awayMs] = (await away) as [string, number];
  expect(tookMs).toBeLessThan(awayMs);
});

test("[D-07] who is slow to take a chunk is not taken for a slow holder", async () => {
  const { id } = await chunk(Buffer.alloc(3_000_000, "x"));
  const limits = { answerMs: 5_000, windowMs: 100, windowBytes: 3_000_000 };
  const { body } = await requestChunk({
    url: url(),
    id,
    token: TOKEN,
    permits: () => true,
    signal: NEVER,
    limits,
  });
  let bytes = 0;
  for await (const piece of body) {
    if (bytes === 0) await sleep(300);
    bytes += piece.length;
  }
  expect(bytes).toBe(3_000_000);
});

test("[D-07] who waits too long for a place is told to come again", async () => {
  const busy = await ChunkServer.listen(there, { host: "127.0.0.1", port: 0, maxOut: 1, waitMs: 50 });
  const large = await chunk(Buffer.alloc(20_000_000, "large"));
  const { id } = await chunk();
  const at = `http://127.0.0.1:${busy.port}`;
  const first = await ask(large.id, TOKEN, at);
  expect((await ask(id, TOKEN, at)).status).toBe(503);
  await first.body?.cancel();
  const wanted = { chunk: id, token: TOKEN, from: [holder("w1", at)] };
  expect(await fetcher.fetch(wanted, NEVER)).toMatchObject({ from: "w1" });
  await busy.close(0);
});

test("[D-07] what a holder refuses is not read to its end", async () => {
  let isOpen = false;
  const at = await another((_, response) => {
    isOpen = true;
    const more = setInterval(() => response.write(Buffer.alloc(1_000)), 5);
    response.writeHead(404).once("close", () => {
      isOpen = false;
      clearInterval(more);
    });
  });
  const asked = requestChunk({ url: at, id: "a", token: TOKEN, permits: () => true, signal: NEVER });
  await expect(asked).rejects.toMatchObject({ why: "gone" });
  await expect.poll(() => isOpen).toBe(false);
});

test("[D-07] a holder that is busy is asked again", async () => {
  const { id, handle } = await chunk();
  let asked = 0;
  const at = await another((_, response) => {
    if (++asked < 4) return void response.writeHead(503).end();
    response.writeHead(200, { "x-orrery-kind": "bytes", "x-orrery-sha256": handle.sha256 }).end("some bytes");
  });
  const wanted = { chunk: id, token: TOKEN, ...handle, from: [holder("w1", at)] };
  expect(await fetcher.fetch(wanted, NEVER)).toMatchObject({ bytes: handle.bytes, from: "w1" });
});

test("[D-07] a transfer ends with the last who wanted it, and can begin anew", async () => {
  const { id, handle } = await chunk();
  const cut: unknown[] = [];
  let isAsked: () => void = () => {};
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve;
  });
  const at = await another((_, response) => {
    isAsked();
    response.once("close", () => cut.push(response));
  });
  const wanted = { chunk: id, token: TOKEN, ...handle, from: [holder("silent", at)] };
  const [first, second] = [new AbortController(), new AbortController()];
  const ends = [first, second].map(({ signal }) => fetcher.fetch(wanted, signal));
  const settled = Promise.allSettled(ends);
  await asked;
  first.abort(new Error("cancelled"));
  await expect(ends[0]).rejects.toThrow("cancelled");
  expect(cut).toEqual([]);
  second.abort(new Error("cancelled"));
  const again = fetcher.fetch({ ...wanted, from: [holder()] }, NEVER);
  await settled;
  await expect.poll(() => cut.length, { timeout: 30_000 }).toBe(1);
  expect(await again).toMatchObject({ bytes: handle.bytes });
});

test("[D-07] only so many come at once, the others in order", async () => {
  const open: (() => void)[] = [];
  const at = await another((_, response) => {
    open.push(() => void response.writeHead(404).end());
  });
  const ends = Array.from({ length: 5 }, () =>
    fetcher.fetch({ chunk: `${randomUUID()}:1`, token: TOKEN, from: [holder("w1", at)] }, NEVER),
  );
  const settled = Promise.allSettled(ends);
  await expect.poll(() => open.length, { timeout: 30_000 }).toBe(3);
  open[0]?.();
  await expect.poll(() => open.length, { timeout: 30_000 }).toBe(4);
  for (let at = 1; at < 5; at++) {
    await expect.poll(() => open.length, { timeout: 30_000 }).toBeGreaterThan(at);
    open[at]?.();
  }
  await settled;
});

test("a server that closes lets what it sends end, and takes nobody new", async () => {
  const { id } = await chunk(Buffer.alloc(40_000, "x"));
  const [at, response] = [url(), await ask(id)];
  const closed = server.close(60_000);
  expect((await response.arrayBuffer()).byteLength).toBe(40_000);
  await closed;
  await expect(ask(id, TOKEN, at)).rejects.toThrow();
});
