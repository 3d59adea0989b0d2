import { serialize } from "node:v8";

/** How a value is carried by the nodes of the built-in type `value`, in base64. */
export interface Pieces {
  readonly kind: "bytes" | "text" | "clone";
  readonly pieces: readonly string[];
}

/** A node may have 1 MiB of JSON, and a graph 16. */
const PIECE_BYTES = 720 * 1024;
const MAX_BYTES = 8 * 1024 * 1024;

/** Cut so that each fits into a node. */
export function piecesOf(value: unknown): Pieces {
  const { kind, bytes } = encoded(value);
  if (bytes.length > MAX_BYTES)
    throw new RangeError(
      `a value of ${bytes.length} bytes does not fit into a graph, which carries up to ${MAX_BYTES}; let a task read or make it`,
    );
  const pieces: string[] = [];
  for (let at = 0; at === 0 || at < bytes.length; at += PIECE_BYTES)
    pieces.push(bytes.subarray(at, at + PIECE_BYTES).toString("base64"));
  return { kind, pieces };
}

function encoded(value: unknown): { readonly kind: Pieces["kind"]; readonly bytes: Buffer } {
  if (value instanceof Uint8Array)
    return { kind: "bytes", bytes: Buffer.from(value.buffer, value.byteOffset, value.byteLength) };
  if (typeof value === "string" && value.isWellFormed()) return { kind: "text", bytes: Buffer.from(value) };
  try {
    return { kind: "clone", bytes: serialize(value) };
  } catch (cause) {
    throw new TypeError(`a value must be one that can be cloned: ${(cause as Error).message}`, { cause });
  }
}
