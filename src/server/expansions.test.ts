import { expect, test } from "vitest";
import { aNode, joins, Loop, submits } from "../../tests/builders.ts";
import { expansionOf } from "./expansions.ts";
import { type PlacedTask, PlacedTasks } from "./placed-tasks.ts";

test("[D-12] nodes that stand for others make an added run no more urgent", () => {
  const loop = new Loop();
  loop.turn(
    1,
    joins("w1", { slots: 2 }),
    submits("r", [aNode("a"), aNode("grow", { mayAdd: 3, keep: true })]),
  );
  const id = loop.run("r").taskIdOf(1);
  const placed = new PlacedTasks(loop.state).known(id) as PlacedTask;
  const graph = { nodes: { use: { task: "use", needs: ["a"], priority: "low" } } };
  const { stimulus } =
    expansionOf(
      loop.state,
      placed,
      {
        type: "finished",
        task: id,
        attempt: 1,
        started_at: 1,
        expansion: { graph, result: "use" },
      },
      2,
    ) ?? {};
  expect(stimulus?.kind).toBe("RunSubmitted");
  loop.turn(2, stimulus as NonNullable<typeof stimulus>);
  const added = [...loop.state.runs.values()].at(-1);
  expect(added?.links.size).toBe(1);
  expect(added?.tier).toBe(added?.taskOf(0).priority);
  expect(added?.tier).toBeGreaterThan(2);
});
