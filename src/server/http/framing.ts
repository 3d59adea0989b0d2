import type { IncomingMessage } from "node:http";
import { Problem } from "./problems.ts";

/** `http2-settings` is there for the offer of `h2c` with which Java's client begins; see `answerWithoutUpgrade`. */
const CONNECTION_OPTIONS: ReadonlySet<string> = new Set([
  "close",
  "keep-alive",
  "upgrade",
  "te",
  "http2-settings",
]);

/**
 * Returns why a request must not be answered or forwarded: two servers in a row could disagree about where it ends, or
 * about its headers. Every server of a cluster asks this first, so that a leader and a follower refuse alike.
 */
export function misframed({ headers, rawHeaders, httpVersion }: IncomingMessage): Problem | undefined {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  if (hosts > 1 || (hosts === 0 && httpVersion === "1.1"))
    return new Problem("malformed", "a request has one Host header");
  if (httpVersion !== "1.1" && httpVersion !== "1.0")
    return new Problem("malformed", `HTTP/${httpVersion} is not supported; use HTTP/1.1`);
  const { connection, upgrade } = headers;
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && (coding.toLowerCase() !== "chunked" || httpVersion === "1.0"))
    return new Problem("malformed", "the only transfer coding is chunked, in HTTP/1.1");
  const isWebSocket = upgrade?.toLowerCase() === "websocket";
  if (isWebSocket && (coding !== undefined || Number(headers["content-length"] ?? 0) > 0))
    return new Problem("malformed", "a request for a WebSocket must not have a body");
  return connection === undefined ? undefined : unknownOption(connection);
}

/**
 * A proxy removes the headers that `Connection` names. That would let a caller remove the length of its own body, or the
 * agent that a gateway in front has set.
 */
function unknownOption(connection: string): Problem | undefined {
  if (connection === "keep-alive" || connection === "close") return undefined;
  for (const part of connection.toLowerCase().split(",")) {
    const option = part.trim();
    if (option === "" || CONNECTION_OPTIONS.has(option)) continue;
    return new Problem(
      "malformed",
      `Connection must name only close, keep-alive, upgrade and te, got ${JSON.stringify(option)}`,
    );
  }
  return undefined;
}
