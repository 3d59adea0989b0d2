import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  DEFAULT_SPECULATION,
  RISKS,
  type SpeculationCandidate,
  type SpeculationSettings,
  speculationOf,
  speculationTag,
} from "./index.ts";

const node: SpeculationCandidate = {
  speculate: false,
  risk: "low",
  critical: false,
  slots: 1,
  tokens: 50_000,
};
const plenty = { slots: 4, tokens: 500_000 };

function decide(
  changes: Partial<SpeculationCandidate>,
  settings: Partial<SpeculationSettings> = {},
  spare: Partial<typeof plenty> = {},
) {
  return speculationOf(
    { ...node, ...changes },
    { ...DEFAULT_SPECULATION, ...settings },
    { ...plenty, ...spare },
  );
}

describe("[G-07] speculation", () => {
  test("happens where a node asks for it", () => {
    expect(decide({ speculate: true })).toEqual({ alternatives: 2, because: "asked" });
    expect(decide({})).toEqual({ alternatives: 1, why: undefined });
  });

  test("happens by itself for risks that are named, on the critical path only", () => {
    const triggered = RISKS.map((risk) => decide({ risk, critical: true }).alternatives);
    expect(triggered).toEqual([1, 1, 2, 2]);
    expect(decide({ risk: "high" }).alternatives).toBe(1);
    expect(decide({ risk: "high", critical: true }, { autoTriggerOnCriticalPath: false }).alternatives).toBe(
      1,
    );
    expect(decide({ risk: "low", critical: true }, { autoTriggerRiskLevels: ["low"] })).toEqual({
      alternatives: 2,
      because: "risk-on-critical-path",
    });
  });

  test("can be forced, and disabling it beats everything", () => {
    expect(decide({}, { forceSpeculate: true })).toEqual({ alternatives: 2, because: "forced" });
    expect(decide({ speculate: true }, { enabled: false, forceSpeculate: true })).toEqual({
      alternatives: 1,
      why: "disabled",
    });
  });

  test("needs two spare slots beside the node's own", () => {
    const bySlots = [0, 1, 2, 3, 4].map((slots) => decide({ speculate: true }, {}, { slots }).alternatives);
    expect(bySlots).toEqual([1, 1, 1, 2, 2]);
    expect(decide({ speculate: true }, {}, { slots: 2 })).toEqual({ alternatives: 1, why: "no_slots" });
  });

  test("takes as many as slots and tokens are there for, and none where they do for one only", () => {
    const three = { defaultParallelism: 3 };
    expect(decide({ speculate: true }, three).alternatives).toBe(3);
    expect(decide({ speculate: true }, three, { tokens: 149_999 }).alternatives).toBe(2);
    expect(decide({ speculate: true, slots: 2 }, three).alternatives).toBe(2);
    expect(decide({ speculate: true }, three, { tokens: 99_999 })).toEqual({
      alternatives: 1,
      why: "token_limit",
    });
    expect(decide({ speculate: true, tokens: 0 }, three, { tokens: 0 }).alternatives).toBe(3);
  });

  test("never has more alternatives than the most that are allowed", () => {
    const many = { defaultParallelism: 9 };
    expect(decide({ speculate: true }, many, { slots: 100 }).alternatives).toBe(3);
    expect(decide({ speculate: true }, { ...many, maxParallelism: 5 }, { slots: 100 }).alternatives).toBe(5);
    expect(decide({ speculate: true }, { maxParallelism: 1 })).toEqual({ alternatives: 1, why: "disabled" });
  });

  test("never reserves more than there is", () => {
    const anyNode = fc.record({
      speculate: fc.boolean(),
      risk: fc.constantFrom(...RISKS),
      critical: fc.boolean(),
      slots: fc.nat(3),
      tokens: fc.nat(100),
    });
    fc.assert(
      fc.property(
        anyNode,
        fc.nat(6),
        fc.nat(300),
        fc.integer({ min: 1, max: 5 }),
        (one, slots, tokens, most) => {
          const { alternatives } = decide(one, { defaultParallelism: most }, { slots, tokens });
          if (alternatives === 1) return;
          expect(alternatives * one.slots).toBeLessThanOrEqual(slots);
          expect(alternatives * one.tokens).toBeLessThanOrEqual(tokens);
          expect(alternatives).toBeLessThanOrEqual(Math.min(most, 3));
        },
      ),
      { seed: 1 },
    );
  });

  test("tags its alternatives", () => {
    expect([0, 1, 2].map(speculationTag)).toEqual(["speculate:primary", "speculate:alt1", "speculate:alt2"]);
  });
});
