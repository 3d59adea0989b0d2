import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Alternative, type EndedAlternative, RISKS, type VoteOutcome, vote } from "./index.ts";

const good: EndedAlternative = {
  is: "ended",
  verified: true,
  hash: "a",
  confidencePermille: 900,
  lines: 10,
  risk: "low",
  durationMs: 100,
};
const failed: EndedAlternative = { ...good, verified: false, hash: "f" };

describe("[G-08] a vote", () => {
  test("scores verification, confidence, size, risk and time, each rounded down to whole points", () => {
    const other = { ...good, hash: "b", confidencePermille: 333, lines: 30, durationMs: 300 };
    const { scores, outcome } = vote([good, { ...other, risk: "high" }]);
    expect(scores).toEqual([
      { verification: 40, confidence: 18, size: 10, risk: 15, speed: 6, total: 89 },
      { verification: 40, confidence: 6, size: 0, risk: 5, speed: 0, total: 51 },
    ]);
    expect(outcome).toEqual({ type: "won", winner: 0, by: "score" });
  });

  test("leaves out what fails verification, and keeps its score of 0", () => {
    const { scores, outcome } = vote([{ ...failed, lines: 100, durationMs: 1_000 }, good]);
    expect(scores[0]?.total).toBe(0);
    expect(outcome).toMatchObject({ winner: 1 });
  });

  test("takes the result that more than half of all agree on, whatever the scores", () => {
    const poor = { ...good, hash: "b", confidencePermille: 0, risk: "critical" } as const;
    expect(vote([good, poor, poor]).outcome).toEqual({ type: "won", winner: 1, by: "majority" });
    expect(vote([good, { ...poor, verified: false }, poor]).outcome).toMatchObject({
      winner: 0,
      by: "score",
    });
    expect(vote([good, { ...good, hash: "c" }, poor, poor]).outcome).toMatchObject({ by: "score" });
  });

  test("of equal scores takes the first: primary, alt1, alt2", () => {
    const outcomes = [1, 2, 3].map((count) =>
      vote(Array.from({ length: count }, (_, at) => ({ ...good, hash: `${at}`, lines: 0 }))),
    );
    for (const { outcome } of outcomes) expect(outcome).toMatchObject({ type: "won", winner: 0 });
  });

  test("that nobody wins with 70 points is escalated", () => {
    const at = (confidencePermille: number) => ({ ...good, confidencePermille });
    expect(vote([at(750)]).outcome).toMatchObject({ type: "won", by: "score" });
    expect(vote([at(749)]).outcome).toEqual({ type: "escalated" });
    expect(vote([failed, failed]).outcome).toEqual({ type: "escalated" });
    expect(vote([at(749)], 60).outcome).toMatchObject({ winner: 0 });
  });

  test("is decided by two of three that agree, and not by one of two", () => {
    const running: Alternative = { is: "running", durationMs: 50 };
    expect(vote([good, running, good])).toMatchObject({ decided: true, outcome: { winner: 0 } });
    expect(vote([good, running])).toMatchObject({ decided: false });
    expect(vote([failed, running])).toMatchObject({ decided: false });
  });

  test("is decided when what runs has taken too long to be better", () => {
    const perfect = { ...good, confidencePermille: 1_000, lines: 0, durationMs: 10 };
    const late = (durationMs: number): Alternative => ({ is: "running", durationMs });
    expect(vote([perfect, late(10)]).decided).toBe(true);
    expect(vote([late(10), perfect]).decided).toBe(false);
    expect(vote([late(20), perfect]).decided).toBe(true);
  });

  test("is not decided while one that fails at great length could lift another over the threshold", () => {
    const running: Alternative = { is: "running", durationMs: 100 };
    const certain = { ...good, confidencePermille: 1_000 };
    expect(vote([certain, running], 95)).toMatchObject({ outcome: { type: "escalated" }, decided: false });
    const ended = vote([certain, { ...failed, lines: 1_000, durationMs: 10_000 }], 95);
    expect(ended.outcome).toMatchObject({ type: "won", winner: 0 });
    expect(vote([certain, failed, failed, running], 95)).toMatchObject({ decided: false });
    expect(vote([certain, failed, failed, running], 99)).toMatchObject({ decided: true });
  });
});

