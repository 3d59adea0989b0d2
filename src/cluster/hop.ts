import { type IncomingMessage, STATUS_CODES } from "node:http";

/**
 * Headers of one connection, which are not forwarded. The list is fixed: a header that a caller names in `Connection` is
 * forwarded all the same, or callers could remove the length of their body and headers that a gateway has added.
 * `expect` was answered by this server.
 */
const OF_THE_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
  "expect",
]);

/** Returns the headers to forward, name and value in turn, as they were written. */
export function endToEnd({ rawHeaders }: IncomingMessage): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = "", value = ""] = rawHeaders.slice(at, at + 2);
    if (!OF_THE_HOP.has(name.toLowerCase())) kept.push(name, value);
  }
  return kept;
}

/** How a request's body is framed. A request without any framing header has no body. */
export interface Framing {
  readonly hasBody: boolean;
  /** Headers to add to those of `endToEnd`, which include a `Content-Length` that came. */
  readonly headers: readonly string[];
}

export function framingOf({ method, headers }: IncomingMessage): Framing {
  if (headers["transfer-encoding"] !== undefined)
    return { hasBody: true, headers: ["Transfer-Encoding", "chunked"] };
  if (headers["content-length"] !== undefined) return { hasBody: true, headers: [] };
  const needsNone = method === "GET" || method === "HEAD";
  // Without a length, Node would announce a chunked body for the other methods.
  return { hasBody: false, headers: needsNone ? [] : ["Content-Length", "0"] };
}

/** The beginning of an answer, for a socket that nobody else writes to. */
export function statusAndHeaders(answer: IncomingMessage, more: readonly string[]): string {
  const { statusCode = 502, statusMessage = STATUS_CODES[statusCode] } = answer;
  const headers = [...endToEnd(answer), ...more];
  let text = `HTTP/1.1 ${statusCode} ${statusMessage}\r\n`;
  for (let at = 0; at + 1 < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`;
  return `${text}\r\n`;
}
