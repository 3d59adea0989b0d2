/** Results as bytes, and back. */

import { createHash } from "node:crypto";
import { DefaultDeserializer, serialize } from "node:v8";
import type { ChunkHandle, ChunkKind } from "../protocol/index.ts";
import { ChunkError } from "./errors.ts";
import { copyOf, keepable } from "./pages.ts";
import { isPlainJson } from "./plain-json.ts";
import { findUnclonable } from "./unclonable.ts";

export interface Encoded {
  readonly kind: ChunkKind;
  readonly bytes: Buffer;
}

/** What returns nothing has a result all the same: others may need it. */
const NOTHING: Encoded = { kind: "json", bytes: Buffer.from("null") };

export type ByteStream = AsyncIterable<Uint8Array>;

/**
 * Throws `result-not-serializable` with the path of what cannot be one. What is given as bytes over a SharedArrayBuffer is
 * not copied, and must not be changed any more; all else is. A text that fits into so many bytes of JSON is that.
 */
export function encode(value: unknown, inlineBytes: number): Encoded {
  if (value === undefined) return NOTHING;
  if (value instanceof Uint8Array) return { kind: "bytes", bytes: ownBytes(value) };
  if (typeof value === "string" && value.isWellFormed()) return encodedText(value, inlineBytes);
  // An object with this key would be taken for what stands for a chunk.
  if (isPlainJson(value) && !hasChunkKey(value))
    return { kind: "json", bytes: keepable(Buffer.from(JSON.stringify(value))) };
  try {
    return { kind: "clone", bytes: keepable(serialize(value)) };
  } catch (cause) {
    const { path, what } = findUnclonable(value);
    const where = path === "" ? "the result" : `result${path}`;
    throw new ChunkError("result-not-serializable", `${where} cannot be sent: ${what}`, { cause });
  }
}

/** Every call gives a value of its own, but for bytes: these are the given ones. */
export function decode({ kind, bytes }: Encoded): unknown {
  switch (kind) {
    case "json":
      return JSON.parse(bytes.toString("utf8")) as unknown;
    case "text":
      return bytes.toString("utf8");
    case "bytes":
      return bytes;
    case "clone":
      return cloneOf(bytes);
  }
}

function cloneOf(bytes: Buffer): unknown {
  const reader = new CloneReader(bytes);
  reader.readHeader();
  return reader.readValue() as unknown;
}

/** Typed arrays would be views of the given bytes, or of a pool that others write into. */
class CloneReader extends DefaultDeserializer {
  /** Called by V8 for each of them. */
  _readHostObject(): unknown {
    const view = HOST_OBJECT.call(this);
    const own = new Uint8Array(view.byteLength);
    own.set(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
    return view instanceof Buffer ? Buffer.from(own.buffer) : new (view.constructor as ViewOf)(own.buffer);
  }
}

type ViewOf = new (buffer: ArrayBuffer) => NodeJS.ArrayBufferView;

/** As Node has it; its types do not. */
const HOST_OBJECT = (
  DefaultDeserializer.prototype as unknown as { readonly _readHostObject: () => NodeJS.ArrayBufferView }
)._readHostObject;

/** A stream or another source of bytes that come one after the other. */
export function isByteStream(value: unknown): value is ByteStream {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** What a task returned as a stream, piece by piece. */
export async function* checkedPieces(stream: AsyncIterable<unknown>): AsyncGenerator<Uint8Array> {
  for await (const piece of stream) {
    if (!(piece instanceof Uint8Array)) {
      const fix = typeof piece === "string" ? "; leave out setEncoding, or return the text" : "";
      throw new ChunkError(
        "result-not-serializable",
        `the result is a stream that gives a ${typeof piece}, and must give Buffers${fix}`,
      );
    }
    yield piece;
  }
}

function encodedText(text: string, inlineBytes: number): Encoded {
  const bytes = Buffer.from(text);
  if (bytes.length <= inlineBytes && isPlainJson(text)) {
    const json = Buffer.from(JSON.stringify(text));
    if (json.length <= inlineBytes) return { kind: "json", bytes: json };
  }
  return { kind: "text", bytes: keepable(bytes) };
}

/** As a small result travels with a report. */
export function inlineOf({ kind, bytes }: Encoded): unknown {
  if (kind === "json") return decode({ kind, bytes });
  return { $chunk: kind, base64: bytes.toString("base64") };
}

/** Whether a small result is written as it is. */
export function isInlineJson(value: unknown): boolean {
  return !hasChunkKey(value);
}

export function encodedInline(value: unknown): Encoded {
  if (isInlineJson(value)) return { kind: "json", bytes: Buffer.from(JSON.stringify(value)) };
  const { $chunk, base64 } = value as { readonly $chunk: ChunkKind; readonly base64: string };
  return { kind: $chunk, bytes: Buffer.from(base64, "base64") };
}

export function handleOf({ kind, bytes }: Encoded): ChunkHandle {
  return { kind, bytes: bytes.length, sha256: sha256Of(bytes) };
}

export function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function hasChunkKey(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "$chunk");
}

/** Whoever made them may go on writing into them. */
function ownBytes(given: Uint8Array): Buffer {
  const { buffer, byteOffset, byteLength } = given;
  if (buffer instanceof SharedArrayBuffer) return Buffer.from(buffer, byteOffset, byteLength);
  return copyOf(given);
}
