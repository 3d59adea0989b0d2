import { expect, test } from "vitest";
import { aNode, joins, Loop, submits } from "../../tests/builders.ts";
import { localCaller } from "../embedded/index.ts";
import type { RunRow } from "../store/index.ts";
import { Reader, type ReaderParts } from "./reader.ts";

test("a run that ends while it is looked up is not shown as ended with the counts of a moment before", async () => {
  const loop = new Loop();
  loop.turn(1, joins("w"), submits("r", [aNode("only")]));
  const run = loop.run("r");
  const { id, zone, agent, name, submittedAt, submittedSeq } = run;
  const rowNow = (): RunRow => {
    const { outcome = "", endedAt } = run;
    return { id, zone, agent, name, nodes: 1, submittedAt, submittedSeq, outcome, endedAt };
  };
  const parts = {
    driver: { read: async (look: (state: Loop["state"]) => unknown) => look(loop.state), now: () => 2 },
    store: {
      run: async () => {
        loop.turn(2, loop.finished("r", "only"));
        return rowNow();
      },
    },
  };
  const reader = new Reader(parts as unknown as ReaderParts);
  expect(await reader.run(localCaller(zone, agent), "r")).toMatchObject({
    outcome: "completed",
    counts: { completed: 1, running: 0 },
  });
});
