import { crc32, sha256Hex } from "../core/index.ts";
import { type Block, GENESIS, type Head, headOf } from "./block.ts";

/** Where a ledger stops being what was written. `seq` is the first event that cannot be trusted. */
export interface Damage {
  readonly seq: number;
  readonly code:
    | "not a block"
    | "out of order"
    | "changed"
    | "broken chain"
    | "truncated"
    | "time runs backwards";
  readonly detail: string;
}

const HEADER =
  /^\{"v":1,"epoch":(\d{1,15}),"seq":(\d{1,15}),"prev":"([0-9a-f]{64})","now":(-?\d{1,15}),"events":\[/;
const TRAILER = /\],"checks":"([0-9a-f]*)","hash":"([0-9a-f]{64})"\}$/;
const TRAILER_LENGTH = '],"checks":"'.length + '","hash":""}'.length + 64;

/** Checks lines one after the other against the chain that they should continue. */
export class ChainVerifier {
  #head: Head;
  #now: number;

  constructor(from: Head = GENESIS, now: number = Number.MIN_SAFE_INTEGER) {
    this.#head = from;
    this.#now = now;
  }

  get head(): Head {
    return this.#head;
  }

  /** The block of a line that is as it was written and comes next, or what is wrong with it. */
  accept(line: string): Block | Damage {
    const expected = this.#head.seq + 1;
    const header = HEADER.exec(line);
    if (!header && /^\{"v":(?!1,)\d/.test(line)) {
      return { seq: expected, code: "not a block", detail: "it was written by a newer version of Orrery" };
    }
    if (!header)
      return { seq: expected, code: "not a block", detail: "the line does not begin as a block does" };
    const [start, epoch, seq, prev, now] = header as unknown as [string, string, string, string, string];
    const hash = line.slice(-66, -2);
    const body = line.slice(0, -TRAILER_HASH_LENGTH);
    if (!line.endsWith(`,"hash":"${hash}"}`) || sha256Hex(body) !== hash)
      return changed(line, start.length, expected);
    if (Number(seq) !== expected) {
      return {
        seq: expected,
        code: "out of order",
        detail: `a block that begins at ${seq} stands in its place`,
      };
    }
    if (prev !== this.#head.hash || Number(epoch) < this.#head.epoch) {
      return { seq: expected, code: "broken chain", detail: "the block does not build on the one before it" };
    }
    if (Number(now) < this.#now) {
      return { seq: expected, code: "time runs backwards", detail: `${now} comes after ${this.#now}` };
    }
    const checks = TRAILER.exec(line.slice(line.lastIndexOf("]")))?.[1] ?? "";
    const block: Block = {
      epoch: Number(epoch),
      seq: expected,
      count: checks.length / 8,
      prev,
      now: Number(now),
      hash,
      line,
    };
    this.#head = headOf(block);
    this.#now = block.now;
    return block;
  }

  /** Whether the chain reaches the head that was kept beside it. */
  acceptEnd(head: Head): Damage | undefined {
    if (head.seq <= this.#head.seq) return undefined;
    return {
      seq: this.#head.seq + 1,
      code: "truncated",
      detail: `the head says that it goes on to ${head.seq}`,
    };
  }
}

const TRAILER_HASH_LENGTH = ',"hash":""}'.length + 64;

/** The line is not what was hashed: find the first event whose check fails. */
function changed(line: string, from: number, expected: number): Damage {
  const trailer = line.lastIndexOf('],"checks":"');
  const checks =
    trailer < 0 ? "" : line.slice(trailer + '],"checks":"'.length, line.length - TRAILER_HASH_LENGTH - 1);
  let check = 0;
  let index = 0;
  for (const text of splitEvents(line, from)) {
    check = crc32(text, check);
    if (check.toString(16).padStart(8, "0") !== checks.slice(index * 8, index * 8 + 8)) {
      return {
        seq: expected + index,
        code: "changed",
        detail: `event ${index + 1} of its block fails its check`,
      };
    }
    index++;
  }
  const complete = trailer >= 0 && line.length - trailer === TRAILER_LENGTH + index * 8;
  return complete
    ? { seq: expected, code: "changed", detail: "the block's own fields were changed, its events were not" }
    : { seq: expected + index, code: "changed", detail: "the block does not end as a block does" };
}

/** The texts of the events of a line, cut at the commas between them, as far as it can be read. */
function* splitEvents(line: string, from: number): Generator<string> {
  let start = from;
  let depth = 0;
  let inText = false;
  for (let at = from; at < line.length; at++) {
    const unit = line[at];
    if (inText) {
      if (unit === "\\") at++;
      else if (unit === '"') inText = false;
    } else if (unit === '"') inText = true;
    else if (unit === "[" || unit === "{") depth++;
    else if (unit === "]" || unit === "}") {
      if (depth === 0) return;
      if (--depth === 0) {
        yield line.slice(start, at + 1);
        if (line[at + 1] !== ",") return;
        start = at + 2;
        at++;
      }
    }
  }
  if (start < line.length) yield line.slice(start);
}
