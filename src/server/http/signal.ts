import type { FastifyRequest } from "fastify";

/** Aborted when the client is gone, the time is over, or the server closes. */
export function signalOf(request: FastifyRequest, closing: AbortSignal): AbortSignal {
  return AbortSignal.any([request.signal, closing]);
}
