import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { jsonReader } from "./json-body.ts";
import { Problem } from "./problems.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Nothing in the body matters, so it may have any type and form. */
    ignoresBody?: boolean;
  }
}

/** JSON is read; everything else is refused, or let pass unread where a route does not look at it. */
export function useBodyParsers(app: FastifyInstance): void {
  const readJson = jsonReader(app);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/json",
    { parseAs: "string" },
    (request: FastifyRequest, text: string, done) => done(null, readJson(request, text)),
  );
  app.addContentTypeParser("*", async (request: FastifyRequest, payload: IncomingMessage) => {
    if (!request.routeOptions.config.ignoresBody) throw unsupported("send Content-Type: application/json");
    payload.resume();
    return undefined;
  });
  // Without its type a body goes to the parser for all others, whatever the client wrote there.
  app.addHook("onRequest", (request, _, done) => {
    if (request.routeOptions.config.ignoresBody) delete request.raw.headers["content-type"];
    else if (isEncoded(request.headers["content-encoding"])) {
      done(unsupported("send the body as it is, without Content-Encoding"));
      return;
    }
    done();
  });
}

/** Bodies are small, and what is unpacked can be a thousand times as large. */
function isEncoded(encoding: string | undefined): boolean {
  return encoding !== undefined && encoding.toLowerCase() !== "identity";
}

export function unsupported(detail: string): Problem {
  return new Problem("unsupported-media-type", detail);
}

/** Where everything in a body is optional, so is the body. */
export async function emptyIfMissing(request: FastifyRequest): Promise<void> {
  request.body ??= {};
}
