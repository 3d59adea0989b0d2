import type { ChunkHandle } from "../protocol/index.ts";

/**
 * What the row of a task has as its result: the JSON text of a value, or the handle of a chunk that stays on its worker.
 * A handle is marked by a character that begins no JSON text, so no value that a function returns can be taken for one.
 */
const MARK = "@";

export function heldResult({ kind, bytes, sha256 }: ChunkHandle): string {
  return MARK + JSON.stringify({ kind, bytes, sha256 });
}

/** Returns the handle, or `undefined` if the stored result is a value or there is none. */
export function handleIn(stored: string | undefined): ChunkHandle | undefined {
  return stored?.startsWith(MARK) ? (JSON.parse(stored.slice(MARK.length)) as ChunkHandle) : undefined;
}
