import { createHash } from "node:crypto";
import type { ByteStream } from "./encoding.ts";
import { allocate } from "./pages.ts";
import type { SpillDirectory, SpillFile } from "./spill-directory.ts";

/** Where the bytes of a chunk are. */
export interface Stowed {
  readonly bytes: number;
  readonly sha256: string;
  readonly memory?: Buffer;
  readonly path?: string;
}

/** The memory that all spools of a store share with it. */
export interface Allowance {
  /** Whether so much more, for one chunk that has so much already, may be kept in memory. */
  grant(more: number, before: number): boolean;
  giveBack(bytes: number): void;
}

/**
 * Takes in a stream, maybe of known length: in memory while there is room for it, and from then on in a file. The memory that
 * was granted stays so if the chunk ends there, and is the caller's to give back then: all of what is returned.
 */
export async function spool(
  source: ByteStream,
  allowance: Allowance,
  directory: SpillDirectory,
  length?: number,
): Promise<Stowed> {
  const hash = createHash("sha256");
  const whole = length !== undefined && allowance.grant(length, 0) ? allocate(length) : undefined;
  const pieces: Buffer[] = [];
  let granted = whole?.length ?? 0;
  let bytes = 0;
  let file: SpillFile | undefined;
  try {
    for await (const piece of source) {
      hash.update(piece);
      const before = bytes;
      bytes += piece.length;
      if (whole) {
        // Of what comes beyond its length the caller sees how much it was.
        if (before < whole.length) whole.set(piece.subarray(0, whole.length - before), before);
        continue;
      }
      if (!file && allowance.grant(piece.length, granted)) {
        granted += piece.length;
        // Whoever gives it may use its memory again.
        pieces.push(Buffer.from(piece));
        continue;
      }
      if (!file) {
        file = await directory.create();
        for (const earlier of pieces.splice(0)) await file.write(earlier);
        allowance.giveBack(granted);
        granted = 0;
      }
      await file.write(piece);
    }
    await file?.close();
  } catch (error) {
    allowance.giveBack(granted);
    await file?.discard();
    throw error;
  }
  const sha256 = hash.digest("hex");
  if (file) return { bytes, sha256, path: file.path };
  return { bytes, sha256, memory: whole ?? joined(pieces, bytes) };
}

function joined(pieces: readonly Buffer[], bytes: number): Buffer {
  const memory = allocate(bytes);
  let at = 0;
  for (const piece of pieces) at += piece.copy(memory, at);
  return memory;
}
