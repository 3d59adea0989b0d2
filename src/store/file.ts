import { closeSync, existsSync, openSync, writeSync } from "node:fs";
import { type FileHandle, link, mkdir, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { type Block, GENESIS, type Head, headOf } from "../ledger/index.ts";
import { type SavedSnapshot, type Store, StoreError } from "./contract.ts";
import { headPath, LedgerFile, readSnapshot, snapshotPath } from "./ledger-file.ts";
import { buildsOn } from "./memory.ts";

/** Wide enough for any head, so that it is always overwritten in full by one write. */
const HEAD_BYTES = 160;

/** A ledger in a file, with its head and its last snapshot in files beside it. One process writes at a time. */
export class FileStore implements Store {
  readonly path: string;
  /** The bytes of an unfinished block that were dropped when it was opened. */
  readonly droppedBytes: number;
  #head: Head;
  readonly #blocks: FileHandle;
  readonly #headFile: number;
  #length: number;

  private constructor(path: string, head: Head, length: number, droppedBytes: number, blocks: FileHandle) {
    this.path = path;
    this.droppedBytes = droppedBytes;
    this.#head = head;
    this.#length = length;
    this.#blocks = blocks;
    this.#headFile = openSync(headPath(path), "a+");
    closeSync(this.#headFile);
    this.#headFile = openSync(headPath(path), "r+");
    this.#writeHead();
  }

  /** Opens a ledger to go on with it, or begins one where there is none. Refuses one that is damaged. */
  static async open(path: string): Promise<FileStore> {
    try {
      await makeDirectory(dirname(path));
      await lock(path);
      return await FileStore.#openLocked(path);
    } catch (cause) {
      if (cause instanceof StoreError) throw cause;
      throw new StoreError("unwritable", `${path}: ${(cause as Error).message}`, cause);
    }
  }

  static async #openLocked(path: string): Promise<FileStore> {
    const blocks = await open(path, "a+");
    try {
      const file = new LedgerFile(path);
      for await (const _ of file.blocks());
      if (file.damage) {
        const { seq, code, detail } = file.damage;
        throw new StoreError("damaged", `${path}: event ${seq} is the first bad one (${code}): ${detail}`);
      }
      if (file.tornBytes > 0) await blocks.truncate(file.soundBytes);
      return new FileStore(path, file.head, file.soundBytes, file.tornBytes, blocks);
    } catch (cause) {
      await blocks.close();
      await rm(lockPath(path), { force: true });
      throw cause;
    }
  }

  get head(): Head {
    return this.#head;
  }

  async commit(block: Block): Promise<boolean> {
    if (!buildsOn(block, this.#head)) return false;
    const bytes = Buffer.from(`${block.line}\n`);
    await this.#append(bytes);
    await this.#blocks.datasync();
    this.#length += bytes.length;
    this.#head = headOf(block);
    this.#writeHead();
    return true;
  }

  async *blocks(after: Head = GENESIS): AsyncGenerator<Block> {
    const file = new LedgerFile(this.path);
    for await (const block of file.blocks()) if (block.seq > after.seq) yield block;
  }

  async saveSnapshot(snapshot: SavedSnapshot): Promise<void> {
    const temporary = `${snapshotPath(this.path)}.tmp`;
    await writeFile(temporary, JSON.stringify(snapshot));
    await rename(temporary, snapshotPath(this.path));
  }

  async loadSnapshot(): Promise<SavedSnapshot | undefined> {
    return readSnapshot(this.path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    closeSync(this.#headFile);
    await this.#blocks.close();
    await rm(lockPath(this.path), { force: true });
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

/** `mkdir` with `recursive` never ends where a file system refuses a directory whose parent is there, like /proc. */
async function makeDirectory(path: string): Promise<void> {
  if (existsSync(path)) return;
  if (dirname(path) !== path) await makeDirectory(dirname(path));
  await mkdir(path).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== "EEXIST") throw cause;
  });
}

function lockPath(path: string): string {
  return `${path}.lock`;
}

/**
 * Takes the lock beside the ledger; one whose process is gone is nobody's. A link is made in one step, so a
 * lock is never seen without its owner.
 */
async function lock(path: string): Promise<void> {
  const own = `${lockPath(path)}.${process.pid}`;
  await writeFile(own, `${process.pid}\n`);
  try {
    while (!(await linked(own, lockPath(path)))) {
      const owner = Number.parseInt(await readFile(lockPath(path), "utf8").catch(() => ""), 10);
      if (owner > 0 && isAlive(owner)) {
        const advice = "wait for it, or choose another with --ledger";
        throw new StoreError("locked", `${path}: process ${owner} is writing this ledger; ${advice}`);
      }
      await rm(lockPath(path), { force: true });
    }
  } finally {
    await rm(own, { force: true });
  }
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw cause;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === "EPERM";
  }
}
