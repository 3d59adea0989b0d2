import { IncomingMessage, type Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { newId } from "../../store/index.ts";
import { formatBytes } from "../../words/index.ts";
import { endFor, refuseOnSocket } from "./connections.ts";
import { Problem } from "./problems.ts";
import { LARGEST_BODY, REQUEST_TIMEOUT_MS } from "./route.ts";

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
  if (Number(request.headers["content-length"] ?? 0) > LARGEST_BODY) {
    const most = formatBytes(LARGEST_BODY);
    const detail = `the body is larger than ${most}, the most that any route accepts`;
    refuseOnSocket(socket, new Problem("too-large", detail), newId());
    return;
  }
  const plain = unread(request, socket);
  const response = new ServerResponse(plain);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  feedBody(plain, response, socket, head, (problem) => {
    if (response.headersSent) socket.destroy();
    else refuseOnSocket(socket, problem, newId());
  });
  response.on("finish", () => endFor(socket));
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
  response: ServerResponse,
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
    // The stream is full: its reader asks for more by `_read`.
    if (part.length > 0 && !request.push(part) && missing > 0) socket.pause();
    if (missing > 0) return;
    stop();
    request.complete = true;
    request.push(null);
  };
  let isOver = false;
  const stop = (): void => {
    isOver = true;
    clearTimeout(timer);
    socket.off("data", take);
  };
  request._read = () => {
    if (!isOver) socket.resume();
  };
  // Once the request is answered, nobody reads the rest of its body.
  response.on("finish", stop);
  socket.on("data", take);
  socket.on("end", () => {
    if (!request.complete && !response.writableEnded)
      refuse(new Problem("malformed", "the request ended before it was whole"));
  });
  socket.on("close", () => {
    stop();
    request.destroy();
  });
  take(head);
}
