import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { compareText, derivedUuid, taskIdOf } from "./index.ts";

const UUID_8 = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test("[P-01] the id of a node's task is pinned: every machine derives the same", () => {
  expect(taskIdOf("run-1", "build")).toBe("79216e47-0ba7-8bdb-93fa-d5f4d01d2e39");
  expect(taskIdOf("run-1", "test")).toBe("e4fed792-45ab-869c-a647-11f922b8cfd4");
  expect(taskIdOf("läuft", "\u{1f600}")).toBe("74656bd4-7b58-82b0-b91c-8f85bec2db5d");
});

test("[P-01] a derived id is a UUID of version 8, made of the hash of its text", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const hex = createHash("sha256").update(text).digest("hex");
      const id = derivedUuid(text);
      expect(id).toMatch(UUID_8);
      const digits = id.replaceAll("-", "");
      expect(digits.slice(0, 12) + digits.slice(13, 16) + digits.slice(17)).toBe(
        hex.slice(0, 12) + hex.slice(13, 16) + hex.slice(17, 32),
      );
    }),
    { seed: 1, numRuns: 500 },
  );
});

test("[P-01] another run or another node has another task", () => {
  const anyId = fc.string({ unit: fc.constantFrom("a", "1", "\n", "é"), maxLength: 6 });
  fc.assert(
    fc.property(anyId, anyId, anyId, anyId, (runA, nodeA, runB, nodeB) => {
      const same = runA === runB && nodeA === nodeB;
      expect(taskIdOf(runA, nodeA) === taskIdOf(runB, nodeB)).toBe(same);
    }),
    { seed: 1, numRuns: 1_000 },
  );
  expect(taskIdOf("a\nb", "c")).not.toBe(taskIdOf("a", "b\nc"));
});

test("[P-01] texts compare by code unit, not by locale and not by code point", () => {
  const sorted = ["", "10", "2", "Z", "a", "aa", "b", "z", "ä", "\u{1f600}", "\ufffd"];
  expect(sorted.toReversed().sort(compareText)).toEqual(sorted);
  expect(compareText("a", "a")).toBe(0);
});
