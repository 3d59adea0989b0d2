import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyEvent } from "../../tests/any-event.ts";
import {
  type Block,
  BlockWriter,
  ChainVerifier,
  type Damage,
  encodeEvent,
  GENESIS,
  type Head,
  headOf,
} from "./index.ts";

/** A block as it was written, with the texts that its line is made of. */
interface Written {
  readonly block: Block;
  readonly before: Head;
  readonly nowBefore: number;
  readonly events: readonly string[];
  readonly checks: readonly string[];
}

/** Where the first bad event must be found. */
interface Place {
  readonly first: number;
  readonly last: number;
}

const BLOCKS = 300;
const LEDGER = writeLedger();
const END = headOf((LEDGER.at(-1) as Written).block);

test("[P-15] a ledger as it was written verifies, and reaches its head", () => {
  expect(findDamage(LEDGER.map(({ block }) => block.line))).toBeUndefined();
});

test("[P-15] verifying can begin at any block", () => {
  for (const { block, before, nowBefore } of LEDGER) {
    expect(new ChainVerifier(before, nowBefore).accept(block.line)).toEqual(block);
  }
});

describe("[P-15] 10,000 damages are all found, and where they are:", () => {
  const anyPick = fc.tuple(fc.nat(BLOCKS - 1), fc.nat(), fc.nat(), fc.nat());
  const cases: readonly (readonly [
    string,
    number,
    (line: number, ...picks: number[]) => Damaged | undefined,
  ])[] = [
    ["a flipped bit", 3_000, flipBit],
    ["a changed byte", 2_000, changeByte],
    ["bytes cut out of an event", 1_000, cutInside],
    ["two events of a block swapped, their checks with them or not", 800, swapEvents],
    ["an event dropped, its check with it or not", 800, dropEvent],
    ["an event twice, its check too or not", 800, repeatEvent],
    ["two lines swapped", 400, swapLines],
    ["a line dropped", 400, dropLine],
    ["a line twice", 400, repeatLine],
    ["the end cut off", 400, truncate],
  ];
  test("there are 10,000", () => {
    expect(cases.reduce((sum, [, count]) => sum + count, 0)).toBe(10_000);
  });
  test.each(cases)("%s", (_name, numRuns, damage) => {
    let tried = 0;
    fc.assert(
      fc.property(anyPick, ([line, ...picks]) => {
        const damaged = damage(line, ...picks);
        if (!damaged) return;
        tried++;
        const found = findDamage(damaged.lines, damaged.from);
        expect(found, "the damage is found").toBeDefined();
        const { seq } = found as Damage;
        const { first, last } = damaged.place;
        expect(seq >= first && seq <= last, `${seq} lies in ${first}…${last}`).toBe(true);
      }),
      { seed: 1, numRuns },
    );
    expect(tried).toBeGreaterThan(numRuns * 0.6);
  });
});

test("[P-15] the same damage is found when verifying begins at the beginning", () => {
  for (let line = 0; line < BLOCKS; line += 10) {
    const damaged = flipBit(line, line * 7_919, line) as Damaged;
    const whole = [...LEDGER.slice(0, damaged.from).map(({ block }) => block.line), ...damaged.lines];
    expect(findDamage(whole)).toEqual(findDamage(damaged.lines, damaged.from));
  }
});

test("[P-15] a ledger that was cut between blocks is found by its head alone", () => {
  const cut = LEDGER.slice(0, -2).map(({ block }) => block.line);
  const first = (LEDGER.at(-2) as Written).block.seq;
  expect(findDamage(cut)).toMatchObject({ seq: first, code: "truncated" });
});

describe("[P-15] a line whose hash was made to match again is found by the chain:", () => {
  const { block, before, nowBefore } = LEDGER[10] as Written;
  const verifier = () => new ChainVerifier({ ...before, epoch: 1 }, nowBefore);
  const cases: readonly (readonly [string, RegExp, string, string])[] = [
    ["another block before it", /"prev":"[0-9a-f]{64}"/, `"prev":"${"a".repeat(64)}"`, "broken chain"],
    ["an older epoch", /"epoch":\d+/, '"epoch":0', "broken chain"],
    ["a time before the last", /"now":\d+/, `"now":${nowBefore - 1}`, "time runs backwards"],
    ["another sequence", /"seq":\d+/, `"seq":${block.seq + 1}`, "out of order"],
    ["another version", /"v":1/, '"v":2', "not a block"],
  ];
  test.each(cases)("%s", (_name, field, replacement, code) => {
    expect(verifier().accept(block.line)).toEqual(block);
    expect(verifier().accept(sealedAgain(block.line.replace(field, replacement)))).toMatchObject({
      seq: block.seq,
      code,
    });
  });
});

