import type { IncomingMessage, Server, ServerOptions, ServerResponse } from "node:http";
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { newId } from "../../store/index.ts";
import { PROBLEM_TYPE, refuseWith } from "./errors.ts";
import { documentOf, Problem, type ProblemCode } from "./problems.ts";
import { REQUEST_TIMEOUT_MS } from "./route.ts";

const HEADERS_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 65_000;
/** Grace period, in ms, for a refused client to read the answer and to close its connection. */
const LINGER_MS = 2_000;
/** Bytes of a refused request that are still read. */
const LINGER_BYTES = 1024 * 1024;

export const CONNECTION_OPTIONS: ServerOptions = {
  // Node would answer a request without Host by itself, and say nothing; see `misframed`.
  requireHostHeader: false,
  // By default it looks every 30 s for those that are too slow, whatever the time-outs are.
  connectionsCheckingInterval: 1000,
};

/** What is true of every connection, whoever answers. */
export function limitConnections(server: Server): void {
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  // Node drops the headers after the first 2,000 by default, and the header that frames the body may be among them. The
  // limit on their bytes remains.
  server.maxHeadersCount = 0;
}

/** Answers in our form what Node would refuse by itself, with nothing or without a word. */
export function refuseOddRequests(server: Server): void {
  server.on("clientError", answerOnSocket);
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    request.resume();
    refuseWith(response, new Problem("expectation", "only 100-continue can be expected"), newId());
  });
  server.on("connect", (_: IncomingMessage, socket: Socket) => {
    socket.on("error", () => socket.destroy());
    const problem = new Problem("method-not-allowed", "this is no proxy", { headers: { allow: "GET" } });
    refuseOnSocket(socket, problem, newId());
  });
}

interface ClientError extends Error {
  readonly code?: string;
  /** Of the parser, in words. */
  readonly reason?: string;
}

const CLIENT_ERRORS: ReadonlyMap<string, readonly [ProblemCode, string]> = new Map([
  ["HPE_HEADER_OVERFLOW", ["headers-too-large", "the headers are larger than this server takes"]],
  ["HPE_CHUNK_EXTENSIONS_OVERFLOW", ["too-large", "the extensions of a chunk are too large"]],
  ["ERR_HTTP_REQUEST_TIMEOUT", ["request-timeout", "the request did not arrive in time"]],
  ["HPE_INVALID_EOF_STATE", ["malformed", "the request ended before it was whole"]],
] as const);

/** Connections that are told what was wrong once what came before it is answered. */
const waiting = new WeakSet<Socket>();

/** What is not even HTTP never becomes a request; it is answered on the socket. */
export function answerOnSocket(error: ClientError, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable || socket.destroyed || waiting.has(socket)) return;
  const answer = answerUnderWay(socket);
  // A request that came whole before the nonsense has an answer of its own, which must not be ours.
  if (answer?.req.complete) {
    waiting.add(socket);
    answer.once("close", () => {
      waiting.delete(socket);
      answerOnSocket(error, socket);
    });
    return;
  }
  if (answer?.headersSent) {
    socket.destroy();
    return;
  }
  const [code, detail] = CLIENT_ERRORS.get(error.code ?? "") ?? ["malformed", whyNotHttp(error)];
  refuseOnSocket(socket, new Problem(code, detail), newId());
}

function whyNotHttp({ reason }: ClientError): string {
  return reason === undefined ? "this is not HTTP" : `this is not HTTP: ${reason}`;
}

/** Where Node keeps it for its own handler of such errors, which has to know the same. */
function answerUnderWay(socket: Socket): ServerResponse | undefined {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
}

/** Ends a connection with an answer, where there is no reply to send. */
export function refuseOnSocket(socket: Socket, problem: Problem, requestId: string): void {
  const body = JSON.stringify(documentOf(problem, requestId));
  const headers = {
    ...problem.headers,
    "content-type": PROBLEM_TYPE,
    "content-length": String(Buffer.byteLength(body)),
    "x-request-id": requestId,
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const { statusCode } = problem;
  socket.write(`HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode]}\r\n${lines.join("")}\r\n${body}`);
  endFor(socket);
}

/** Ends our side of the connection, and closes it after a grace period. */
export function endFor(socket: Socket): void {
  socket.end();
  // The rest of a request is read and dropped, so that its sender gets to reading the answer. A sender that goes on
  // without end is no longer read: dropping its bytes would keep this thread busy.
  let left = LINGER_BYTES;
  socket.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) socket.pause();
  });
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once("close", () => clearTimeout(timer));
}

/** Call before a request is refused: its body is not read any further, and the connection closes after the answer. */
export function leaveUnread({ socket }: IncomingMessage): void {
  // Node would destroy the socket at once, which takes the answer away from a client that is still sending.
  socket.destroySoon = () => endFor(socket);
}