const anyEnded: fc.Arbitrary<EndedAlternative> = fc.record({
  is: fc.constant("ended" as const),
  verified: fc.boolean(),
  hash: fc.constantFrom("a", "b", "c"),
  confidencePermille: fc.constantFrom(0, 300, 700, 950, 1_000),
  lines: fc.nat(40),
  risk: fc.constantFrom(...RISKS),
  durationMs: fc.nat(40),
});
const anyRunning = fc.record({ is: fc.constant("running" as const), durationMs: fc.nat(40) });
const anyAlternatives = fc.array(fc.oneof(anyEnded, anyRunning), { minLength: 1, maxLength: 4 });
const anyThreshold = fc.constantFrom(0, 50, 70, 90, 95, 101);

function winnerOf(alternatives: readonly Alternative[], { outcome }: { outcome: VoteOutcome }): string {
  const winner = outcome.type === "won" ? alternatives[outcome.winner] : undefined;
  return winner?.is === "ended" ? `hash ${winner.hash}` : "nobody";
}

test("[G-08] scores are whole, from 0 to 100, the sum of their parts; whoever wins by score reaches the threshold", () => {
  fc.assert(
    fc.property(fc.array(anyEnded, { minLength: 1, maxLength: 4 }), anyThreshold, (ended, threshold) => {
      const { scores, outcome, decided } = vote(ended, threshold);
      expect(decided).toBe(true);
      for (const score of scores) {
        const { total, ...parts } = score ?? { total: -1 };
        expect(Object.values(parts).reduce((sum, part) => sum + part, 0)).toBe(total);
        expect(Number.isInteger(total) && total >= 0 && total <= 100).toBe(true);
      }
      if (outcome.type === "escalated") return;
      const best = Math.max(...scores.map((score) => score?.total ?? 0));
      if (outcome.by === "score") expect(scores[outcome.winner]?.total).toBe(best);
      if (outcome.by === "score") expect(best).toBeGreaterThanOrEqual(threshold);
      expect(ended[outcome.winner]?.verified).toBe(true);
    }),
    { seed: 1, numRuns: 1_000 },
  );
});

test("[G-08] a decided vote stays, whatever the others come to", () => {
  fc.assert(
    fc.property(
      anyAlternatives,
      anyThreshold,
      fc.array(fc.record({ end: anyEnded, more: fc.nat(10_000) }), { minLength: 4, maxLength: 4 }),
      (alternatives, threshold, ends) => {
        const early = vote(alternatives, threshold);
        if (!early.decided) return;
        const ended = alternatives.map((one, at): EndedAlternative => {
          const { end = failed, more = 0 } = ends[at] ?? {};
          return one.is === "ended" ? one : { ...end, durationMs: one.durationMs + more };
        });
        expect(winnerOf(ended, vote(ended, threshold))).toBe(winnerOf(alternatives, early));
      },
    ),
    { seed: 2, numRuns: 10_000 },
  );
});

test("[G-08] a vote that is not decided can still come out in two ways", () => {
  const LINES = [0, ...Array.from({ length: 24 }, (_, at) => Math.ceil(1.35 ** at))];
  fc.assert(
    fc.property(
      fc.array(anyEnded, { maxLength: 3 }),
      anyRunning,
      anyThreshold,
      fc.nat(3),
      (ended, running, threshold, place) => {
        const alternatives: Alternative[] = ended.toSpliced(place, 0, running as never);
        if (vote(alternatives, threshold).decided) return;
        const found = new Set<string>();
        for (const verified of [true, false]) {
          for (const hash of ["a", "b", "c", "own"]) {
            for (const lines of verified ? [0] : LINES.map((count) => count * 5)) {
              for (const more of verified ? [0] : LINES.map((count) => count * 5)) {
                const end = { verified, hash, confidencePermille: 1_000, lines, risk: "low" } as const;
                const all = ended.toSpliced(place, 0, {
                  is: "ended",
                  ...end,
                  durationMs: running.durationMs + more,
                });
                found.add(winnerOf(all, vote(all, threshold)));
              }
            }
          }
        }
        expect(found.size).toBeGreaterThan(1);
      },
    ),
    { seed: 3, numRuns: 300 },
  );
});
