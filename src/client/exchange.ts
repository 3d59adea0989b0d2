import { Agent, type IncomingMessage, request as requestPlain } from "node:http";
import { request as requestSecure, Agent as SecureAgent } from "node:https";
import { connectOptions } from "../tls/index.ts";
import type { TimeLimit } from "./time-limit.ts";

/** What is known of an answer when its body begins. */
export interface AnswerHead {
  readonly status: number;
  readonly ok: boolean;
  readonly headers: Pick<Headers, "get">;
}

export interface WholeAnswer extends AnswerHead {
  readonly text: string;
}

export interface Exchange {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** As long as `fetch` waits for a connection. */
const CONNECT_WITHIN_MS = 10_000;

/**
 * Connections are kept, and do not keep the process alive while nobody waits for an answer; as short as by `fetch`, so that the
 * other side does not end one at the moment at which it is used again.
 */
const KEPT = { keepAlive: true, timeout: 4_000 };
const plainAgent = new Agent(KEPT);
const secureAgent = new SecureAgent(KEPT);

/**
 * Sends a request whose answer is wanted as a whole. `fetch` would take several times as much of the processor: it makes streams
 * for both directions. Redirections are not followed.
 */
export function exchange(
  url: URL,
  { method, headers, body }: Exchange,
  limit: TimeLimit,
): Promise<WholeAnswer> {
  return new Promise((resolve, reject) => {
    const isSecure = url.protocol === "https:";
    const request = (isSecure ? requestSecure : requestPlain)(url, {
      method,
      headers: {
        ...headers,
        // Who is not asked to compress must not.
        "accept-encoding": "identity",
        ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }),
      },
      agent: isSecure ? secureAgent : plainAgent,
      ...(isSecure && connectOptions()),
    });
    request.on("error", reject);
    request.on("upgrade", (_, socket) => {
      socket.destroy();
      reject(new Error("it answered in another protocol"));
    });
    request.on("response", (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("error", reject);
      response.on("end", () => {
        try {
          resolve(wholeOf(response, textOf(parts)));
        } catch (error) {
          reject(error as Error);
        }
      });
    });
    request.on("socket", (socket) => {
      if (!socket.connecting) return;
      const timer = setTimeout(() => request.destroy(new ConnectTimeout()), CONNECT_WITHIN_MS);
      const done = () => clearTimeout(timer);
      socket.once(isSecure ? "secureConnect" : "connect", done).once("close", done);
    });
    limit.onEnd(() => {
      request.destroy();
      reject(new Error("it was given up"));
    });
    request.end(body);
  });
}

class ConnectTimeout extends Error {
  readonly code = "CONNECT_TIMEOUT";
  override readonly message = `no connection within ${CONNECT_WITHIN_MS / 1000} s`;
}

/** Without the mark that some put before a text. */
function textOf(parts: readonly Buffer[]): string {
  return Buffer.concat(parts)
    .toString()
    .replace(/^\uFEFF/, "");
}

function wholeOf({ statusCode: status = 0, headers }: IncomingMessage, text: string): WholeAnswer {
  const get = (name: string) => {
    const value = headers[name];
    return Array.isArray(value) ? value.join(", ") : (value ?? null);
  };
  return { status, ok: status >= 200 && status < 300, headers: { get }, text };
}
