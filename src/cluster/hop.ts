import { type IncomingMessage, STATUS_CODES } from "node:http";

/** What concerns only the connection that it came by. `expect` was answered there. */
const OF_THE_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "expect",
]);

/** The headers to hand on, name and value in turn, as they were written. */
export function endToEnd({ rawHeaders, headers }: IncomingMessage): string[] {
  const named = (headers.connection ?? "").toLowerCase().split(/\s*,\s*/);
  const kept: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = "", value = ""] = rawHeaders.slice(at, at + 2);
    const lower = name.toLowerCase();
    if (!OF_THE_HOP.has(lower) && !named.includes(lower)) kept.push(name, value);
  }
  return kept;
}

/** How a request's body is handed on. Without a word about it Node would cut a body that is not there into chunks. */
export function bodyHeaders({ method, headers }: IncomingMessage): string[] {
  if (headers["transfer-encoding"] !== undefined) return ["Transfer-Encoding", "chunked"];
  const mayHaveNone = headers["content-length"] !== undefined || method === "GET" || method === "HEAD";
  return mayHaveNone ? [] : ["Content-Length", "0"];
}

/** The beginning of an answer, for a socket that nobody else writes to. */
export function statusAndHeaders(answer: IncomingMessage, more: readonly string[]): string {
  const { statusCode = 502, statusMessage = STATUS_CODES[statusCode] } = answer;
  const headers = [...endToEnd(answer), ...more];
  let text = `HTTP/1.1 ${statusCode} ${statusMessage}\r\n`;
  for (let at = 0; at + 1 < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`;
  return `${text}\r\n`;
}
