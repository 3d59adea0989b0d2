/**
 * The chunks of a worker, by their ids.
 *
 * They are in memory up to a high-water mark. Above it, those that were not used for longest are written to files and come
 * back when they are used; the file stays, so that to spill them again costs nothing. When the disk takes nothing, the
 * memory up to the limit is used, and what would exceed that is refused. A chunk never changes, so a second one under the same
 * id is the first.
 */

import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Readable } from "node:stream";
import type { ChunkHandle, ChunkKind } from "../protocol/index.ts";
import { type ByteStream, type Encoded, handleOf, sha256Of } from "./encoding.ts";
import { ChunkError } from "./errors.ts";
import { keepable, lendable } from "./pages.ts";
import { SpillDirectory } from "./spill-directory.ts";
import { type Allowance, type Stowed, spool } from "./spool.ts";

export interface ChunkStoreOptions {
  readonly limitBytes: number;
  /** Under it the directory for spilled chunks is made. */
  readonly directory: string;
  /** The share of the limit from which on chunks are spilled; 0.6 by default. */
  readonly highWater?: number;
}

/** For a chunk: who may have it. */
export interface ChunkOwner {
  readonly id: string;
  /** Of its run. */
  readonly token: string;
}

interface Entry extends ChunkOwner {
  readonly handle: LazyHandle;
  memory: Buffer | undefined;
  path: string | undefined;
}

/** Of what nobody but this worker may ever ask for the hash is made when somebody does. */
type LazyHandle = Omit<ChunkHandle, "sha256"> & { sha256: string | undefined };

const NO_PROBLEM: Promise<undefined> = Promise.resolve(undefined);

export class ChunkStore {
  readonly #limitBytes: number;
  readonly #highBytes: number;
  readonly #directory: SpillDirectory;
  readonly #entries = new Map<string, Entry>();
  /** Those in memory, the one that was not used for longest first. */
  readonly #recent = new Map<string, Entry>();
  #held = 0;
  #spilled = 0;
  #freed = 0;
  /** To chunks that are still coming in. */
  #granted = 0;
  /** One at a time, so that none is spilled twice. */
  #relief: Promise<ChunkError | undefined> = Promise.resolve(undefined);

  constructor({ limitBytes, directory, highWater = 0.6 }: ChunkStoreOptions) {
    this.#limitBytes = limitBytes;
    this.#highBytes = Math.floor(limitBytes * highWater);
    this.#directory = new SpillDirectory(directory);
  }

