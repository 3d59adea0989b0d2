import { crc32OfBytes, sha256Hex } from "../core/index.ts";
import { ByteWriter } from "./byte-writer.ts";
import { writeEvent } from "./event-writer.ts";
import type { LedgerEvent } from "./events.ts";

/**
 * A block is a line of JSON: what one turn recorded, in a fixed order of keys. Its hash is the SHA-256 of
 * the line's bytes before `,"hash"`, which hold the hash of the block before it; so a line can be checked
 * with any tool, without parsing it. `checks` holds for each event eight hex digits, the CRC-32 of the
 * event's text continued from the check before it: they tell which event of a damaged block is the first
 * bad one.
 */
export interface Block {
  readonly epoch: number;
  /** The sequence of its first event; the others follow without gaps. */
  readonly seq: number;
  readonly count: number;
  readonly prev: string;
  readonly now: number;
  readonly hash: string;
  readonly line: string;
}

/** The end of the chain: what the next block must build on. */
export interface Head {
  readonly epoch: number;
  /** The sequence of the last event; 0 before the first, which has sequence 1. */
  readonly seq: number;
  readonly hash: string;
}

export const GENESIS: Head = { epoch: 0, seq: 0, hash: "0".repeat(64) };

export function headOf(block: Block): Head {
  return { epoch: block.epoch, seq: block.seq + block.count - 1, hash: block.hash };
}

/** More than a block's text before its events: three numbers, a hash and what stands between them. */
const ROOM_BEFORE = 256;

/** Gathers the events of a turn, as text, and seals them into a block; then it is ready for the next turn. */
export class BlockWriter {
  readonly #text = new ByteWriter(ROOM_BEFORE);
  readonly #checks: number[] = [];
  #check = 0;

  get count(): number {
    return this.#checks.length;
  }

  add(event: LedgerEvent): void {
    const text = this.#text;
    if (this.#checks.length > 0) text.ascii(",");
    const from = text.size;
    writeEvent(text, event);
    this.#check = crc32OfBytes(text.bytes, from, text.size, this.#check);
    this.#checks.push(this.#check);
  }

  seal({ seq: lastSeq, hash: prev }: Head, epoch: number, now: number): Block {
    const text = this.#text;
    const checks = this.#checks;
    const seq = lastSeq + 1;
    text.prepend(`{"v":1,"epoch":${epoch},"seq":${seq},"prev":"${prev}","now":${now},"events":[`);
    text.ascii('],"checks":"');
    for (const check of checks) text.hex32(check);
    text.ascii('"');
    const hash = sha256Hex(text.written);
    text.ascii(`,"hash":"${hash}"}`);
    const block = { epoch, seq, count: checks.length, prev, now, hash, line: text.toString() };
    text.clear();
    checks.length = 0;
    this.#check = 0;
    return block;
  }
}
