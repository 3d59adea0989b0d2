import { connect, type Socket } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exchange, problemFault } from "./raw-http.ts";
import { ADMIN_KEY, TestService } from "./service.ts";

const CLASSIFY = "POST /api/v2/scheduler/classify HTTP/1.1\r\n";
const KEY = `host: x\r\nauthorization: Bearer ${ADMIN_KEY}\r\ncontent-type: application/json\r\n`;
const LIVEZ = "GET /livez HTTP/1.1\r\nhost: x\r\n\r\n";
const chunked = (text: string) => `${CLASSIFY}${KEY}transfer-encoding: chunked\r\n\r\n${text}`;
const upgrade = (path: string, more = "", method = "GET") =>
  `${method} ${path} HTTP/1.1\r\n${KEY}connection: upgrade\r\nupgrade: websocket\r\n${more}\r\n`;
const WS_KEY = "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

let service: TestService;
let port: number;
let slow: readonly Promise<number>[];
beforeAll(async () => {
  service = await TestService.start("memory");
  ({ port } = service.server);
  // They take their time beside the other tests.
  slow = Array.from({ length: 50 }, () => heldOpenFor("GET /livez HTTP/1.1\r\nhost: x\r\n", "a: b\r\n"));
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
});

/** Sends a little more every while, and says for how many seconds it was let. */
function heldOpenFor(begin: string, more: string): Promise<number> {
  const socket = connect(port, "127.0.0.1");
  const began = performance.now();
  socket.write(begin);
  const trickle = setInterval(() => socket.write(more), 500);
  socket.on("error", () => {});
  socket.resume();
  return new Promise((resolve) => {
    socket.on("close", () => {
      clearInterval(trickle);
      resolve((performance.now() - began) / 1000);
    });
  });
}

