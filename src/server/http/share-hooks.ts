import type { IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";
import { leaveUnread } from "./connections.ts";
import { PROBLEM_TYPE } from "./errors.ts";
import { LARGE_BODY } from "./limits.ts";
import { documentOf } from "./problems.ts";
import type { App } from "./route.ts";
import type { Shares } from "./shares.ts";

/** An answer of at least this many characters is counted until it is read. A connection holds one smaller one at most. */
const LARGE_ANSWER = 16 * 1024;
/** Time of the main thread that it takes to make and write an answer, in ms per character. */
const ANSWER_MS = 1e-5;

/** Charges each request to the key that makes it, and refuses it before its body is read if the key is over a limit. */
export function useShares(app: App, shares: Shares): void {
  app.decorateRequest("share", null);
  app.addHook("onRequest", (request, reply, done) => {
    if (!request.identity) return done();
    const share = shares.of(request.identity.key.id);
    request.share = share;
    const problem = share.refusal();
    if (problem) return done(problem);
    const length = declaredLength(request);
    share.bytes.take(length);
    done(length >= LARGE_BODY ? share.holdBody(length, reply.raw) : undefined);
  });
  app.addHook("onSend", (request, reply, payload, done) => {
    if (reply.statusCode >= 400 && hasLargeRest(request.raw)) {
      reply.header("connection", "close");
      leaveUnread(request.raw);
    }
    const { share } = request;
    const length = typeof payload === "string" || Buffer.isBuffer(payload) ? payload.length : 0;
    if (!share || length < LARGE_ANSWER) return done(null, payload);
    share.bytes.take(length);
    share.work.take(length * ANSWER_MS);
    const problem = share.holdAnswer(length, reply.raw);
    if (!problem) return done(null, payload);
    reply.code(problem.statusCode).headers(problem.headers).type(PROBLEM_TYPE);
    done(null, JSON.stringify(documentOf(problem, request.id)));
  });
  app.addHook("onClose", async () => shares[Symbol.dispose]());
}

/** A body without a length counts as large as its route allows. */
function declaredLength({ headers, routeOptions }: FastifyRequest): number {
  const { bodyLimit = 0 } = routeOptions;
  if (headers["transfer-encoding"] !== undefined) return bodyLimit;
  const length = headers["content-length"];
  // A body that is larger than its route allows is refused without being read.
  return length === undefined || Number(length) > bodyLimit ? 0 : Number(length);
}

function hasLargeRest({ headers, complete }: IncomingMessage): boolean {
  if (complete) return false;
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) >= LARGE_BODY;
}
