import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { documentOf, Problem, type ProblemCode, problemOf } from "./problems.ts";

const TYPE = "application/problem+json; charset=utf-8";

/** Answers every failure in one form, and says in the log what is not the client's doing. */
export function useProblems(app: FastifyInstance): void {
  const routes: { readonly pattern: RegExp; readonly method: string }[] = [];
  app.addHook("onRoute", ({ url, method }) => {
    for (const one of [method].flat()) routes.push({ pattern: patternOf(url), method: one });
  });
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply));
  app.setNotFoundHandler((request, reply) => {
    const [path = ""] = request.url.split("?");
    const allowed = new Set(routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method));
    const problem =
      allowed.size === 0
        ? new Problem("not-found", "there is nothing here; /docs lists what there is")
        : new Problem("method-not-allowed", `use ${[...allowed].join(" or ")}`, {
            headers: { allow: [...allowed].join(", ") },
          });
    return sendProblem(problem, request, reply);
  });
}

export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const problem = problemOf(error);
  if (problem.code === "bug") request.log.error({ err: problem.cause }, "a request ran into a bug");
  else if (problem.code === "unavailable" && problem.cause)
    request.log.warn({ err: problem.cause }, "the store failed");
  return reply
    .code(problem.statusCode)
    .headers(problem.headers)
    .type(TYPE)
    .serializer(JSON.stringify)
    .send(documentOf(problem, request.id));
}

const CLIENT_ERRORS: ReadonlyMap<string, readonly [ProblemCode, string]> = new Map([
  ["HPE_HEADER_OVERFLOW", ["headers-too-large", "the headers are larger than this server takes"]],
  ["ERR_HTTP_REQUEST_TIMEOUT", ["request-timeout", "the request did not arrive in time"]],
] as const);

/** What is not even HTTP never becomes a request; it is answered on the socket. */
export function answerOnSocket(error: { readonly code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable || socket.destroyed) return;
  const [code, detail] = CLIENT_ERRORS.get(error.code ?? "") ?? ["malformed", "this is not HTTP"];
  refuseOnSocket(socket, new Problem(code, detail), "");
}

/** Answers a request that no route has seen. */
export function refuseWith(response: ServerResponse, problem: Problem, requestId: string): void {
  const body = JSON.stringify(documentOf(problem, requestId));
  response.writeHead(problem.statusCode, {
    ...problem.headers,
    "content-type": TYPE,
    "content-length": Buffer.byteLength(body),
    "x-request-id": requestId,
  });
  response.end(body);
}

/** Ends a connection with an answer, where there is no reply to send. */
export function refuseOnSocket(socket: Socket, problem: Problem, requestId: string): void {
  const body = JSON.stringify(documentOf(problem, requestId));
  const headers = {
    ...problem.headers,
    "content-type": TYPE,
    "content-length": String(Buffer.byteLength(body)),
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${problem.statusCode} ${problem.code}\r\n${lines.join("")}\r\n${body}`);
}

function patternOf(url: string): RegExp {
  const steps = url
    .split("/")
    .map((step) => (step.startsWith(":") ? "[^/]+" : step.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")));
  return new RegExp(`^${steps.join("/")}$`);
}
