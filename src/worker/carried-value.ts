import { deserialize } from "node:v8";
import { PermanentError } from "./permanent-error.ts";

/** What a graph carries for its nodes: the kind of the value, and then its pieces, in base64 or as they are. */
export function carriedValue(args: unknown): unknown {
  const [kind, ...pieces] = Array.isArray(args) ? (args as unknown[]) : [];
  const bytes = Buffer.concat(pieces.map(bytesOf));
  switch (kind) {
    case "bytes":
      return bytes;
    case "text":
      return bytes.toString("utf8");
    case "clone":
      return cloned(bytes);
    default:
      throw malformed('its first argument must be "bytes", "text" or "clone"');
  }
}

function bytesOf(piece: unknown): Uint8Array {
  if (typeof piece === "string") return Buffer.from(piece, "base64");
  if (piece instanceof Uint8Array) return piece;
  throw malformed("its further arguments must be texts in base64, or bytes");
}

function cloned(bytes: Buffer): unknown {
  try {
    return deserialize(bytes) as unknown;
  } catch (error) {
    throw malformed(`its bytes are no value: ${(error as Error).message}`);
  }
}

function malformed(message: string): PermanentError {
  return new PermanentError(message, { code: "bad-payload" });
}
