import type { FastifyReply, FastifyRequest } from "fastify";
import { dashboardFile } from "./dashboard-files.ts";
import { Problem } from "./problems.ts";
import type { App } from "./route.ts";

/** The first step of each path that the dashboard answers by itself; everything else stays the API's. */
const SCREENS = ["tasks", "runs", "workers", "queues", "timeline", "ledger", "what-if", "cluster", "keys"];

/** Everything comes from here, nothing is inline, and nobody may frame it. */
const POLICY = [
  "default-src 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Names of assets hold a hash of what is in them. */
const FOREVER = "public, max-age=31536000, immutable";
const ASK_AGAIN = "no-cache";

const open = { config: { scopes: "none" }, exposeHeadRoute: true, schema: { hide: true } } as const;

/** The web app. It holds nothing secret: what it shows it asks of the API, with the key of whoever looks. */
export function dashboardRoutes(app: App): void {
  const sendFile = async (
    request: FastifyRequest,
    reply: FastifyReply,
    name: string,
    caching: string,
  ): Promise<FastifyReply> => {
    const file = await dashboardFile(name);
    if (!file) throw new Problem("not-found", "there is nothing here; /docs lists what there is");
    reply.headers({
      "cache-control": caching,
      "content-security-policy": POLICY,
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      etag: file.etag,
      vary: "accept-encoding",
    });
    if (request.headers["if-none-match"] === file.etag) return reply.code(304).send();
    const takesGzip = /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
    if (takesGzip) reply.header("content-encoding", "gzip");
    return reply.type(file.type).send(takesGzip ? file.zipped : file.plain);
  };

  const page = (request: FastifyRequest, reply: FastifyReply) =>
    sendFile(request, reply, "index.html", ASK_AGAIN);
  app.get("/", open, page);
  for (const screen of SCREENS) {
    app.get(`/${screen}`, open, page);
    app.get(`/${screen}/*`, open, page);
  }
  app.get("/icon.svg", open, (request, reply) => sendFile(request, reply, "icon.svg", ASK_AGAIN));
  app.get<{ Params: { name: string } }>("/assets/:name", open, (request, reply) =>
    sendFile(request, reply, `assets/${request.params.name}`, FOREVER),
  );
}
