import type { Query, Request } from "./connection.ts";

/** What every call takes. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export function get(path: string, { signal }: CallOptions, query: Query = {}): Request {
  return { method: "GET", path, query, isRepeatable: true, signal };
}

/** What sets something to a value can be sent again. */
export function put(path: string, body: unknown, { signal }: CallOptions): Request {
  return { method: "PUT", path, body: JSON.stringify(body), isRepeatable: true, signal };
}

/** What changes something to a value can be sent again. */
export function patch(path: string, body: unknown, options: CallOptions): Request {
  return { ...put(path, body, options), method: "PATCH" };
}

/** Not sent again: a second time it would not be found. */
export function remove(path: string, { signal }: CallOptions): Request {
  return { method: "DELETE", path, isRepeatable: false, signal };
}

/** What does something, once. */
export function post(path: string, body: unknown, { signal }: CallOptions): Request {
  return {
    method: "POST",
    path,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    isRepeatable: false,
    signal,
  };
}

/** The same, where a second time changes nothing. */
export function repeatablePost(path: string, body: unknown, options: CallOptions): Request {
  return { ...post(path, body, options), isRepeatable: true };
}

/** A path of fixed words and names from outside. */
export function path(words: TemplateStringsArray, ...names: readonly string[]): string {
  return words.reduce((whole, word, at) => whole + encodeURIComponent(names[at - 1] ?? "") + word);
}
