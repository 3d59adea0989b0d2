// Workers whose results are not what they said, as those see it who get them from the server.

import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { graph, OrreryClient } from "../src/client/index.ts";
import { directoryWith, type Started, startOrrery } from "./cli.ts";
import { SERVER_KEY, type ServerProcess, startServerProcess } from "./server-process.ts";

const LENGTH = 50_000;
const NEXT = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged";

let cwd: string;
let server: ServerProcess;
let worker: Started;
let liar: Server;
let lie: (response: ServerResponse) => void;
/** Where the result is. */
let path: string;

beforeAll(async () => {
  cwd = await directoryWith({
    "tasks.mjs": `
      export const make = (length) => Buffer.alloc(length, "x");
      export const lengthOf = ({ length }) => length;`,
  });
  const sha256 = createHash("sha256").update(Buffer.alloc(LENGTH, "x")).digest("hex");
  const said = new Map(
    Object.entries({ "x-orrery-kind": "bytes", "x-orrery-sha256": sha256, "content-length": `${LENGTH}` }),
  );
  liar = createServer((_, response) => lie(response.setHeaders(said))).listen(0, "127.0.0.1");
  await once(liar, "listening");
  server = await startServerProcess(cwd, ["--store", "memory"]);
  const at = `http://127.0.0.1:${(liar.address() as AddressInfo).port}`;
  const args = ["worker", "--server", server.url, "--tasks", "tasks.mjs", "--quiet", "--data-url", at];
  worker = startOrrery(cwd, args, { ORRERY_API_KEY: SERVER_KEY });
  const client = new OrreryClient({ url: server.url, key: SERVER_KEY });
  const g = graph();
  const { run } = await client.start(g, g.task("make", LENGTH));
  expect(await client.waitForRun(run)).toMatchObject({ status: "completed" });
  path = `/api/v2/scheduler/runs/${run}/nodes/make-1/result`;
});

afterAll(async () => {
  for (const { child, finished } of [worker, server]) {
    child.kill("SIGTERM");
    await finished;
  }
  liar.closeAllConnections();
  liar.close();
});

/** All that comes on a connection until the server ends it. */
async function answered(): Promise<string> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${SERVER_KEY}\r\nConnection: close\r\n\r\n`,
  );
  let text = "";
  socket.setEncoding("latin1").on("data", (piece: string) => {
    text += piece;
  });
  await once(socket, "close");
  return text;
}

test("[D-07] nothing comes behind a result that its holder sends more of than it had said", async () => {
  lie = (response) => {
    response.removeHeader("content-length");
    response.write(Buffer.alloc(LENGTH, "x"));
    setTimeout(() => response.end(NEXT), 50);
  };
  expect(await answered()).not.toContain("forged");
});

test("[D-07] who waits for a result that its holder cuts short is not left waiting", async () => {
  lie = (response) => void response.end(Buffer.alloc(LENGTH / 2, "x"));
  expect(await answered()).toMatch(/^HTTP\/1.1 200 .*x$/s);
});

test("[D-07] a holder that has another chunk than was recorded, or cannot begin, gives none, and that is no bug", async () => {
  const lies: [lie: typeof lie, status: number, code: string][] = [
    [
      (response) => void response.setHeader("content-length", 2 * LENGTH).end(Buffer.alloc(2 * LENGTH, "x")),
      410,
      "result-lost",
    ],
    [
      (response) => void response.setHeader("x-orrery-sha256", "0".repeat(64)).end(Buffer.alloc(LENGTH, "y")),
      410,
      "result-lost",
    ],
    [
      (response) => {
        response.flushHeaders();
        response.destroy();
      },
      503,
      "unavailable",
    ],
  ];
  for (const [one, status, code] of lies) {
    lie = one;
    const answer = await fetch(`${server.url}${path}`, {
      headers: { authorization: `Bearer ${SERVER_KEY}` },
    });
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ code });
  }
});

test("[D-07] a holder that lies hides no other that has the result", async () => {
  lie = (response) => void response.end(Buffer.alloc(LENGTH, "x"));
  const args = ["worker", "--server", server.url, "--tasks", "tasks.mjs", "--quiet", "--executor", "other"];
  const honest = startOrrery(cwd, args, { ORRERY_API_KEY: SERVER_KEY });
  const client = new OrreryClient({ url: server.url, key: SERVER_KEY });
  const g = graph();
  const made = g.task("make", LENGTH);
  const { run } = await client.start(g, [made, g.with({ executor: "other" }).task("lengthOf", made)]);
  expect(await client.waitForRun(run)).toMatchObject({ status: "completed" });
  lie = (response) => void response.setHeader("content-length", LENGTH + 1).end(Buffer.alloc(LENGTH + 1));
  const { bytes } = await client.rawResult(run, "make-1");
  expect(bytes.equals(Buffer.alloc(LENGTH, "x"))).toBe(true);
  honest.child.kill("SIGTERM");
  await honest.finished;
});

test("[D-07] a holder that drips or does not answer is not waited for", async () => {
  lie = (response) => {
    // The next one gets no answer.
    lie = () => {};
    const drip = setInterval(() => response.write("x"), 500);
    response.once("close", () => clearInterval(drip));
  };
  const dripped = answered();
  await expect.poll(() => lie.length).toBe(0);
  const answer = await fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${SERVER_KEY}` } });
  expect(answer.status).toBe(503);
  expect(await dripped).toMatch(/^HTTP\/1.1 200 .*x$/s);
}, 60_000);

test("[D-07] a holder cannot send the server elsewhere", async () => {
  let isAsked = false;
  const inside = createServer((_, response) => {
    isAsked = true;
    response.end(Buffer.alloc(LENGTH, "s"));
  }).listen(0, "127.0.0.1");
  await once(inside, "listening");
  const location = `http://127.0.0.1:${(inside.address() as AddressInfo).port}/`;
  lie = (response) => void response.writeHead(302, { location }).end();
  const answer = await fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${SERVER_KEY}` } });
  expect(answer.status).toBe(410);
  expect(isAsked).toBe(false);
  inside.close();
});