const REFUSED: Readonly<Record<string, readonly [status: number, bytes: string]>> = {
  "no HTTP": [400, "nonsense\r\n\r\n"],
  TLS: [400, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
  "HTTP/2": [400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  "an unknown method": [400, "FOO / HTTP/1.1\r\nhost: x\r\n\r\n"],
  "no Host": [400, "GET /livez HTTP/1.1\r\n\r\n"],
  "two Hosts": [400, "GET /livez HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n"],
  "a WebSocket with two Hosts": [400, upgrade("/worker/connect", "host: y\r\n")],
  "an expectation": [417, "GET /livez HTTP/1.1\r\nhost: x\r\nexpect: a-unicorn\r\nconnection: close\r\n\r\n"],
  "a tunnel": [405, "CONNECT a:1 HTTP/1.1\r\nhost: x\r\n\r\n"],
  "two Content-Lengths": [400, `${CLASSIFY}${KEY}content-length: 2\r\ncontent-length: 3\r\n\r\n{} `],
  "a length and chunks": [
    400,
    `${CLASSIFY}${KEY}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  "chunks and a length": [
    400,
    `${CLASSIFY}${KEY}transfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n0\r\n\r\n`,
  ],
  "an unknown coding": [400, `${CLASSIFY}${KEY}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n`],
  "two codings": [400, `${CLASSIFY}${KEY}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  "coding hidden by a tab": [400, `${CLASSIFY}${KEY}transfer-encoding:\tchunked, identity\r\n\r\n0\r\n\r\n`],
  "a chunk of no size": [400, chunked("zz\r\n{}\r\n0\r\n\r\n")],
  "a chunk of -1": [400, chunked("-1\r\n{}\r\n0\r\n\r\n")],
  "a chunk that is larger than any": [400, chunked("fffffffffffffffff\r\n{}\r\n0\r\n\r\n")],
  "a chunk that is longer than it says": [400, chunked("1\r\n{}\r\n0\r\n\r\n")],
  "extensions of a chunk": [413, chunked(`2;${"a".repeat(20_000)}\r\n{}\r\n0\r\n\r\n`)],
  "a negative length": [400, `${CLASSIFY}${KEY}content-length: -1\r\n\r\n`],
  "a length beyond numbers": [400, `${CLASSIFY}${KEY}content-length: ${"9".repeat(40)}\r\n\r\n`],
  "a length beyond the limit": [413, `${CLASSIFY}${KEY}content-length: 999999999\r\n\r\n{`],
  "lines without CR": [400, "GET /livez HTTP/1.1\nhost: x\n\n"],
  "a folded header": [400, "GET /livez HTTP/1.1\r\nhost: x\r\na: b\r\n c\r\n\r\n"],
  "NUL in a header": [400, "GET /livez HTTP/1.1\r\nhost: x\r\na: b\0c\r\n\r\n"],
  "a space behind a name": [400, "GET /livez HTTP/1.1\r\nhost : x\r\n\r\n"],
  "a flood of headers": [431, `GET /livez HTTP/1.1\r\nhost: x\r\n${"a: b\r\n".repeat(20_000)}\r\n`],
  "a long path": [431, `GET /${"a".repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`],
  "a path of no ASCII": [400, "GET /\xf6 HTTP/1.1\r\nhost: x\r\n\r\n"],
  "a WebSocket elsewhere": [404, upgrade("/elsewhere", WS_KEY)],
  "a WebSocket without its key": [400, upgrade("/worker/connect", "sec-websocket-version: 13\r\n")],
  "a WebSocket of another version": [
    400,
    upgrade("/worker/connect", `${WS_KEY}sec-websocket-version: 99\r\n`),
  ],
  "a WebSocket by POST": [405, upgrade("/worker/connect", `${WS_KEY}content-length: 0\r\n`, "POST")],
};

test.each(Object.entries(REFUSED))(
  "%s is answered by a problem, and the connection closed",
  async (_what, [status, bytes]) => {
    const { answers, isClosed } = await exchange(port, bytes);
    const got = answers();
    expect([got.map((one) => one.status), got.map(problemFault)]).toEqual([[status], [undefined]]);
    expect(isClosed).toBe(true);
  },
);

test("whoever was refused and does not go is cut off", async () => {
  const all = Object.entries(REFUSED).map(async ([what, [, bytes]]) => ({
    what,
    ...(await exchange(port, bytes, { lingers: true })),
  }));
  expect((await Promise.all(all)).filter(({ isClosed }) => !isClosed)).toEqual([]);
});

describe("a body that is not whole", () => {
  const CUT: Readonly<Record<string, string>> = {
    "by its length": `${CLASSIFY}${KEY}content-length: 50\r\n\r\n{`,
    "in chunks": chunked("5\r\n{"),
    "beside an offer of another protocol": `${CLASSIFY}${KEY}connection: upgrade\r\nupgrade: h2c\r\ncontent-length: 50\r\n\r\n{`,
  };
  test.each(Object.entries(CUT))("%s is refused when no more comes", async (_what, bytes) => {
    const { answers, isClosed } = await exchange(port, bytes, { ends: true, lingers: true });
    const got = answers();
    expect([got.map((one) => one.status), got.map(problemFault), isClosed]).toEqual([
      [400],
      [undefined],
      true,
    ]);
  });
});

test("a packed body is refused before it is unpacked", async () => {
  const { answers } = await exchange(
    port,
    `${CLASSIFY}${KEY}connection: close\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}`,
  );
  expect(answers().map(({ status }) => status)).toEqual([415]);
});

describe("requests behind each other on one connection", () => {
  test("are answered in order, however they are cut", async () => {
    const text = LIVEZ.repeat(20) + LIVEZ.replace("host", "connection: close\r\nhost");
    const { answers } = await exchange(
      port,
      [...text].map((_, at) => text.slice(at, at + 1)),
    );
    expect(answers().map(({ status }) => status)).toEqual(new Array(21).fill(200));
  });

  test("are answered before the nonsense behind them is", async () => {
    const body = JSON.stringify({ executor: "nobody", task_type: "t" });
    const submit = `POST /api/v2/scheduler/submit HTTP/1.1\r\n${KEY}content-length: ${body.length}\r\n\r\n${body}`;
    for (const ends of [false, true]) {
      const { answers, isClosed } = await exchange(port, `${LIVEZ}${submit}${submit}nonsense\r\n\r\n`, {
        ends,
      });
      expect([answers().map(({ status }) => status), isClosed]).toEqual([[200, 201, 201, 400], true]);
    }
  });
});

/** Something small that makes bytes wrong. */
const damaged = fc
  .tuple(
    fc.constantFrom(
      ...Object.values(REFUSED).map(([, bytes]) => bytes),
      LIVEZ,
      chunked("2\r\n{}\r\n0\r\n\r\n"),
    ),
    fc.nat(300),
    fc.constantFrom("", "\0", "\r", "\n", "\r\n", " ", ":", "\xff", "0", "a".repeat(100), LIVEZ),
    fc.nat(20),
    fc.boolean(),
  )
  .map(([bytes, at, put, dropped, cuts]) => {
    const place = at % bytes.length;
    const head = bytes.slice(0, place) + put;
    return cuts ? head : head + bytes.slice(place + dropped);
  });

test("whatever bytes come, the connection ends and others are served", async () => {
  const seed = Number(process.env["FUZZ_SEED"] ?? 4711);
  const count = process.env["FUZZ"] === "long" ? 20_000 : 1000;
  const all = fc.sample(damaged, { numRuns: count, seed });
  for (let at = 0; at < all.length; at += 50) {
    const batch = all.slice(at, at + 50);
    const sent = Promise.all(
      batch.map(async (bytes) => ({ bytes, got: await exchange(port, bytes, { ends: true }) })),
    );
    expect((await fetch(`${service.server.url}/livez`)).status).toBe(200);
    for (const { bytes, got } of await sent) {
      const faults = got.isClosed ? [] : ["is still open"];
      for (const answer of got.answers())
        if (answer.status >= 400) faults.push(problemFault(answer) ?? "", answer.status >= 500 ? "5xx" : "");
      expect(
        faults.filter((fault) => fault !== ""),
        `seed ${seed}: ${JSON.stringify(bytes)}`,
      ).toEqual([]);
    }
  }
}, 600_000);

test("thousands of connections that say nothing, or stop in the middle, leave others served", async () => {
  const idle: Socket[] = [];
  for (let n = 0; n < 2000; n++) {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    idle.push(socket);
    if (n % 2 === 0) socket.write(LIVEZ.slice(0, n % LIVEZ.length));
    if (n % 100 === 0) expect((await fetch(`${service.server.url}/livez`)).status).toBe(200);
  }
  const { status } = await service.submit();
  expect(status).toBe(201);
  for (const socket of idle) socket.destroy();
});

test("headers that come a line at a time are waited for no longer than their limit", async () => {
  // 10 s, looked at every second; a busy machine may be late.
  const seconds = await Promise.all(slow);
  expect(Math.min(...seconds)).toBeGreaterThan(9);
  expect(Math.max(...seconds)).toBeLessThan(25);
});
