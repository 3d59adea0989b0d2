import { IncomingMessage, type Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { refuseOnSocket } from "./errors.ts";
import { Problem } from "./problems.ts";

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
      "",
    );
    return;
  }
  const plain = unread(request, socket);
  const response = new ServerResponse(plain);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.on("finish", () => socket.end());
  feedBody(plain, socket, head);
  server.emit("request", plain, response);
}

/** The same request with its body still to come; Node has ended the one that it handed over. */
function unread(request: IncomingMessage, socket: Socket): IncomingMessage {
  const { method, url, headers, rawHeaders, httpVersion, httpVersionMajor, httpVersionMinor } = request;
  const head = { method, url, headers, rawHeaders, httpVersion, httpVersionMajor, httpVersionMinor };
  return Object.assign(new IncomingMessage(socket), head);
}

function feedBody(request: IncomingMessage, socket: Socket, head: Buffer): void {
  let missing = Number(request.headers["content-length"] ?? 0);
  const take = (chunk: Buffer): void => {
    const part = chunk.subarray(0, missing);
    missing -= part.length;
    if (part.length > 0) request.push(part);
    if (missing > 0) return;
    socket.off("data", take);
    request.complete = true;
    request.push(null);
  };
  socket.on("data", take);
  socket.on("close", () => request.destroy());
  take(head);
}
