import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  classAt,
  DEFAULT_QUEUE,
  type Entry,
  goesBefore,
  Line,
  type Order,
  type PriorityClass,
  type QueueConfig,
  type Tier,
} from "./index.ts";

type Mutable = { -readonly [Key in keyof Entry]: Entry[Key] };

/** A moment at which many ratios are equal, or nearly. */
const KNOT = 1_790_000_000_000;
const START = KNOT - 2_000_000;

// The order by its plain definition: no filters, no shortcuts, nothing shared with the code under test.

function plainTier(entry: Entry, now: number, config: QueueConfig): number {
  const wait = now - entry.readyAt;
  const seen = Math.floor(wait / config.ageStepMs) * config.ageStepMs;
  let tier = Math.max(0, entry.tier - Math.floor(seen / config.ageEveryMs));
  if (wait > config.maxWaitMs) tier = Math.min(tier, 1);
  if (entry.deadline >= 0 && entry.deadline - now <= config.deadlineLift * entry.estimateMs) {
    tier = Math.min(tier, 1);
  }
  return tier;
}

function plainClass(entry: Entry, now: number, demoted: boolean, config: QueueConfig): number {
  const wait = now - entry.readyAt;
  let plain: number = entry.class;
  if (plain === 0 && demoted) plain = 1;
  if (plain === 2 && wait > config.starveBackgroundMs) plain = 1;
  if (plain === 1 && config.starveBatchMs !== null && wait > config.starveBatchMs) plain = 0;
  if (entry.deadline >= 0 && entry.deadline - now <= config.deadlineLift * entry.estimateMs) plain = 0;
  return plain;
}

function plainOrder(a: Waiting, b: Waiting, now: number, config: QueueConfig): number {
  const [x, y] = [a.entry, b.entry];
  const byText = x.id < y.id ? -1 : 1;
  if (config.order === "graph") {
    return (
      x.tier - y.tier ||
      x.seq - y.seq ||
      x.standing - y.standing ||
      y.weight - x.weight ||
      x.readyAt - y.readyAt ||
      x.node - y.node ||
      byText
    );
  }
  if (config.order === "classic") {
    return plainTier(x, now, config) - plainTier(y, now, config) || x.readyAt - y.readyAt || byText;
  }
  const classes = plainClass(x, now, a.demoted, config) - plainClass(y, now, b.demoted, config);
  const left = BigInt(now - x.readyAt) * BigInt(y.estimateMs);
  const right = BigInt(now - y.readyAt) * BigInt(x.estimateMs);
  return classes || (left > right ? -1 : left < right ? 1 : 0) || x.readyAt - y.readyAt || byText;
}

interface Waiting {
  readonly entry: Entry;
  readonly demoted: boolean;
}

