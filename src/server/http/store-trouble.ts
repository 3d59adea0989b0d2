import type { FastifyReply, FastifyRequest } from "fastify";
import type { OpenRequests } from "./open-requests.ts";
import { Problem } from "./problems.ts";
import type { App, Health } from "./route.ts";

/** Interval, in ms, at which waiting requests are looked at. */
const LOOK_MS = 250;
/** Time, in ms, after which a request without an answer is refused while the store is in trouble. */
const REFUSE_AFTER_MS = 1_000;
const READS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Answers callers within two seconds while the store is in trouble:
 * - Requests that change something are refused at once, so that they do not pile up in memory and take effect later.
 * - Reads are tried, because many need no store. A read that has no answer after a second is refused.
 *
 * Requests of workers may wait: workers repeat a report until it is answered, and refusing it would only make them
 * connect again.
 */
export function useStoreTrouble(app: App, open: OpenRequests, health: Health): void {
  const refuseLate = (reply: FastifyReply) => {
    if (reply.sent || mayWait(reply.request) || reply.elapsedTime < REFUSE_AFTER_MS + waitOf(reply.request))
      return;
    void reply.send(unavailable());
  };
  const timer = setInterval(() => {
    if (health.storeTrouble?.() !== undefined) open.forOlderThan(REFUSE_AFTER_MS, refuseLate);
  }, LOOK_MS).unref();
  app.addHook("onRequest", (request, _, done) => {
    if (health.storeTrouble?.() !== undefined && !READS.has(request.method) && !mayWait(request))
      throw unavailable();
    done();
  });
  app.addHook("onClose", async () => clearInterval(timer));
}

function mayWait({ routeOptions }: FastifyRequest): boolean {
  const { scopes } = routeOptions.config;
  return scopes !== undefined && scopes !== "none" && scopes.includes("work");
}

/** Returns for how long, in ms, the caller itself asked to wait. */
function waitOf({ query }: FastifyRequest): number {
  return (Number((query as { readonly wait?: unknown }).wait) || 0) * 1000;
}

function unavailable(): Problem {
  return new Problem("unavailable", "the store does not answer; try again", {
    headers: { "retry-after": "1" },
  });
}
