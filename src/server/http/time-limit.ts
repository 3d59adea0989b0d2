import type { FastifyReply } from "fastify";
import type { OpenRequests } from "./open-requests.ts";
import { Problem } from "./problems.ts";
import type { App } from "./route.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Where it may take longer than elsewhere. */
    answerWithinMs?: number;
  }
}

/** How often it is looked who waits for too long. */
const LOOK_MS = 1000;

/**
 * Nobody waits for an answer without end. One look at the oldest requests does for all of them: the framework has a
 * timer and a signal for each, which cost nearly as much as the rest of what it does, and which end when the body has
 * arrived, so that a handler with a body is never timed.
 */
export function useTimeLimit(app: App, open: OpenRequests, limitMs: number): void {
  const refuseLate = (reply: FastifyReply) => {
    const { answerWithinMs = limitMs } = reply.request.routeOptions.config;
    if (!reply.sent && reply.elapsedTime >= answerWithinMs) refuse(reply);
  };
  const look = () => open.forOlderThan(limitMs, refuseLate);
  const timer = setInterval(look, Math.min(LOOK_MS, limitMs)).unref();
  app.addHook("onRequest", (_, reply, done) => {
    open.add(reply);
    done();
  });
  app.addHook("onClose", async () => clearInterval(timer));
}

function refuse(reply: FastifyReply): void {
  // A body that does not arrive has a time limit of its own. Refused here as well, the request would be answered twice.
  if (reply.request.raw.complete === false) return;
  if (reply.raw.headersSent) reply.raw.destroy();
  else void reply.send(new Problem("timeout", "no answer was ready in time; it may still take effect"));
}
