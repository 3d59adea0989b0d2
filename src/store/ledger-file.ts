import { constants, isUtf8 } from "node:buffer";
import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { type Block, ChainVerifier, type Damage, GENESIS, type Head } from "../ledger/index.ts";
import { type SavedSnapshot, StoreError } from "./contract.ts";

const NEWLINE = 10;

export function headPath(path: string): string {
  return `${path}.head`;
}

export function snapshotPath(path: string): string {
  return `${path}.snapshot`;
}

/**
 * Reads a ledger file, checking as it goes: a block a line, and beside it the head, which tells where it ended.
 *
 * A process that dies while it writes leaves an unfinished last line behind the kept head: that is torn, not
 * damaged, because nobody was told of it. A file that ends before its head was cut.
 */
export class LedgerFile {
  readonly path: string;
  /** What is wrong, known when the blocks have been read. */
  damage: Damage | undefined;
  /** The bytes of an unfinished last line. */
  tornBytes = 0;
  /** The length of the part that can be trusted. */
  soundBytes = 0;
  /** The head kept beside the blocks; undefined where there is none. */
  keptHead: Head | undefined;
  #verifier = new ChainVerifier();

  constructor(path: string) {
    this.path = path;
  }

  get head(): Head {
    return this.#verifier.head;
  }

  /** The blocks up to the first damage. */
  async *blocks(): AsyncGenerator<Block> {
    this.#verifier = new ChainVerifier();
    this.damage = undefined;
    this.tornBytes = 0;
    this.soundBytes = 0;
    const head = await readHead(this.path);
    this.keptHead = head === "damaged" ? undefined : head;
    for await (const { bytes, complete } of linesOf(this.path)) {
      if (!complete && this.#isBeyondHead() && beginsAsBlock(bytes)) {
        this.tornBytes = bytes.length;
        break;
      }
      const block = this.#verifier.accept(bytes.toString("utf8"));
      if ("code" in block) {
        this.damage = block;
        return;
      }
      if (!isUtf8(bytes)) {
        // Wrong bytes become U+FFFD when they are read, and may stand where one was written.
        this.damage = { seq: block.seq, code: "changed", detail: "the line is not UTF-8" };
        return;
      }
      if (!complete) {
        this.damage = { seq: block.seq, code: "truncated", detail: "the end of its line is missing" };
        return;
      }
      this.soundBytes += bytes.length + 1;
      if (this.keptHead && this.#passesHead(block, this.keptHead)) {
        this.damage = {
          seq: block.seq,
          code: "broken chain",
          detail: "the head beside the ledger names another block",
        };
        return;
      }
      yield block;
    }
    this.damage =
      head === "damaged"
        ? { seq: this.head.seq + 1, code: "truncated", detail: "the head beside the ledger cannot be read" }
        : this.#verifier.acceptEnd(this.keptHead ?? GENESIS);
  }

  /** Whether the block goes past the kept head without ending in it. */
  #passesHead(block: Block, kept: Head): boolean {
    const { epoch, seq, hash } = this.head;
    if (seq < kept.seq || block.seq > Math.max(kept.seq, 1)) return false;
    return kept.seq === 0
      ? kept.hash !== GENESIS.hash
      : seq !== kept.seq || epoch !== kept.epoch || hash !== kept.hash;
  }

  #isBeyondHead(): boolean {
    return this.keptHead === undefined || this.head.seq >= this.keptHead.seq;
  }
}

const BLOCK_BEGIN = '{"v":1,"epoch":';

/** A line that a crash cut off begins as a block does; anything else was never written by us. */
function beginsAsBlock(bytes: Buffer): boolean {
  const begin = bytes.subarray(0, BLOCK_BEGIN.length).toString("latin1");
  return BLOCK_BEGIN.startsWith(begin);
}

async function* linesOf(path: string): AsyncGenerator<{ bytes: Buffer; complete: boolean }> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
      let from = 0;
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
        pending.push(chunk.subarray(from, at));
        yield {
          bytes: pending.length === 1 ? (pending[0] as Buffer) : Buffer.concat(pending),
          complete: true,
        };
        pending = [];
        from = at + 1;
      }
      if (from < chunk.length) pending.push(chunk.subarray(from));
      pendingBytes = pending.length === 0 ? 0 : pendingBytes + chunk.length;
      if (pendingBytes > constants.MAX_STRING_LENGTH) {
        throw new StoreError("damaged", `${path}: a line is longer than any block`);
      }
    }
  } catch (cause) {
    if (cause instanceof StoreError) throw cause;
    const missing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    throw missing
      ? new StoreError("missing", `${path}: no such file`, cause)
      : new StoreError("unreadable", `${path}: ${(cause as Error).message}`, cause);
  }
  if (pending.length > 0) yield { bytes: Buffer.concat(pending), complete: false };
}

async function readHead(path: string): Promise<Head | "damaged" | undefined> {
  let text: string;
  try {
    text = await readFile(headPath(path), "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new StoreError("unreadable", `${headPath(path)}: ${(cause as Error).message}`, cause);
  }
  // The process died between making the file and writing to it.
  if (text === "") return undefined;
  const found = /^\{"v":1,"epoch":(\d{1,15}),"seq":(\d{1,15}),"hash":"([0-9a-f]{64})"\} *\n$/.exec(text);
  if (!found) return "damaged";
  return { epoch: Number(found[1]), seq: Number(found[2]), hash: found[3] as string };
}

/** The last snapshot beside a ledger, if it has the form of one. Whether it is true is for the caller to check. */
export async function readSnapshot(path: string): Promise<SavedSnapshot | undefined> {
  try {
    const saved = JSON.parse(await readFile(snapshotPath(path), "utf8")) as Partial<SavedSnapshot> | null;
    const { head, stateHash, state } = saved ?? {};
    if (typeof head?.seq !== "number" || typeof head.hash !== "string") return undefined;
    if (typeof stateHash !== "string" || typeof state !== "object" || state === null) return undefined;
    return { head, stateHash, state };
  } catch {
    // A snapshot only saves time: one that is missing or cannot be read is as good as none.
    return undefined;
  }
}
