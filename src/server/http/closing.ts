import type { ServerResponse } from "node:http";
import { Problem } from "./problems.ts";
import type { App } from "./route.ts";

/** From the first word of closing to the last connection cut. */
const CLOSE_WITHIN_MS = 5000;

/**
 * Whoever waits is told at once, what is being answered is finished, and whoever does not go is cut off. Requests
 * are kept here, because they may come by a server that is not closed with this one.
 */
export function useClosing(app: App, closing: AbortController): void {
  const open = new Set<ServerResponse>();
  let onIdle = () => {};
  app.addHook("onRequest", async (request, reply) => {
    open.add(reply.raw);
    reply.raw.once("close", () => {
      open.delete(reply.raw);
      if (open.size === 0) onIdle();
    });
    // Whether the server is alive may be asked to the end.
    if (!closing.signal.aborted || request.routeOptions.config.scopes === "none") return;
    throw new Problem("unavailable", "the server is closing", { headers: { "retry-after": "1" } });
  });
  app.addHook("preClose", async () => {
    closing.abort();
    if (open.size > 0) {
      await new Promise<void>((resolve) => {
        onIdle = resolve;
        setTimeout(resolve, CLOSE_WITHIN_MS).unref();
      });
    }
    for (const response of open) response.destroy();
  });
}