/** Whole numbers below a bound, the same for the same seed. */
function dice(seed: number): (below: number) => number {
  let state = seed >>> 0 || 1;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const ESTIMATES = [1, 2, 3, 4, 6, 50, 51, 999, 60_000, 999_999_999, 1_000_000_000, 1_000_000_001];

let made = 0;

/** Out of order, with estimates that differ little or much and waits that make ratios tie at the knot. */
function drawKeys(roll: (below: number) => number, now: number): Partial<Mutable> {
  const estimateMs =
    roll(2) === 0 ? (ESTIMATES[roll(ESTIMATES.length)] as number) : 1 + roll(10 ** (1 + roll(7)));
  const ratio = 1 + roll(3);
  const tied = KNOT - Math.min(ratio * estimateMs, KNOT) + roll(3) - 1;
  const anywhere = now - roll(10 ** (1 + roll(6)));
  const readyAt = Math.min(now, [tied, tied, anywhere, now, now - 1][roll(5)] as number);
  const deadline = roll(4) > 0 ? -1 : now + roll(3_000_000);
  return { estimateMs, readyAt, deadline };
}

function draw(roll: (below: number) => number, now: number): Mutable {
  made++;
  return {
    id: `${roll(36 ** 3).toString(36)}-${made}`,
    readyAt: now,
    estimateMs: 1,
    deadline: -1,
    tier: roll(5) as Tier,
    class: roll(3) as PriorityClass,
    // In a line of graph order no two have the same.
    seq: made * 7_919,
    standing: roll(3),
    weight: roll(5),
    node: roll(5),
    ...drawKeys(roll, now),
  };
}

type Move =
  | readonly [kind: "add" | "delete" | "rekey", count: number, seed: number]
  | readonly [kind: "take", count: number]
  | readonly [kind: "wait", ms: number]
  | readonly [kind: "knot"]
  | readonly [kind: "demote"];

const anySeed = fc.integer({ min: 1, max: 2 ** 31 });

function anyMoves(least: number, most: number): fc.Arbitrary<Move[]> {
  const anyCount = fc.integer({ min: least, max: most });
  const anyMove: fc.Arbitrary<Move> = fc.oneof(
    { weight: 3, arbitrary: fc.tuple(fc.constant("add" as const), anyCount, anySeed) },
    { weight: 1, arbitrary: fc.tuple(fc.constant("delete" as const), anyCount, anySeed) },
    { weight: 1, arbitrary: fc.tuple(fc.constant("rekey" as const), anyCount, anySeed) },
    { weight: 2, arbitrary: fc.tuple(fc.constant("take" as const), fc.integer({ min: 1, max: 8 })) },
    {
      weight: 3,
      arbitrary: fc.tuple(fc.constant("wait" as const), fc.constantFrom(0, 1, 2, 999, 70_000, 500_000)),
    },
    { weight: 1, arbitrary: fc.constant(["knot"] as const) },
    { weight: 1, arbitrary: fc.constant(["demote"] as const) },
  );
  return fc.array(anyMove, { minLength: 15, maxLength: 40 });
}

const anyConfig = fc
  .record({
    starveBackgroundMs: fc.constantFrom(0, 1_000, 900_000),
    starveBatchMs: fc.constantFrom(null, 500, 800_000, 1_200_000),
    deadlineLift: fc.constantFrom(0, 2, 2.5),
    ageEveryMs: fc.constantFrom(1_000, 120_000, 10_000_000),
    ageStepMs: fc.constantFrom(1, 700, 60_000),
    maxWaitMs: fc.constantFrom(50, 600_000),
  })
  .map((drawn) => ({ ...DEFAULT_QUEUE, ...drawn }));

/** A line beside a plain list of the same entries. */
class Pair {
  readonly line: Line;
  readonly list: Mutable[] = [];
  readonly config: QueueConfig;
  now = START;
  demoted = false;

  constructor(config: QueueConfig) {
    this.config = config;
    this.line = new Line(config);
  }

  make(move: Move): void {
    if (move[0] === "wait") this.now += move[1];
    else if (move[0] === "knot") this.now = Math.max(this.now, KNOT);
    else if (move[0] === "demote") this.demoted = !this.demoted;
    else if (move[0] === "take") for (let i = 0; i < move[1]; i++) this.take();
    else {
      const roll = dice(move[2]);
      for (let i = 0; i < move[1]; i++) this.change(move[0], roll);
    }
    this.check();
  }

  change(kind: "add" | "delete" | "rekey", roll: (below: number) => number): void {
    if (kind === "add") {
      // Now and then the same point once more, under another id.
      const entry = draw(roll, this.now);
      const twin = this.list[roll(4 * this.list.length + 1)];
      if (twin) Object.assign(entry, { readyAt: twin.readyAt, estimateMs: twin.estimateMs });
      this.list.push(entry);
      this.line.add(entry);
      return;
    }
    const at = roll(this.list.length);
    const entry = this.list[at];
    if (!entry) return;
    if (kind === "delete") this.remove(entry);
    else {
      this.line.rekey(entry, () =>
        Object.assign(
          entry,
          this.config.order === "graph"
            ? { node: roll(9), standing: roll(3), weight: roll(9) }
            : drawKeys(roll, this.now),
        ),
      );
    }
  }

  take(): void {
    const first = this.check();
    if (first) this.remove(first);
  }

  remove(entry: Mutable): void {
    this.line.delete(entry);
    this.list.splice(this.list.indexOf(entry), 1);
  }

  check(): Mutable | undefined {
    let best: Mutable | undefined;
    const { demoted, now, config } = this;
    for (const entry of this.list) {
      if (!best || plainOrder({ entry, demoted }, { entry: best, demoted }, now, config) < 0) best = entry;
    }
    if (this.line.first(now, demoted) !== best) expect(this.line.first(now, demoted)).toEqual(best);
    expect(this.line.size).toBe(this.list.length);
    return best;
  }
}

interface Tally {
  count: number;
  sum: number;
  oldest: number;
}

/** For each class: the number of waiting tasks, the sum of the times at which they became ready, and the oldest of these times. */
function tallied(pair: Pair, now: number, isPlain: boolean): Tally[] {
  const { line, list, config, demoted } = pair;
  const tallies = [0, 1, 2].map((): Tally => ({ count: 0, sum: 0, oldest: Number.POSITIVE_INFINITY }));
  const note = (at: number, { readyAt }: Entry, count: number, sum: number) => {
    const tally = tallies[at] as Tally;
    tally.count += count;
    tally.sum += sum;
    tally.oldest = Math.min(tally.oldest, readyAt);
  };
  const classOf = (entry: Entry) => classAt(entry, now, demoted, config);
  if (isPlain) for (const one of list) note(plainClass(one, now, demoted, config), one, 1, one.readyAt);
  else line.tally((oldest, count, sum) => note(classOf(oldest), oldest, count, sum), classOf);
  return tallies;
}

test("[S-26.million] classes are counted as one by one, also by blocks and before what starves was lifted", () => {
  fc.assert(
    fc.property(anyConfig, anyMoves(100, 700), fc.boolean(), (config, moves, hasDeadlines) => {
      const pair = new Pair({ ...config, order: "hrrn" });
      for (const move of moves) {
        pair.make(move);
        if (!hasDeadlines)
          for (const one of pair.list.filter(({ deadline }) => deadline >= 0)) pair.remove(one);
      }
      for (const later of [0, 400, 900, 600_000, 1_300_000]) {
        const now = pair.now + later;
        expect(tallied(pair, now, false)).toEqual(tallied(pair, now, true));
      }
    }),
    { seed: 3, numRuns: 6 },
  );
});

describe.each<Order>(["hrrn", "classic", "graph"])("in %s order", (order) => {
  const holds = (least: number, most: number, numRuns: number) =>
    fc.assert(
      fc.property(anyConfig, anyMoves(least, most), (config, moves) => {
        const pair = new Pair({ ...config, order });
        for (const move of moves) pair.make(move);
        expect(new Set(pair.line.entries())).toEqual(new Set(pair.list));
        while (pair.list.length > 200) pair.remove(pair.list[pair.list.length >>> 1] as Mutable);
        while (pair.list.length > 0) pair.take();
      }),
      { seed: 7, numRuns },
    );

  test("[Q-09] [Q-10] [Q-13] [Q-20] a short line hands out what a plain list would, whatever changes", () => {
    holds(1, 6, 150);
  });

  test("[Q-09] [Q-10] [Q-11] so does a long one", () => {
    holds(100, 700, 20);
  });
});

describe.each<Order>(["hrrn", "classic"])("in %s order", (order) => {
  test("[Q-09] [Q-10] ten thousand tasks of fifty agents go in exactly the order of brute force", () => {
    const config: QueueConfig = { ...DEFAULT_QUEUE, order, starveBatchMs: 1_500_000 };
    const roll = dice(4_711);
    const agents = Array.from({ length: 50 }, (_, agent) => ({
      line: new Line(config),
      demoted: agent % 7 === 0,
    }));
    let waiting: Waiting[] = [];
    const takenBy = new Map<Entry, Line>();
    for (let i = 0; i < 10_000; i++) {
      const { line, demoted } = agents[roll(50)] as (typeof agents)[number];
      const entry = draw(roll, START);
      line.add(entry);
      takenBy.set(entry, line);
      waiting.push({ entry, demoted });
    }
    // The knot is passed on the way, at the fourteenth step.
    for (let now = KNOT - 1_300_000; waiting.length > 0; now += 100_000) {
      waiting.sort((a, b) => plainOrder(a, b, now, config));
      const expected = waiting.slice(0, 400).map(({ entry }) => entry.id);
      const taken: string[] = [];
      while (taken.length < expected.length) {
        let best: Waiting | undefined;
        for (const { line, demoted } of agents) {
          const entry = line.first(now, demoted);
          if (!entry) continue;
          if (!best || goesBefore(entry, demoted, best.entry, best.demoted, now, config)) {
            best = { entry, demoted };
          }
        }
        if (!best) break;
        takenBy.get(best.entry)?.delete(best.entry);
        taken.push(best.entry.id);
      }
      expect(taken).toEqual(expected);
      waiting = waiting.slice(400);
    }
  });
});

test("[Q-11] what left a line is not kept for its deadline or starvation, however far away", () => {
  const line = new Line({ ...DEFAULT_QUEUE, order: "hrrn" });
  const roll = dice(1);
  const kept = draw(roll, START);
  line.add(kept);
  for (let i = 0; i < 5_000; i++) {
    const entry = { ...draw(roll, START), class: 2 as const, deadline: START + 10 ** 12 };
    line.add(entry);
    line.delete(entry);
  }
  expect(line.size).toBe(1);
  expect([...line.entries()]).toEqual([kept]);
  expect(line.first(KNOT, false)).toBe(kept);
});
