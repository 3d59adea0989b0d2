import { describe, expect, test } from "vitest";
import { readProject } from "./index.ts";

const SMALL = `    3
    0       0       0
    1       4       1       0
    2       6       1       0
    3       5       2       1       2   # joins
    4       0       1       3
#
#  Graph Description
#    Critical Path Length : 11
`;

function read(text: string, name = "rand0001.stg"): ReturnType<typeof readProject> {
  return readProject(new TextEncoder().encode(text), name, { now: 0 });
}

describe("an STG file", () => {
  test("gives tasks with a slot each, dummies without one", () => {
    const result = read(SMALL);
    if (!result.ok) throw new Error(result.problems[0]?.message);
    const { name, unit, activities, capacities } = result.project;
    expect({ name, unit, capacities }).toEqual({
      name: "rand0001",
      unit: { name: "units", ticks: 1 },
      capacities: {},
    });
    expect(activities.map(({ id, needs, duration, uses }) => ({ id, needs, duration, uses }))).toEqual([
      { id: "0", needs: [], duration: 0, uses: {} },
      { id: "1", needs: ["0"], duration: 4, uses: { slots: 1 } },
      { id: "2", needs: ["0"], duration: 6, uses: { slots: 1 } },
      { id: "3", needs: ["1", "2"], duration: 5, uses: { slots: 1 } },
      { id: "4", needs: ["3"], duration: 0, uses: {} },
    ]);
  });

  test("is recognised whatever it is called, read with other line ends, and may count its dummies", () => {
    expect(read(SMALL, "graph").ok).toBe(true);
    expect(read(SMALL.replaceAll("\n", "\r\n"))).toEqual(read(SMALL));
    expect(read(SMALL.replace("    3\n", "    5\n"))).toEqual(read(SMALL));
  });

  const damaged = [
    { what: "nothing in it", text: "# nothing\n", line: 1, says: "empty" },
    {
      what: "another count",
      text: "7\n0 0 0\n",
      line: 1,
      says: "should have 7 tasks, or 9 with the dummies",
    },
    { what: "no count", text: "0 0 0\n1 2 1 0\n", line: 1, says: "the number of tasks alone" },
    { what: "a task twice", text: "2\n0 1 0\n0 1 0\n", line: 3, says: "task 0 is given twice" },
    { what: "an unknown need", text: "1\n0 1 1 5\n", line: 2, says: "needs task 5, which does not exist" },
    { what: "costs of communication", text: "2\n0 1 0\n1 4 1\n", line: 3, says: "1 predecessors and has 0" },
    { what: "a short row", text: "1\n0 1\n", line: 2, says: "must have a duration and" },
    { what: "words", text: "1\n0 one 0\n", line: 2, says: 'not "one"' },
    { what: "a huge duration", text: "1\n0 999999999999999 0\n", line: 2, says: "too large" },
    { what: "a number too long", text: `1\n0 ${"9".repeat(400)} 0\n`, line: 2, says: 'not "9999' },
  ];
  test.each(damaged)("with $what is refused with its line", ({ text, line, says }) => {
    const result = read(text);
    expect(result.ok ? [] : result.problems).toContainEqual(
      expect.objectContaining({ line, message: expect.stringContaining(says) }),
    );
  });
});
