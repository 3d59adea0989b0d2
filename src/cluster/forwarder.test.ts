import { once } from "node:events";
import {
  createServer,
  get,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { Forwarder } from "./forwarder.ts";

const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

type Answer = (incoming: IncomingMessage, response: ServerResponse) => void;

async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  open.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

/** A leader, and a follower that forwards to it. */
async function pair(answer: Answer): Promise<{ port: number; leader: Server; forwarder: Forwarder }> {
  const leader = createServer(answer);
  const at = await listening(leader);
  const forwarder = new Forwarder({
    name: "bob",
    refuse: (response, why) => response.writeHead(503, { "x-why": why }).end(),
    refuseOnSocket: (socket, why) => socket.end(`HTTP/1.1 503 No\r\nx-why: ${why}\r\n\r\n`),
  });
  open.push(() => forwarder[Symbol.dispose]());
  forwarder.follow({ holder: "ada/1", url: `http://127.0.0.1:${at}` });
  const follower = createServer((incoming, response) => forwarder.forward(incoming, response));
  follower.on("upgrade", (incoming: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on("error", () => {});
    forwarder.forwardUpgrade(incoming, socket, head);
  });
  return { port: await listening(follower), leader, forwarder };
}

async function ask(port: number, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  const outgoing = get({ port, host: "127.0.0.1", path: "/a?b=%20", headers });
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
  return answer;
}

test("a request and its answer are handed on as they are, but for what concerns the connection", async () => {
  const { port } = await pair((incoming, response) => {
    const { method, url, headers } = incoming;
    response.writeHead(207, { "set-cookie": ["a", "b"], "x-own": "yes", "proxy-connection": "close" });
    void text(incoming).then((body) => response.end(JSON.stringify({ method, url, headers, body })));
  });
  const outgoing = request({
    port,
    host: "127.0.0.1",
    method: "PUT",
    path: "/x%2fy?q=%zz",
    headers: { authorization: "Bearer k", "x-agent-id": "a", te: "trailers", connection: "te, x-agent-id" },
  });
  outgoing.end("ünï");
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
  const seen = JSON.parse(await text(answer)) as Record<string, unknown>;
  expect(answer.statusCode).toBe(207);
  expect(answer.headers["set-cookie"]).toEqual(["a", "b"]);
  expect(answer.headers).toMatchObject({ "x-own": "yes" });
  expect(answer.headers["proxy-connection"]).toBeUndefined();
  expect(seen).toMatchObject({ method: "PUT", url: "/x%2fy?q=%zz", body: "ünï" });
  expect(seen["headers"]).toMatchObject({
    authorization: "Bearer k",
    "x-orrery-forwarded": "bob",
    "x-agent-id": "a",
  });
  expect(seen["headers"]).not.toHaveProperty("te");
});

test("what has no body arrives without one", async () => {
  const { port } = await pair(({ headers }, response) => response.end(JSON.stringify(headers)));
  const outgoing = request({ port, host: "127.0.0.1", method: "POST" });
  outgoing.setHeader("content-length", "0");
  outgoing.removeHeader("content-length");
  outgoing.useChunkedEncodingByDefault = false;
  outgoing.end();
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
  const headers = JSON.parse(await text(answer)) as Record<string, string>;
  expect(headers["transfer-encoding"]).toBeUndefined();
  expect(headers["content-length"]).toBe("0");
});

test("bodies flow both ways at the same time", async () => {
  const { port } = await pair((incoming, response) => {
    incoming.setEncoding("utf8");
    incoming.on("data", (part: string) => response.write(part.toUpperCase()));
    incoming.on("end", () => response.end());
  });
  const outgoing = request({ port, host: "127.0.0.1", method: "POST" });
  outgoing.write("one");
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
  answer.setEncoding("utf8");
  const heard = async () => ((await once(answer, "data")) as [string])[0];
  expect(await heard()).toBe("ONE");
  outgoing.write("two");
  expect(await heard()).toBe("TWO");
  outgoing.end();
  await once(answer, "end");
});

test("a client that goes is gone for the leader too", async () => {
  let isGone: Promise<unknown> | undefined;
  const { port } = await pair((_, response) => {
    isGone = once(response, "close");
    response.write("data: 1\n\n");
  });
  const answer = await ask(port);
  await once(answer, "data");
  answer.destroy();
  await isGone;
});

test("a leader that dies before it answers is no leader; amid an answer, the answer breaks off", async () => {
  const { port } = await pair((incoming, response) => {
    if (incoming.headers["x-late"]) response.write("begun");
    setImmediate(() => incoming.socket.destroy());
  });
  const early = await ask(port);
  expect([early.statusCode, early.headers["x-why"]]).toEqual([503, "ada/1 did not answer"]);
  const late = await ask(port, { "x-late": "1" });
  expect(late.statusCode).toBe(200);
  await expect(text(late)).rejects.toThrow();
});

test("nobody is asked where nobody leads, where nobody listens, or in a circle", async () => {
  const { port, forwarder, leader } = await pair((_, response) => response.end());
  const circle = await ask(port, { "x-orrery-forwarded": "eve" });
  expect(circle.headers["x-why"]).toBe("this server does not lead; eve thought so");
  forwarder.follow({ holder: "", url: "" });
  expect((await ask(port)).headers["x-why"]).toBe("no server leads at this moment");
  forwarder.follow({ holder: "process 7", url: "" });
  expect((await ask(port)).headers["x-why"]).toBe("process 7 leads, and takes no requests");
  const { port: gone } = leader.address() as AddressInfo;
  leader.close();
  await once(leader, "close");
  forwarder.follow({ holder: "ada/2", url: `http://127.0.0.1:${gone}` });
  expect((await ask(port)).statusCode).toBe(503);
});

test("what another leader was asked is given up when the leader changes", async () => {
  let asked = () => {};
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const { port, forwarder } = await pair(() => asked());
  const answer = ask(port);
  await isAsked;
  forwarder.follow({ holder: "eve/1", url: "http://127.0.0.1:1" });
  expect((await answer).statusCode).toBe(503);
});

test("an early refusal of a large body reaches the client", async () => {
  const { port } = await pair((incoming, response) => {
    response.writeHead(413).end("too large");
    incoming.on("error", () => {});
  });
  const outgoing = request({ port, host: "127.0.0.1", method: "POST" });
  outgoing.on("error", () => {});
  outgoing.write(Buffer.alloc(1 << 20));
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
  expect([answer.statusCode, await text(answer)]).toEqual([413, "too large"]);
  outgoing.destroy();
});

const UPGRADE = "GET /w HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

async function dial(port: number): Promise<{ socket: Socket; heard: (expected: RegExp) => Promise<void> }> {
  const socket = connect(port, "127.0.0.1");
  let all = "";
  socket.setEncoding("utf8");
  socket.on("data", (part: string) => {
    all += part;
  });
  socket.on("error", () => {});
  await once(socket, "connect");
  return { socket, heard: (expected) => expect.poll(() => all, { timeout: 10_000 }).toMatch(expected) };
}

test("a WebSocket is handed on in both directions, and ends on both sides", async () => {
  const { port, leader } = await pair((_, response) => response.end());
  let far: Socket | undefined;
  leader.on("upgrade", (_incoming: IncomingMessage, socket: Socket) => {
    far = socket;
    socket.on("error", () => {});
    socket.write("HTTP/1.1 101 Yes\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Is: it\r\n\r\nhello ");
    socket.on("data", (data) => socket.write(`<${String(data)}>`));
  });
  const { socket, heard } = await dial(port);
  socket.write(`${UPGRADE}first`);
  await heard(/^HTTP\/1\.1 101 Yes\r\n(.|\r\n)*X-Is: it\r\n(.|\r\n)*\r\n\r\nhello <first>$/);
  socket.write(" second");
  await heard(/< second>$/);
  far?.destroy();
  await once(socket, "close");
});

test("a refused WebSocket is refused with the leader's words; without a leader with ours", async () => {
  const { port, leader, forwarder } = await pair((_, response) => response.end());
  leader.on("upgrade", (_incoming: IncomingMessage, socket: Socket) => {
    socket.end("HTTP/1.1 401 Who\r\nContent-Length: 3\r\n\r\nno!");
  });
  const first = await dial(port);
  first.socket.write(UPGRADE);
  await first.heard(/^HTTP\/1\.1 401 Who\r\n(.|\r\n)*\r\n\r\nno!$/);
  forwarder.follow({ holder: "", url: "" });
  const second = await dial(port);
  second.socket.write(UPGRADE);
  await second.heard(/^HTTP\/1\.1 503 /);
});
