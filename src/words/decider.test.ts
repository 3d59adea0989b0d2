import { expect, test } from "vitest";
import { aConfig } from "../../tests/builders.ts";
import type { CandidateRow } from "../placement/index.ts";
import { decide } from "./decider.ts";

function row(rank: number | undefined, values: Partial<CandidateRow> = {}): CandidateRow {
  return {
    worker: `w${rank}`,
    number: rank ?? 0,
    status: "Idle",
    rejection: rank === undefined ? "cpu" : undefined,
    rank,
    queueDepth: 1,
    freeCpu: 0,
    freeMemory: 0,
    locality: 0,
    executedBefore: false,
    sameZone: true,
    score: 7,
    ...values,
  };
}

test("[P-11] a candidate without a second had no contest", () => {
  expect(decide(aConfig(), [row(1), row(undefined)]).criterion).toBe("only candidate");
});

test("[P-11] the first criterion of the strategy that differs has decided", () => {
  const affinity = aConfig({ strategy: "affinity" });
  expect(decide(affinity, [row(1, { locality: 9 }), row(2, { locality: 8 })])).toMatchObject({
    criterion: "input data",
    chosen: 9,
    runnerUp: 8,
  });
  expect(decide(affinity, [row(1, { executedBefore: true }), row(2)]).criterion).toBe(
    "type completed before",
  );
  expect(decide(affinity, [row(1), row(2, { sameZone: false })]).criterion).toBe("home zone");
  expect(decide(affinity, [row(1), row(2, { queueDepth: 2 })]).criterion).toBe("queue depth");
  expect(decide(aConfig({ strategy: "random" }), [row(1, { score: 8 }), row(2)]).criterion).toBe("score");
  expect(decide(aConfig({ strategy: "round-robin" }), [row(1), row(2)]).criterion).toBe("turn");
});

test("[P-11] where locality is only preferred, more data is no advantage", () => {
  const config = aConfig({ preferLocality: true });
  const rows = [row(1, { locality: 1 }), row(2, { locality: 9, queueDepth: 2 })];
  expect(decide(config, rows).criterion).toBe("queue depth");
  expect(decide(config, [row(1, { locality: 1 }), row(2)]).criterion).toBe("input data");
});

test("[P-11] ties fall to the smaller id", () => {
  expect(decide(aConfig(), [row(1), row(2)])).toEqual({
    criterion: "worker id",
    chosen: 1,
    runnerUp: 1,
    tiedOn: "queue depth",
  });
});
