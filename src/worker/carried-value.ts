import { decode, type Encoded } from "../chunks/index.ts";
import { PermanentError } from "./permanent-error.ts";

const KINDS: readonly unknown[] = ["json", "text", "bytes", "clone"] satisfies Encoded["kind"][];

/** What a graph carries for its nodes: the kind of the value, and then its pieces, in base64 or as they are. */
export function carriedValue(args: unknown): unknown {
  const [kind, ...pieces] = Array.isArray(args) ? (args as unknown[]) : [];
  if (!KINDS.includes(kind)) throw malformed(`its first argument must be one of ${KINDS.join(", ")}`);
  const bytes = Buffer.concat(pieces.map(bytesOf));
  try {
    return decode({ kind: kind as Encoded["kind"], bytes });
  } catch (error) {
    throw malformed(`its bytes are no value: ${(error as Error).message}`);
  }
}

function bytesOf(piece: unknown): Uint8Array {
  if (typeof piece === "string") return Buffer.from(piece, "base64");
  if (piece instanceof Uint8Array) return piece;
  throw malformed("its further arguments must be texts in base64, or bytes");
}

function malformed(message: string): PermanentError {
  return new PermanentError(message, { code: "bad-payload" });
}
