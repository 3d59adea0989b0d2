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
  /** Whether so much more, for one chunk that has so much already, may be kept in memory; of one without a disk, up to the limit. */
  grant(more: number, before: number, hasDisk: boolean): boolean;
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
  const whole = length !== undefined && allowance.grant(length, 0, true) ? allocate(length) : undefined;
  const pieces: Buffer[] = [];
  let granted = whole?.length ?? 0;
  let bytes = 0;
  let file: SpillFile | undefined;
  /** The disk took nothing of it. */
  let refused: Error | undefined;
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
      if (!file && allowance.grant(piece.length, granted, !refused)) {
        granted += piece.length;
        // Whoever gives it may use its memory again.
        pieces.push(Buffer.from(piece));
        continue;
      }
      if (file) {
        await file.write(piece);
        continue;
      }
      if (refused) throw refused;
      try {
        file = await writtenTo(directory, [...pieces, piece]);
      } catch (error) {
        if (!allowance.grant(piece.length, granted, false)) throw error;
        refused = error as Error;
        granted += piece.length;
        pieces.push(Buffer.from(piece));
        continue;
      }
      pieces.length = 0;
      allowance.giveBack(granted);
      granted = 0;
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

async function writtenTo(directory: SpillDirectory, pieces: readonly Uint8Array[]): Promise<SpillFile> {
  const file = await directory.create();
  try {
    for (const piece of pieces) await file.write(piece);
  } catch (error) {
    await file.discard();
    throw error;
  }
  return file;
}

function joined(pieces: readonly Buffer[], bytes: number): Buffer {
  const memory = allocate(bytes);
  let at = 0;
  for (const piece of pieces) at += piece.copy(memory, at);
  return memory;
}