test("[P-15] what is no block at all is said to be none", () => {
  for (const line of ["", "{}", "null", '{"v":1}', `x${(LEDGER[0] as Written).block.line}`]) {
    expect(new ChainVerifier().accept(line)).toMatchObject({ seq: 1, code: "not a block" });
  }
});

/** Lines that stand in the place of those from `from` on. */
interface Damaged {
  readonly from: number;
  readonly lines: readonly string[];
  readonly place: Place;
}

function flipBit(line: number, offset: number, bit: number): Damaged {
  return withByte(line, offset, (byte) => byte ^ (1 << (bit % 8)));
}

function changeByte(line: number, offset: number, by: number): Damaged {
  return withByte(line, offset, (byte) => (byte + 1 + (by % 255)) & 255);
}

function withByte(line: number, anyOffset: number, change: (byte: number) => number): Damaged {
  const bytes = Buffer.from(`${linesFrom(line).slice(0, 2).join("\n")}\n`);
  const end = Buffer.byteLength((LEDGER[line] as Written).block.line);
  const offset = anyOffset % (end + 1);
  bytes[offset] = change(bytes[offset] as number);
  const lines = bytes.toString("utf8").split("\n");
  if (lines.at(-1) === "") lines.pop();
  const { seq, count } = (LEDGER[line] as Written).block;
  // A new line break leaves a line without its checks, and the next line joined to it hides them: then no
  // event of the block can be told from a bad one.
  const whole = offset < end && bytes[offset] !== 10;
  return {
    from: line,
    lines: [...lines, ...linesFrom(line + 2)],
    place: whole ? placeOf(line, offset) : { first: seq, last: seq + count },
  };
}

/** The event that a byte of a line belongs to: by its text, or by its check. Other bytes belong to the block. */
function placeOf(line: number, offset: number): Place {
  const { block, events, checks } = LEDGER[line] as Written;
  let at = Buffer.byteLength(block.line.slice(0, block.line.indexOf('"events":[') + '"events":['.length));
  for (const [index, text] of events.entries()) {
    const end = at + Buffer.byteLength(text);
    if (offset >= at && offset < end) return exactly(block.seq + index);
    // The comma behind it: the next event cannot be read.
    if (offset === end && index < events.length - 1) return exactly(block.seq + index + 1);
    at = end + 1;
  }
  const firstCheck = at + ',"checks":"'.length;
  const check = Math.floor((offset - firstCheck) / 8);
  if (offset >= firstCheck && check < checks.length) return exactly(block.seq + check);
  return exactly(block.seq);
}

function cutInside(line: number, which: number, anyStart: number, anyLength: number): Damaged {
  const { block, events, checks } = LEDGER[line] as Written;
  const index = which % events.length;
  const text = events[index] as string;
  const start = anyStart % text.length;
  const length = 1 + (anyLength % Math.min(20, text.length - start));
  const cut = text.slice(0, start) + text.slice(start + length);
  const lines = [composed(block, events.with(index, cut), checks), ...linesFrom(line + 1)];
  // The last bracket of the last event or the one behind it: either may be the one that is missing.
  const hidden = index === events.length - 1 && `${cut}]` === text;
  return { from: line, lines, place: exactly(hidden ? block.seq : block.seq + index) };
}

function swapEvents(line: number, a: number, b: number, withChecks: number): Damaged | undefined {
  const { events, checks } = LEDGER[line] as Written;
  return rearranged(
    line,
    swapped(events, a % events.length, b % events.length),
    withChecks % 2 ? swapped(checks, a % events.length, b % events.length) : checks,
  );
}

function dropEvent(line: number, which: number, withCheck: number): Damaged {
  const { block, events, checks } = LEDGER[line] as Written;
  const index = which % events.length;
  const damaged = rearranged(
    line,
    events.toSpliced(index, 1),
    withCheck % 2 ? checks.toSpliced(index, 1) : checks,
  ) as Damaged;
  // Without its last event and check, a block looks like one whose other fields were changed: none of its
  // events can be trusted.
  const hidden = withCheck % 2 && index === events.length - 1;
  return hidden ? { ...damaged, place: exactly(block.seq) } : damaged;
}

