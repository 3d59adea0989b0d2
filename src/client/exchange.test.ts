import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { OrreryClient } from "./index.ts";

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

async function listening(listener: RequestListener): Promise<{ url: string; sockets: Set<Socket> }> {
  const sockets = new Set<Socket>();
  const server = createServer(listener).on("connection", (socket) => sockets.add(socket));
  servers.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sockets };
}

function clientOf(url: string, options: { readonly answerWithinMs?: number } = {}): OrreryClient {
  return new OrreryClient({ url, key: "k", agent: "ada", retryForMs: 0, ...options });
}

const TASK = { id: "t", status: "queued", payload: "Grüße" };

test("one request after the other goes over one connection, with its headers and all of its body", async () => {
  const seen: { method: string | undefined; agent: unknown; body: string }[] = [];
  const { url, sockets } = await listening((request, response) => {
    void text(request).then((body) => {
      seen.push({ method: request.method, agent: request.headers["x-agent-id"], body });
      response.end(JSON.stringify(TASK));
    });
  });
  const client = clientOf(url);
  for (let at = 0; at < 3; at++)
    expect(await client.submit({ task_type: "a", payload: { at, text: "Grüße" } })).toEqual(TASK);
  expect(await client.task("t")).toEqual(TASK);
  expect(seen.map(({ method, agent }) => [method, agent])).toEqual([
    ["POST", "ada"],
    ["POST", "ada"],
    ["POST", "ada"],
    ["GET", "ada"],
  ]);
  expect(JSON.parse(seen[2]?.body ?? "")).toMatchObject({ payload: { at: 2, text: "Grüße" } });
  expect(sockets.size).toBe(1);
});

test("an answer that breaks off in the middle is no answer", async () => {
  const { url } = await listening((_, response) => {
    response.writeHead(200, { "content-length": "1000" });
    response.write("{", () => response.socket?.destroy());
  });
  await expect(clientOf(url).task("t")).rejects.toMatchObject({ code: "broken", status: 0 });
});

test("a server that says nothing is given up when its time is over, and when the caller no longer wants it", async () => {
  const { url } = await listening(() => {});
  await expect(clientOf(url, { answerWithinMs: 50 }).task("t")).rejects.toMatchObject({ code: "no-answer" });
  const leaving = new AbortController();
  const asked = clientOf(url).task("t", { signal: leaving.signal });
  leaving.abort(new Error("enough"));
  await expect(asked).rejects.toThrow("enough");
});

test("a redirection is told, and nothing is sent twice", async () => {
  let requests = 0;
  const { url } = await listening((request, response) => {
    requests++;
    response.writeHead(308, { location: `https://there.test${request.url}` }).end();
  });
  await expect(clientOf(url).submit({ task_type: "a" })).rejects.toMatchObject({
    code: "redirected",
    detail: expect.stringContaining("sends requests on to https://there.test/"),
  });
  expect(requests).toBe(1);
});

test("an answer in another protocol is none, and a mark before the text is passed over", async () => {
  const { url } = await listening((request, response) => {
    if (request.method === "GET") response.end(`\uFEFF${JSON.stringify(TASK)}`);
    else
      response.socket?.end("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n");
  });
  expect(await clientOf(url).task("t")).toEqual(TASK);
  await expect(clientOf(url).submit({ task_type: "a" })).rejects.toMatchObject({ code: "broken" });
});

test("a connection that has been idle for long is not used again", { timeout: 30_000 }, async () => {
  const { url, sockets } = await listening((_, response) => response.end(JSON.stringify(TASK)));
  // It would keep it for ever.
  for (const server of servers) server.keepAliveTimeout = 0;
  await clientOf(url).task("t");
  const [socket] = sockets;
  await once(socket as Socket, "close");
  expect(await clientOf(url).task("t")).toEqual(TASK);
  expect(sockets.size).toBe(2);
});

test("what a server declines with is told, and when to come back", async () => {
  const { url } = await listening((_, response) => {
    response.writeHead(429, { "retry-after": "7", "x-request-id": "r1" });
    response.end(JSON.stringify({ code: "rate-limit", detail: "too fast" }));
  });
  await expect(clientOf(url).task("t")).rejects.toMatchObject({
    code: "rate-limit",
    status: 429,
    detail: "too fast",
    requestId: "r1",
    retryAfterMs: 7000,
  });
});
