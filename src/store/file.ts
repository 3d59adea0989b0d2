import { closeSync, openSync, writeSync } from "node:fs";
import { type FileHandle, open, rename, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { makeDirectory } from "../files/index.ts";
import { type Block, GENESIS, type Head, headOf } from "../ledger/index.ts";
import { type SavedSnapshot, type Store, StoreError } from "./contract.ts";
import { headPath, LedgerFile, readSnapshot, snapshotPath } from "./ledger-file.ts";
import { lockFile } from "./lock.ts";
import { buildsOn } from "./memory.ts";

/** Wide enough for any head, so that it is always overwritten in full by one write. */
const HEAD_BYTES = 160;

const TAKEN = "another process is writing this ledger; wait for it, or choose another with --ledger";

/** A ledger in a file, with its head and its last snapshot in files beside it. One process writes at a time. */
export class FileStore implements Store {
  readonly path: string;
  /** The bytes of an unfinished block that were dropped when it was opened. */
  readonly droppedBytes: number;
  #head: Head;
  readonly #blocks: FileHandle;
  readonly #headFile: number;
  #length: number;
  /** Settles when what was sent before is written. */
  #last: Promise<unknown> = Promise.resolve();
  readonly #lock: AsyncDisposable;
  #snapshot: SavedSnapshot | undefined;

  private constructor(
    path: string,
    file: LedgerFile,
    blocks: FileHandle,
    lock: AsyncDisposable,
    snapshot: SavedSnapshot | undefined,
  ) {
    this.path = path;
    this.droppedBytes = file.tornBytes;
    this.#head = file.head;
    this.#length = file.soundBytes;
    this.#blocks = blocks;
    this.#lock = lock;
    this.#snapshot = snapshot;
    closeSync(openSync(headPath(path), "a"));
    this.#headFile = openSync(headPath(path), "r+");
    this.#writeHead();
  }

  /** Opens a ledger to go on with it, or begins one where there is none. Refuses one that is damaged. */
  static async open(path: string): Promise<FileStore> {
    try {
      await makeDirectory(dirname(path));
      await refuseForeign(path);
      const lock = await lockFile(path, `${path}: ${TAKEN}`);
      try {
        return await FileStore.#openLocked(path, lock);
      } catch (cause) {
        await lock[Symbol.asyncDispose]();
        throw cause;
      }
    } catch (cause) {
      if (cause instanceof StoreError) throw cause;
      throw new StoreError("unwritable", `${path}: ${(cause as Error).message}`, cause);
    }
  }

  static async #openLocked(path: string, lock: AsyncDisposable): Promise<FileStore> {
    const blocks = await open(path, "a+");
    try {
      const file = new LedgerFile(path);
      const saved = await readSnapshot(path);
      let snapshot: SavedSnapshot | undefined;
      for await (const block of file.blocks()) {
        if (saved?.head.seq === headOf(block).seq && saved.head.hash === block.hash) snapshot = saved;
      }
      if (file.damage) {
        const { seq, code, detail } = file.damage;
        if (seq === 1 && code === "not a block") {
          throw new StoreError("foreign", `${path} is not a ledger; choose another file with --ledger`);
        }
        throw new StoreError("damaged", `${path}: event ${seq} is the first bad one (${code}): ${detail}`);
      }
      if (file.tornBytes > 0) await blocks.truncate(file.soundBytes);
      return new FileStore(path, file, blocks, lock, snapshot);
    } catch (cause) {
      await blocks.close();
      throw cause;
    }
  }

  get head(): Head {
    return this.#head;
  }

  commit(block: Block): Promise<boolean> {
    const result = this.#last.then(() => this.#commit(block));
    this.#last = result.catch(() => {});
    return result;
  }

  async #commit(block: Block): Promise<boolean> {
    if (!buildsOn(block, this.#head)) return false;
    const bytes = Buffer.from(`${block.line}\n`);
    await this.#append(bytes);
    await this.#blocks.datasync();
    this.#length += bytes.length;
    this.#head = headOf(block);
    this.#writeHead();
    return true;
  }

  /** Takes any content. */
  async probe(): Promise<undefined> {}

  async *blocks(after: Head = GENESIS): AsyncGenerator<Block> {
    const file = new LedgerFile(this.path);
    for await (const block of file.blocks()) if (block.seq > after.seq) yield block;
  }

  /** Whether what is found under its name is what was written: a task may have removed or changed it. */
  async isWhole(): Promise<boolean> {
    const [own, found] = await Promise.all([this.#blocks.stat(), stat(this.path).catch(() => undefined)]);
    return own.ino === found?.ino && own.size === this.#length;
  }

  async saveSnapshot(snapshot: SavedSnapshot): Promise<void> {
    const temporary = `${snapshotPath(this.path)}.tmp`;
    await writeFile(temporary, JSON.stringify(snapshot));
    await rename(temporary, snapshotPath(this.path));
    this.#snapshot = snapshot;
  }

  async loadSnapshot(): Promise<SavedSnapshot | undefined> {
    return this.#snapshot;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    closeSync(this.#headFile);
    await this.#blocks.close();
    await this.#lock[Symbol.asyncDispose]();
  }

  async #append(bytes: Buffer): Promise<void> {
    try {
      for (let done = 0; done < bytes.length; ) done += (await this.#blocks.write(bytes, done)).bytesWritten;
    } catch (cause) {
      // A part of a line must not stay: the next block would be glued to it.
      await this.#blocks.truncate(this.#length);
      throw new StoreError("unwritable", `${this.path}: ${(cause as Error).message}`, cause);
    }
  }

  /** After the block and without waiting for the disk: a head that is behind is caught up when it is opened. */
  #writeHead(): void {
    const { epoch, seq, hash } = this.#head;
    writeSync(
      this.#headFile,
      `{"v":1,"epoch":${epoch},"seq":${seq},"hash":"${hash}"}`.padEnd(HEAD_BYTES - 1).concat("\n"),
      0,
    );
  }
}

/** Opening a device or a pipe could do anything, or never return. */
async function refuseForeign(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found && !found.isFile()) {
    throw new StoreError("foreign", `${path} is not a file; choose another with --ledger`);
  }
}