  /** In bytes. */
  get counters(): { readonly held: number; readonly spilled: number; readonly freed: number } {
    return { held: this.#held, spilled: this.#spilled, freed: this.#freed };
  }

  ids(): string[] {
    return [...this.#entries.keys()];
  }

  has(id: string): boolean {
    return this.#entries.has(id);
  }

  /** Throws `spill-failed`. */
  async put(owner: ChunkOwner, encoded: Encoded): Promise<ChunkHandle> {
    const handle = handleOf(encoded);
    if (handle.bytes <= this.#largestBytes) {
      const entry = this.#keep(owner, { ...handle, memory: encoded.bytes }, handle.kind);
      const problem = await this.#relieve();
      if (problem && entry.memory && this.#held > this.#limitBytes) {
        this.#forget(entry);
        throw problem;
      }
    } else {
      try {
        const path = await this.#write(encoded.bytes);
        this.#keep(owner, { ...handle, path }, handle.kind);
      } catch (error) {
        if (this.#held + this.#granted + handle.bytes > this.#limitBytes) throw error;
        this.#keep(owner, { ...handle, memory: encoded.bytes }, handle.kind);
      }
    }
    return handle;
  }

  /** One that is too small to be worth a file, and is seldom asked for: whoever puts it sees to it that they are few. */
  putSmall({ id, token }: ChunkOwner, { kind, bytes: memory }: Encoded): void {
    if (this.#entries.has(id)) return;
    const handle = { kind, bytes: memory.length, sha256: undefined };
    this.#entries.set(id, { id, token, handle, memory, path: undefined });
    this.#held += memory.length;
  }

  /** Takes in what comes, which must be as expected. Throws `spill-failed` and `damaged`. */
  async spool(
    owner: ChunkOwner,
    kind: ChunkKind,
    source: ByteStream,
    expected?: Omit<ChunkHandle, "kind">,
  ): Promise<ChunkHandle> {
    const stowed = await spool(source, this.#allowance, this.#directory, expected?.bytes);
    if (stowed.memory) this.#granted -= stowed.memory.length;
    if (expected && (stowed.bytes !== expected.bytes || stowed.sha256 !== expected.sha256)) {
      if (stowed.path !== undefined) await this.#directory.remove(stowed.path);
      throw damaged(owner.id, stowed, expected);
    }
    this.#keep(owner, stowed, kind);
    if (stowed.memory) await this.#relieve();
    return { kind, bytes: stowed.bytes, sha256: stowed.sha256 };
  }

  /**
   * Undefined: it is not here. The bytes are those of all who ask; what is lent is for functions to have as it is. Throws
   * `damaged` where it cannot be read back.
   */
  async read(id: string, isLent: boolean = false): Promise<Encoded | undefined> {
    const entry = this.#entries.get(id);
    if (!entry) return undefined;
    const bytes = entry.memory ?? (await this.#readBack(entry));
    return this.atHand(id, isLent) ?? { kind: entry.handle.kind, bytes: isLent ? lendable(bytes) : bytes };
  }

  /** The same of what is in memory. */
  atHand(id: string, isLent: boolean = false): Encoded | undefined {
    const entry = this.#entries.get(id);
    if (!entry?.memory) return undefined;
    this.#use(entry);
    // One copy for all of them, in place of it.
    if (isLent) entry.memory = lendable(entry.memory);
    return { kind: entry.handle.kind, bytes: entry.memory };
  }

  /** Undefined: it is not here. */
  kindOf(id: string): ChunkKind | undefined {
    return this.#entries.get(id)?.handle.kind;
  }

  /** For another worker. Undefined: it is not here, or none of that run's. */
  open(
    id: string,
  ): { readonly token: string; readonly handle: ChunkHandle; body(): Buffer | Readable } | undefined {
    const entry = this.#entries.get(id);
    if (!entry) return undefined;
    const { token, handle, path } = entry;
    handle.sha256 ??= sha256Of(entry.memory as Buffer);
    return {
      token,
      handle: handle as ChunkHandle,
      // Not brought back: what leaves the worker is seldom used here as well.
      body: () => entry.memory ?? createReadStream(entry.path ?? (path as string)),
    };
  }

  /** Nobody needs them any more. */
  free(ids: Iterable<string>): void {
    for (const id of ids) {
      const entry = this.#entries.get(id);
      if (!entry) continue;
      this.#freed += entry.handle.bytes;
      this.#forget(entry);
    }
  }

  /**
   * Deletes the chunk if it is not the expected one. After a restore from a backup another worker may make a chunk under the id of
   * one that was made here, in a future that the server no longer knows.
   */
  freeOther(id: string, { bytes, sha256 }: Omit<ChunkHandle, "kind">): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    const { handle, memory } = entry;
    if (handle.bytes === bytes) handle.sha256 ??= sha256Of(memory as Buffer);
    if (handle.bytes !== bytes || handle.sha256 !== sha256) this.free([id]);
  }

  /** Removes its files. */
  async close(): Promise<void> {
    this.free(this.ids());
    await this.#relief;
    await this.#directory.close();
  }

  /** A larger one would push out almost everything else. */
  get #largestBytes(): number {
    return Math.floor(this.#highBytes / 2);
  }

  readonly #allowance: Allowance = {
    grant: (more, before, hasDisk) => {
      if (hasDisk && before + more > this.#largestBytes) return false;
      if (this.#held + this.#granted + more > this.#limitBytes) return false;
      this.#granted += more;
      return true;
    },
    giveBack: (bytes) => {
      this.#granted -= bytes;
    },
  };

  #keep(owner: ChunkOwner, { bytes, sha256, memory, path }: Stowed, kind: ChunkKind): Entry {
    const before = this.#entries.get(owner.id);
    if (before) {
      if (path !== undefined) void this.#directory.remove(path);
      return before;
    }
    const entry: Entry = { ...owner, handle: { kind, bytes, sha256 }, memory, path };
    this.#entries.set(entry.id, entry);
    if (memory) this.#remember(entry, memory);
    else this.#spilled += bytes;
    return entry;
  }

  #remember(entry: Entry, memory: Buffer): void {
    entry.memory = memory;
    this.#held += entry.handle.bytes;
    this.#recent.set(entry.id, entry);
  }

  #use(entry: Entry): void {
    if (this.#recent.delete(entry.id)) this.#recent.set(entry.id, entry);
  }

  #forget(entry: Entry): void {
    this.#entries.delete(entry.id);
    if (entry.memory) this.#held -= entry.handle.bytes;
    else this.#spilled -= entry.handle.bytes;
    this.#recent.delete(entry.id);
    entry.memory = undefined;
    if (entry.path !== undefined) void this.#directory.remove(entry.path);
  }

  /** Why it could not go down to the high-water mark. */
  #relieve(): Promise<ChunkError | undefined> {
    if (this.#held <= this.#highBytes) return NO_PROBLEM;
    this.#relief = this.#relief.then(() => this.#spillDown());
    return this.#relief;
  }

  async #spillDown(): Promise<ChunkError | undefined> {
    while (this.#held > this.#highBytes) {
      const [entry] = this.#recent.values();
      if (!entry) return undefined;
      try {
        await this.#spill(entry);
      } catch (error) {
        return error as ChunkError;
      }
    }
    return undefined;
  }

  async #spill(entry: Entry): Promise<void> {
    const { memory } = entry;
    if (!memory) return;
    const path = entry.path ?? (await this.#write(memory));
    // Freed meanwhile.
    if (this.#entries.get(entry.id) !== entry) {
      await this.#directory.remove(path);
      return;
    }
    entry.path = path;
    entry.memory = undefined;
    this.#recent.delete(entry.id);
    this.#held -= entry.handle.bytes;
    this.#spilled += entry.handle.bytes;
  }

  async #write(bytes: Buffer): Promise<string> {
    const file = await this.#directory.create();
    try {
      await file.write(bytes);
      await file.close();
    } catch (error) {
      await file.discard();
      throw error;
    }
    return file.path;
  }

  async #readBack(entry: Entry): Promise<Buffer> {
    const { handle, id } = entry;
    const bytes = await readFile(entry.path as string).then(keepable, (cause: unknown) => cause as Error);
    const isRight =
      Buffer.isBuffer(bytes) && bytes.length === handle.bytes && sha256Of(bytes) === handle.sha256;
    const isCurrent = this.#entries.get(id) === entry;
    if (!isRight) {
      if (isCurrent) this.#forget(entry);
      const why = Buffer.isBuffer(bytes) ? "it is not what was written" : bytes.message;
      throw new ChunkError("damaged", `chunk ${id} cannot be read back from disk: ${why}`);
    }
    // Somebody else may have read it as well.
    if (entry.memory) return entry.memory;
    if (isCurrent && handle.bytes <= this.#largestBytes && this.#held + handle.bytes <= this.#limitBytes) {
      this.#spilled -= handle.bytes;
      this.#remember(entry, bytes);
      void this.#relieve();
    }
    return bytes;
  }
}

function damaged(id: string, found: Stowed, expected: Omit<ChunkHandle, "kind">): ChunkError {
  const what =
    found.bytes === expected.bytes
      ? "its SHA-256 is another one"
      : `it has ${found.bytes} bytes and should have ${expected.bytes}`;
  return new ChunkError("damaged", `chunk ${id} is not what was announced: ${what}`);
}
