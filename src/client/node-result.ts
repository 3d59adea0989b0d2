import { createHash } from "node:crypto";
import { deserialize } from "node:v8";
import { type CallOptions, get, path } from "./calls.ts";
import type { Connection, OpenAnswer } from "./connection.ts";
import { OrreryError } from "./errors.ts";

/** What a node returned: as it is, or as bytes and how to read them. */
export interface RawResult {
  readonly kind: string;
  readonly bytes: Buffer;
}

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
  return decoded(await rawResult(connection, run, node, options));
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

export function decoded({ kind, bytes }: RawResult): unknown {
  switch (kind) {
    case "json":
      return JSON.parse(bytes.toString("utf8")) as unknown;
    case "text":
      return bytes.toString("utf8");
    case "bytes":
      return bytes;
    case "clone":
      return deserialize(bytes) as unknown;
    default: {
      const detail = `this client cannot read results of the kind ${JSON.stringify(kind)}; update it`;
      throw new OrreryError({ code: "bad-answer", status: 0, detail });
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
  if (kind === null) return inline(bytes);
  if (createHash("sha256").update(bytes).digest("hex") === headers.get("x-orrery-sha256"))
    return { kind, bytes };
  throw new Error(`its ${bytes.length} bytes are not those that were made`);
}

/** A small one is JSON, or says in JSON what it is. */
function inline(answer: Buffer): RawResult {
  const { value } = JSON.parse(answer.toString("utf8")) as { readonly value: unknown };
  const { $chunk, base64 } = (value ?? {}) as { readonly $chunk?: unknown; readonly base64?: unknown };
  return typeof $chunk === "string" && typeof base64 === "string"
    ? { kind: $chunk, bytes: Buffer.from(base64, "base64") }
    : { kind: "json", bytes: Buffer.from(JSON.stringify(value)) };
}
