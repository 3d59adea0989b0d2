import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
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
  const { url, sockets } = await listening(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    seen.push({ method: request.method, agent: request.headers["x-agent-id"], body });
    response.end(JSON.stringify(TASK));
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

test("a redirection is followed, with the body", async () => {
  const { url } = await listening(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    if (request.url?.startsWith("/old/"))
      response.writeHead(308, { location: request.url.replace("/old", "") }).end();
    else response.end(JSON.stringify({ ...TASK, payload: (JSON.parse(body) as typeof TASK).payload }));
  });
  const payload = { at: 7 };
  expect(await clientOf(`${url}/old`).submit({ task_type: "a", payload })).toMatchObject({ payload });
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
