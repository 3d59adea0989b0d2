import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ApartBody, type BodyThread } from "./body-thread.ts";
import { readJsonText } from "./json-body.ts";
import { LARGE_BODY } from "./limits.ts";
import { Problem } from "./problems.ts";
import type { BodyForm } from "./read-body.ts";
import { shareOf } from "./shares.ts";

/** A body of at least this many bytes is worth the time to measure how long it takes to read. */
const CHARGED_BODY = 16 * 1024;

declare module "fastify" {
  interface FastifyContextConfig {
    /** Nothing in the body matters, so it may have any type and form. */
    ignoresBody?: boolean;
    /** How the route's body is read if it is large. It is then an `ApartBody`. */
    formOf?: (request: FastifyRequest) => BodyForm;
  }
}

/** JSON is read; everything else is refused, or let pass unread where a route does not look at it. */
export function useBodyParsers(app: FastifyInstance, bodies: BodyThread): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/json",
    { parseAs: "buffer" },
    (request: FastifyRequest, bytes: Buffer, done) => {
      const { formOf } = request.routeOptions.config;
      if (formOf && bytes.length >= LARGE_BODY) {
        readApart(bodies, request, formOf(request), bytes).then((body) => done(null, body), done);
      } else done(null, readSmall(request, bytes));
    },
  );
  app.addContentTypeParser("*", async (request: FastifyRequest, payload: IncomingMessage) => {
    if (!request.routeOptions.config.ignoresBody) throw unsupported("send Content-Type: application/json");
    payload.resume();
    return undefined;
  });
  app.addHook("onResponse", (request, _, done) => {
    if (request.body instanceof ApartBody) request.body.drop();
    done();
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

/** Reads a large body on the body thread, unless its client goes away before its turn. */
async function readApart(
  bodies: BodyThread,
  request: FastifyRequest,
  form: BodyForm,
  bytes: Buffer,
): Promise<ApartBody> {
  const { socket } = request.raw;
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  socket.once("close", leave);
  try {
    return await bodies.read(shareOf(request), form, bytes, gone.signal);
  } finally {
    socket.off("close", leave);
  }
}

/** Reads JSON on the main thread. What takes more than a moment is charged to the key. */
function readSmall({ share, routeOptions }: FastifyRequest, bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  const options = { mayRound: routeOptions.config.scopes?.includes("work") ?? false };
  if (bytes.length < CHARGED_BODY) return readJsonText(bytes.toString(), options);
  const startedMs = performance.now();
  try {
    return readJsonText(bytes.toString(), options);
  } finally {
    // The check against the schema, and the use of the value, take about as long again.
    share?.work.take(2 * (performance.now() - startedMs));
  }
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