function repeatEvent(line: number, which: number, withCheck: number): Damaged {
  const { events, checks } = LEDGER[line] as Written;
  const index = which % events.length;
  return rearranged(
    line,
    events.toSpliced(index, 0, events[index] as string),
    withCheck % 2 ? checks.toSpliced(index, 0, checks[index] as string) : checks,
  ) as Damaged;
}

/** The first bad event is the first that is not the one that was written there. */
function rearranged(line: number, events: readonly string[], checks: readonly string[]): Damaged | undefined {
  const { block, events: before } = LEDGER[line] as Written;
  const length = Math.max(events.length, before.length);
  const index = Array.from({ length }, (_, at) => at).find((at) => events[at] !== before[at]);
  if (index === undefined) return undefined;
  const lines = [composed(block, events, checks), ...linesFrom(line + 1)];
  return { from: line, lines, place: exactly(block.seq + index) };
}

function swapLines(line: number, other: number): Damaged | undefined {
  const [a, b] = [line, other % BLOCKS].sort((x, y) => x - y) as [number, number];
  if (a === b) return undefined;
  return {
    from: a,
    lines: swapped(linesFrom(a), 0, b - a),
    place: exactly((LEDGER[a] as Written).block.seq),
  };
}

function dropLine(line: number): Damaged {
  const { seq } = (LEDGER[line] as Written).block;
  return { from: line, lines: linesFrom(line + 1), place: exactly(seq) };
}

function repeatLine(line: number): Damaged {
  const { block } = LEDGER[line] as Written;
  return { from: line, lines: [block.line, ...linesFrom(line)], place: exactly(block.seq + block.count) };
}

function truncate(line: number, anyOffset: number): Damaged | undefined {
  const { block } = LEDGER[line] as Written;
  const length = anyOffset % (block.line.length + 1);
  if (length === 0) return { from: line, lines: [], place: exactly(block.seq) };
  if (length < block.line.length) {
    return {
      from: line,
      lines: [block.line.slice(0, length)],
      place: { first: block.seq, last: block.seq + block.count },
    };
  }
  return line === BLOCKS - 1
    ? undefined
    : { from: line, lines: [block.line], place: exactly(block.seq + block.count) };
}

function findDamage(lines: readonly string[], from = 0): Damage | undefined {
  const { before, nowBefore } = LEDGER[from] as Written;
  const verifier = new ChainVerifier(before, nowBefore);
  for (const line of lines) {
    const block = verifier.accept(line);
    if ("code" in block) return block;
  }
  return verifier.acceptEnd(END);
}

function linesFrom(line: number): string[] {
  return LEDGER.slice(line).map(({ block }) => block.line);
}

function composed(block: Block, events: readonly string[], checks: readonly string[]): string {
  const header = block.line.slice(0, block.line.indexOf('"events":['));
  return `${header}"events":[${events.join(",")}],"checks":"${checks.join("")}","hash":"${block.hash}"}`;
}

function sealedAgain(line: string): string {
  const body = line.slice(0, line.lastIndexOf(',"hash":"'));
  return `${body},"hash":"${createHash("sha256").update(body).digest("hex")}"}`;
}

function swapped<Item>(items: readonly Item[], a: number, b: number): Item[] {
  return items.with(a, items[b] as Item).with(b, items[a] as Item);
}

function exactly(seq: number): Place {
  return { first: seq, last: seq };
}

function writeLedger(): Written[] {
  const events = fc.sample(anyEvent, { seed: 1, numRuns: BLOCKS * 6 });
  const written: Written[] = [];
  let before = GENESIS;
  let nowBefore = 0;
  for (let line = 0, at = 0; line < BLOCKS; line++) {
    const count = 1 + ((line * 7) % 11);
    const own = events.slice(at, at + count);
    at += count;
    const writer = new BlockWriter();
    for (const event of own) writer.add(event);
    const now = nowBefore + (line % 3);
    const block = writer.seal(before, 1 + Math.floor(line / 100), now);
    const checks = /"checks":"([0-9a-f]*)"/.exec(block.line)?.[1]?.match(/.{8}/g) ?? [];
    written.push({ block, before, nowBefore, events: own.map(encodeEvent), checks });
    before = headOf(block);
    nowBefore = now;
  }
  return written;
}
