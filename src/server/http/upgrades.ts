import { IncomingMessage, type Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { newId } from "../../store/index.ts";
import { endFor, refuseOnSocket } from "./connections.ts";
import { Problem } from "./problems.ts";
import { REQUEST_TIMEOUT_MS } from "./route.ts";

/**
 * Answers a request that offers to change to a protocol that is not spoken here, as if it had not offered: Java's
 * client does so with every first request (`Upgrade: h2c`), and a server may ignore it. Node cannot: with a listener
 * for WebSockets all upgrades go there, the body unread. So it is read here, and the connection closed after it.
 */
export function answerWithoutUpgrade(
  server: Server,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): void {
  if (request.headers["transfer-encoding"] !== undefined) {
    refuseOnSocket(
      socket,
      new Problem("malformed", "send the body with Content-Length, or without Upgrade"),
      newId(),
    );
    return;
  }
  const plain = unread(request, socket);
  const response = new ServerResponse(plain);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.on("finish", () => endFor(socket));
  feedBody(plain, socket, head, (problem) => {
    if (response.headersSent) socket.destroy();
    else refuseOnSocket(socket, problem, newId());
  });
  server.emit("request", plain, response);
}

/** The same request with its body still to come; Node has ended the one that it handed over. */
function unread(request: IncomingMessage, socket: Socket): IncomingMessage {
  const { method, url, headers, rawHeaders, httpVersion, httpVersionMajor, httpVersionMinor } = request;
  const head = { method, url, headers, rawHeaders, httpVersion, httpVersionMajor, httpVersionMinor };
  return Object.assign(new IncomingMessage(socket), head);
}

function feedBody(
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
  refuse: (problem: Problem) => void,
): void {
  let missing = Number(request.headers["content-length"] ?? 0);
  // Node times only what its own parser reads.
  const timer = setTimeout(
    () => refuse(new Problem("request-timeout", "the request did not arrive in time")),
    REQUEST_TIMEOUT_MS,
  ).unref();
  const take = (chunk: Buffer): void => {
    const part = chunk.subarray(0, missing);
    missing -= part.length;
    if (part.length > 0) request.push(part);
    if (missing > 0) return;
    clearTimeout(timer);
    socket.off("data", take);
    request.complete = true;
    request.push(null);
  };
  socket.on("data", take);
  socket.on("end", () => {
    if (!request.complete) refuse(new Problem("malformed", "the request ended before it was whole"));
  });
  socket.on("close", () => {
    clearTimeout(timer);
    request.destroy();
  });
  take(head);
}
