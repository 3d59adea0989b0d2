import { decode, type Encoded, encodedInline } from "../chunks/index.ts";
import { type CallOptions, get, path } from "./calls.ts";
import type { Connection, OpenAnswer } from "./connection.ts";
import { OrreryError } from "./errors.ts";

/** The bytes of a result, and how to read them. */
export type RawResult = Encoded;

/** Results that are fetched at a time. */
const AT_ONCE = 8;
/** Of a body that breaks off, or is not what it should be. */
const MAX_TRIES = 4;
/** A connection that brings nothing for this long is dead. */
const SILENCE_MS = 45_000;

/** The result of a node, wherever it is. */
export async function nodeResult(
  connection: Connection,
  run: string,
  node: string,
  options: CallOptions,
): Promise<unknown> {
  const raw = await rawResult(connection, run, node, options);
  try {
    return decode(raw);
  } catch (cause) {
    const detail = `the result of ${node} in run ${run} cannot be read: ${(cause as Error).message}`;
    throw new OrreryError({ code: "bad-result", status: 0, detail, cause });
  }
}

export function nodeResults(
  connection: Connection,
  run: string,
  nodes: readonly string[],
  options: CallOptions,
): Promise<unknown[]> {
  return inOrder(nodes, (node) => nodeResult(connection, run, node, options));
}

export async function rawResult(
  connection: Connection,
  run: string,
  node: string,
  { signal }: CallOptions,
): Promise<RawResult> {
  for (let tries = 1; ; tries++) {
    const answer = await connection.open(get(path`runs/${run}/nodes/${node}/result`, { signal }));
    try {
      return await read(answer);
    } catch (cause) {
      signal?.throwIfAborted();
      if (tries < MAX_TRIES) continue;
      const detail = `the result of ${node} did not arrive as it is: ${(cause as Error).message}`;
      throw new OrreryError({ code: "broken", status: 0, detail, cause });
    } finally {
      answer.limit.release();
    }
  }
}

async function read({ response, limit }: OpenAnswer): Promise<RawResult> {
  const { headers, body } = response;
  const pieces: Uint8Array[] = [];
  const reader = body?.getReader();
  for (;;) {
    limit.restart(SILENCE_MS);
    const piece = await reader?.read();
    if (!piece || piece.done) break;
    pieces.push(piece.value as Uint8Array);
  }
  const bytes = Buffer.concat(pieces);
  const kind = headers.get("x-orrery-kind");
  if (kind === null)
    return encodedInline((JSON.parse(bytes.toString("utf8")) as { readonly value: unknown }).value);
  const hash = Buffer.from(await crypto.subtle.digest("SHA-256", bytes)).toString("hex");
  if (hash === headers.get("x-orrery-sha256")) return { kind: kind as Encoded["kind"], bytes };
  throw new Error(`its ${bytes.length} bytes are not those that were made`);
}

/** Some at a time. What fails first is thrown; nothing further is begun. */
export async function inOrder<Item, Result>(
  items: readonly Item[],
  act: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results = new Array<Result>(items.length);
  const left = items.entries();
  let isOver = false;
  const work = async (): Promise<void> => {
    for (const [at, item] of left) {
      if (isOver) return;
      results[at] = await act(item);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, work));
  } finally {
    isOver = true;
  }
  return results;
}
