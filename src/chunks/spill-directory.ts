import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { type FileHandle, mkdir, open, readdir, readFile, rm, unlink } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { makeDirectory } from "../files/index.ts";
import { spillFailed } from "./errors.ts";

/**
 * Where the chunks of this process lie that do not fit into memory: a directory within the given one, made when the first
 * comes and removed with the process. What processes left behind that were killed is removed by the next that spills there.
 */
export class SpillDirectory {
  readonly #parent: string;
  #made: Promise<string> | undefined;
  #path: string | undefined;
  #files = 0;

  constructor(parent: string) {
    this.#parent = parent;
  }

  /** A new file, empty. Throws `spill-failed`. */
  async create(): Promise<SpillFile> {
    // Asked again after a failure: a disk may be there, or have room, by then.
    this.#made ??= this.#make().catch((error: unknown) => {
      this.#made = undefined;
      throw error;
    });
    try {
      const path = join(await this.#made, String(this.#files++));
      return new SpillFile(path, await open(path, "wx", 0o600));
    } catch (error) {
      throw spillFailed(error);
    }
  }

  async remove(path: string): Promise<void> {
    await unlink(path).catch(() => {});
  }

  async close(): Promise<void> {
    await this.#made?.catch(() => {});
    if (this.#path !== undefined) await rm(this.#path, { recursive: true, force: true }).catch(() => {});
    process.off("exit", this.#removeAtExit);
  }

  async #make(): Promise<string> {
    await makeDirectory(this.#parent, 0o700);
    await removeLeftovers(this.#parent);
    const path = join(this.#parent, await ownName());
    await mkdir(path, { mode: 0o700 });
    this.#path = path;
    process.once("exit", this.#removeAtExit);
    return path;
  }

  readonly #removeAtExit = (): void => {
    if (this.#path !== undefined) rmSync(this.#path, { recursive: true, force: true });
  };
}

/** A file that is being written. All of its methods throw `spill-failed`. */
export class SpillFile {
  readonly path: string;
  readonly #file: FileHandle;

  constructor(path: string, file: FileHandle) {
    this.path = path;
    this.#file = file;
  }

  async write(bytes: Uint8Array): Promise<void> {
    try {
      for (let at = 0; at < bytes.length; ) {
        // A disk that has just become full takes a part.
        const { bytesWritten } = await this.#file.write(bytes, at);
        if (bytesWritten === 0) throw new Error("the disk takes no more");
        at += bytesWritten;
      }
    } catch (error) {
      throw spillFailed(error);
    }
  }

  async close(): Promise<void> {
    try {
      await this.#file.close();
    } catch (error) {
      throw spillFailed(error);
    }
  }

  /** Of no use any more. */
  async discard(): Promise<void> {
    await this.#file.close().catch(() => {});
    await unlink(this.path).catch(() => {});
  }
}

/** Machines may share a disk, and numbers of processes come again: the name says which machine and which process. */
async function ownName(): Promise<string> {
  const started = (await startOf(process.pid)) ?? 0;
  return [PREFIX, process.pid, started, randomBytes(4).toString("hex"), hostname()].join(SEPARATOR);
}

const PREFIX = "chunks";
const SEPARATOR = "_";

async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const [prefix, pid, started, , ...host] = name.split(SEPARATOR);
    if (prefix !== PREFIX || host.join(SEPARATOR) !== hostname()) continue;
    if (String(await startOf(Number(pid))) === started) continue;
    await rm(join(parent, name), { recursive: true, force: true }).catch(() => {});
  }
}

/** When a process started, in ticks since the machine did; undefined: there is none. */
async function startOf(pid: number): Promise<number | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => undefined);
  // The name of the program comes second, in brackets, and may itself hold any of them.
  const started = stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  return started === undefined ? undefined : Number(started);
}
