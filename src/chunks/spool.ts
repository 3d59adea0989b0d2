import { createHash } from "node:crypto";
import type { ByteStream } from "./encoding.ts";
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
 * Takes in a stream: in memory while there is room for it, and from then on in a file. The memory that was granted stays so
 * if the chunk ends there, and is the caller's to give back then.
 */
export async function spool(
  source: ByteStream,
  allowance: Allowance,
  directory: SpillDirectory,
): Promise<Stowed> {
  const hash = createHash("sha256");
  const pieces: Buffer[] = [];
  let granted = 0;
  let bytes = 0;
  let file: SpillFile | undefined;
  try {
    for await (const piece of source) {
      hash.update(piece);
      bytes += piece.length;
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
  return file ? { bytes, sha256, path: file.path } : { bytes, sha256, memory: Buffer.concat(pieces) };
}
