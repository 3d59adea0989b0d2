import { expect, test } from "vitest";
import { directoryWith } from "../../tests/cli.ts";
import { readServerConfig } from "./server-config.ts";

async function read(text: string): Promise<unknown> {
  return await readServerConfig(`${await directoryWith({ "c.yaml": text })}/c.yaml`);
}

test("settings of the scheduler come from a file", async () => {
  const text = "order: classic\ncredits: true\nfairShare: null\nageEveryMs: 1000\ndeadlineLift: 1.5\n";
  expect(await read(text)).toEqual({
    order: "classic",
    credits: true,
    fairShare: null,
    ageEveryMs: 1000,
    deadlineLift: 1.5,
  });
  expect(await read("")).toEqual({});
});

test.each([
  ["fairShar: 3", "did you mean fairShare"],
  ["order: random", "order must be one of hrrn, classic, graph"],
  ["credits: 1", "credits must be true or false"],
  ["costWindowMs: 0", "costWindowMs must be a whole number from 1 on"],
  ["fairShare: -1", "fairShare must be a whole number from 0 on, or null"],
  ["maxWaitMs: null", "maxWaitMs must be a whole number from 0 on"],
  ["submitRate: 0", "submitRate must be a whole number from 1 to 1000000, or null"],
  ["submitRatePeriodMs: 1.5", "submitRatePeriodMs must be a whole number from 1 to 86400000"],
  ["policyVersion: 2", "there is no setting policyVersion"],
  ["- 1", "must hold settings"],
  ["a: [", "c.yaml"],
])("%s is refused", async (text, message) => {
  await expect(read(text)).rejects.toThrow(message);
});
