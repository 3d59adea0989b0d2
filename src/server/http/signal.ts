import type { ServerResponse } from "node:http";

/**
 * Aborted when the client is gone, the answer is sent or the server closes.
 *
 * `AbortSignal.any` would be shorter, but on Node 20 a signal that lives as long as the server remembers every one
 * that was made from it: a kilobyte for each request that waits.
 */
export function signalOf(response: ServerResponse, closing: AbortSignal): AbortSignal {
  const over = new AbortController();
  const abort = () => over.abort();
  closing.addEventListener("abort", abort);
  response.once("close", () => {
    closing.removeEventListener("abort", abort);
    abort();
  });
  if (closing.aborted || response.closed) abort();
  return over.signal;
}
