import { crc32OfBytes, sha256HexOf } from "../core/index.ts";
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

/** Gathers the events of a turn, as text, and seals them into a block; then it is ready for the next turn. */
export class BlockWriter {
  readonly #events = new ByteWriter();
  #checks: number[] = [];
  #check = 0;

  get count(): number {
    return this.#checks.length;
  }

  add(event: LedgerEvent): void {
    const events = this.#events;
    if (this.#checks.length > 0) events.ascii(",");
    const from = events.size;
    writeEvent(events, event);
    this.#check = crc32OfBytes(events.bytes, from, events.size, this.#check);
    this.#checks.push(this.#check);
  }

  seal(head: Head, epoch: number, now: number): Block {
    const seq = head.seq + 1;
    const before = `{"v":1,"epoch":${epoch},"seq":${seq},"prev":"${head.hash}","now":${now},"events":[`;
    const after = `],"checks":"${hexOf(this.#checks)}"`;
    const events = this.#events;
    const bytes = events.bytes.subarray(0, events.size);
    const hash = sha256HexOf([before, bytes, after]);
    const line = `${before}${events}${after},"hash":"${hash}"}`;
    const block = { epoch, seq, count: this.count, prev: head.hash, now, hash, line };
    events.clear();
    this.#checks = [];
    this.#check = 0;
    return block;
  }
}

/** Eight digits for each. */
export function hexOf(checks: readonly number[]): string {
  const bytes = Buffer.allocUnsafe(4 * checks.length);
  for (let at = 0; at < checks.length; at++) bytes.writeUInt32BE(checks[at] as number, 4 * at);
  return bytes.toString("hex");
}
