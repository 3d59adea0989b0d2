import type { OpenRequests } from "./open-requests.ts";
import { Problem } from "./problems.ts";
import type { App } from "./route.ts";

/** From the first word of closing to the last connection cut. */
const CLOSE_WITHIN_MS = 5000;

/** Whoever waits is told at once, what is being answered is finished, and whoever does not go is cut off. */
export function useClosing(app: App, open: OpenRequests, closing: AbortController): void {
  app.addHook("onRequest", (request, _, done) => {
    // Whether the server is alive may be asked to the end.
    if (closing.signal.aborted && request.routeOptions.config.scopes !== "none")
      throw new Problem("unavailable", "the server is closing", { headers: { "retry-after": "1" } });
    done();
  });
  app.addHook("preClose", async () => {
    closing.abort();
    await open.idle(CLOSE_WITHIN_MS);
    open.destroyAll();
  });
}
