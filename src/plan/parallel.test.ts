import fc from "fast-check";
import { expect, test } from "vitest";
import { anActivity, aProject } from "../../tests/any-project.ts";
import { type Activity, compile, ParallelScheduler, type Problem } from "./index.ts";

const RESOURCES = ["slots", "tokens", "gpu", "disk", "net", "memory"];

/** What it should come to: at every end, all that is ready is gone through in order. */
function plainly(
  { size, durations, needs, demands, capacities }: Problem,
  order: readonly number[],
): number[] {
  const width = capacities.length;
  const starts = new Array<number>(size).fill(Number.POSITIVE_INFINITY);
  const finish = (n: number): number => (starts[n] as number) + (durations[n] as number);
  const used = (r: number, now: number): number =>
    starts.reduce(
      (sum, at, n) => sum + (at <= now && finish(n) > now ? (demands[n * width + r] as number) : 0),
      0,
    );
  for (let now = 0; now < Number.POSITIVE_INFINITY; ) {
    const free = Array.from(capacities, (capacity, r) => capacity - used(r, now));
    for (const n of order) {
      const before = needs.targets.subarray(needs.start[n], needs.start[n + 1]);
      if (starts[n] !== Number.POSITIVE_INFINITY || before.some((need) => finish(need) > now)) continue;
      if (free.some((left, r) => (demands[n * width + r] as number) > left)) continue;
      starts[n] = now;
      for (let r = 0; r < width; r++) (free[r] as number) -= demands[n * width + r] as number;
    }
    now = starts.reduce(
      (next, _, n) => (finish(n) > now ? Math.min(next, finish(n)) : next),
      Number.POSITIVE_INFINITY,
    );
  }
  return starts;
}

const anyActivity = fc.record({
  duration: fc.integer({ min: 1, max: 9 }),
  amounts: fc.array(fc.nat(600), { minLength: RESOURCES.length, maxLength: RESOURCES.length }),
  picks: fc.array(fc.nat(10_000), { maxLength: 2 }),
});

function projectOf(shapes: readonly { duration: number; amounts: number[]; picks: number[] }[]): Activity[] {
  return shapes.map(({ duration, amounts, picks }, at) => {
    const uses = Object.fromEntries(RESOURCES.map((name, r) => [name, amounts[r] ?? 0]));
    // Most need nothing, so that many are ready together.
    const needs = at % 5 === 0 && at > 0 ? picks.map((pick) => `a${pick % at}`) : [];
    return anActivity(`a${at}`, { duration, uses, needs });
  });
}

test("however many are ready and however large amounts are, exactly what fits starts, in order", () => {
  const capacities = Object.fromEntries(RESOURCES.map((name, r) => [name, 600 + 450 * r]));
  fc.assert(
    fc.property(
      fc.array(anyActivity, { minLength: 1, maxLength: 700, size: "max" }),
      fc.nat(),
      (shapes, turn) => {
        const { problem } = compile(aProject(projectOf(shapes)), capacities);
        const order = Array.from({ length: problem.size }, (_, n) => (n * 7 + turn) % problem.size);
        fc.pre(new Set(order).size === problem.size);
        const parallel = new ParallelScheduler(problem);
        parallel.schedule(order);
        expect([...parallel.starts]).toEqual(plainly(problem, order));
      },
    ),
    { seed: 1, numRuns: 12, endOnFailure: true },
  );
});
