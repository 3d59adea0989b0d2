import { ConnectionRefused } from "./transport.ts";

export interface ServerAddress {
  /** Such as `http://127.0.0.1:2026`, with or without a path before ours. */
  readonly url: string;
  readonly key: string;
  /** After how long without an answer to a report or another request the connection is given up; 30 s by default. */
  readonly answerLimitMs?: number;
}

export const ANSWER_LIMIT_MS = 30_000;

export function workerUrl({ url }: ServerAddress, path: string): URL {
  return new URL(`worker/${path}`, url.endsWith("/") ? url : `${url}/`);
}

export function authorization({ key }: ServerAddress): { readonly authorization: string } {
  return { authorization: `Bearer ${key}` };
}

/** What the server will say again: the request is wrong, the key is, or this is no server of ours. */
const FINAL: ReadonlySet<number> = new Set([400, 401, 403, 404, 413, 422, 426]);
/** It has forgotten us, as after a restart, and wants us to register again. */
const FORGOTTEN: ReadonlySet<unknown> = new Set(["unknown-worker", "session-ended"]);

interface Problem {
  readonly code?: unknown;
  readonly title?: unknown;
  readonly detail?: unknown;
}

/** An answer by which a server declines, as an error: final or not. */
export function declined(status: number, body: string): Error {
  const { code, title, detail } = problemIn(body);
  const said = [detail, title].find((text) => typeof text === "string" && text !== "");
  const message =
    typeof said === "string" ? `${said} (HTTP ${status})` : `the server answered HTTP ${status}`;
  const name = typeof code === "string" ? code : `http-${status}`;
  const isFinal = FINAL.has(status) && !FORGOTTEN.has(name);
  return isFinal ? new ConnectionRefused(name, message) : new Error(message);
}

function problemIn(body: string): Problem {
  try {
    return (JSON.parse(body) ?? {}) as Problem;
  } catch {
    return {};
  }
}
