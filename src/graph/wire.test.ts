import fc from "fast-check";
import { expect, test } from "vitest";
import { aNode } from "../../tests/builders.ts";
import { taskSpecOf, wireGraph } from "./index.ts";

const IDS = ["a", "b", "c", "d", "e"];
const anyIds = fc.array(fc.constantFrom(...IDS), { maxLength: 8 });

test("[D-01] the needs of a node are its inputs as they are given, then the others in ascending order, each once", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyIds, fc.option(anyIds, { nil: undefined }))), (lists) => {
      const users = lists.map(([others, inputs], at) =>
        aNode(`user-${at}`, inputs ? { inputs, needs: [...others, ...inputs] } : { needs: others }),
      );
      const wire = wireGraph([...IDS.map((id) => aNode(id)), ...users]);
      for (const [at, [others, inputs = []]] of lists.entries()) {
        const first = new Set(inputs.map((id) => IDS.indexOf(id)));
        const rest = [...IDS.keys()].filter((index) => others.includes(IDS[index] as string));
        expect(wire.needs[IDS.length + at]).toEqual([...first, ...rest.filter((need) => !first.has(need))]);
        expect(wire.inputs?.[IDS.length + at] ?? 0).toBe(first.size);
      }
    }),
    { seed: 1, numRuns: 300 },
  );
});

test("a specification that nodes share is changed once for all of them", () => {
  const { task } = aNode("a");
  const other = { ...task, type: "other" };
  const seen: string[] = [];
  const wire = wireGraph(
    [task, other, task, other].map((of, at) => ({ ...aNode(String(at)), task: of })),
    (asked) => {
      seen.push(asked.type);
      return { ...asked, capabilities: ["gpu"] };
    },
  );
  expect(seen).toEqual([task.type, "other"]);
  expect(wire.spec).toEqual([0, 1, 0, 1]);
  expect(wire.specs.map((spec) => taskSpecOf(spec).capabilities)).toEqual([["gpu"], ["gpu"]]);
});
