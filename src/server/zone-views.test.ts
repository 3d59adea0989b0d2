import { expect, test } from "vitest";
import { DEFAULT_CONFIG, State, step } from "../scheduler/index.ts";
import { limitsOf } from "./zone-views.ts";

test("the limits of the settings are listed before anything names them, beside those that were set", () => {
  const state = new State();
  const config = { ...DEFAULT_CONFIG, resources: { gpu: 2, tokens: 1_000 } };
  const set = { kind: "LimitConfigured", concurrency: 5, rateCount: null, ratePeriodMs: 1 } as const;
  const stimuli = [
    { kind: "SchedulerConfigured", config } as const,
    { ...set, zone: "main", name: "openai" },
    { ...set, zone: "main", name: "gpu" },
    { ...set, zone: "other", name: "theirs" },
  ];
  step(state, 0, stimuli, () => {});
  const listed = limitsOf(state, "main").map(({ name, concurrency }) => [name, concurrency]);
  expect(listed).toEqual([
    ["gpu", 5],
    ["openai", 5],
    ["tokens", 1_000],
  ]);
});
