import { describe, expect, test } from "vitest";
import { hasSharedData, sharedFile, sharedFiles } from "../../tests/shared-data.ts";
import { readProject } from "./index.ts";

const SMALL = `************************************************************************
jobs (incl. supersource/sink ):  4
RESOURCES
  - renewable                 :  2   R
  - nonrenewable              :  0   N
  - doubly constrained        :  0   D
************************************************************************
PRECEDENCE RELATIONS:
jobnr.    #modes  #successors   successors
   1        1          2           2   3
   2        1          1           4
   3        1          1           4
   4        1          0
************************************************************************
REQUESTS/DURATIONS:
jobnr. mode duration  R 1  R 2
------------------------------------------------------------------------
  1      1     0       0    0
  2      1     3       2    0
  3      1     5       1    4
  4      1     0       0    0
************************************************************************
RESOURCEAVAILABILITIES:
  R 1  R 2
    3    4
************************************************************************
`;

function read(text: string, name = "small.sm"): ReturnType<typeof readProject> {
  return readProject(new TextEncoder().encode(text), name, { now: 0 });
}

describe("a PSPLIB file", () => {
  test("gives jobs, what they need and take, and what there is", () => {
    const result = read(SMALL, "sets/small.sm");
    if (!result.ok) throw new Error(result.problems[0]?.message);
    const { name, unit, capacities, activities, findings } = result.project;
    expect({ name, unit, capacities, findings }).toEqual({
      name: "small",
      unit: { name: "units", ticks: 1 },
      capacities: { R1: 3, R2: 4 },
      findings: [],
    });
    expect(activities.map(({ id, needs, duration, uses }) => ({ id, needs, duration, uses }))).toEqual([
      { id: "1", needs: [], duration: 0, uses: {} },
      { id: "2", needs: ["1"], duration: 3, uses: { R1: 2 } },
      { id: "3", needs: ["1"], duration: 5, uses: { R1: 1, R2: 4 } },
      { id: "4", needs: ["2", "3"], duration: 0, uses: {} },
    ]);
  });

  test("is recognised whatever it is called, and read with other line ends", () => {
    expect(read(SMALL, "small.txt").ok).toBe(true);
    expect(read(SMALL.replaceAll("\n", "\r\n"))).toEqual(read(SMALL));
  });

  const damaged: readonly (readonly [what: string, from: string, to: string, says: string, line?: number])[] =
    [
      ["modes", "   2        1          1", "   2        3          1", "job 2 has 3 modes: only files"],
      [
        "nonrenewable resources",
        "nonrenewable              :  0",
        "nonrenewable              :  2",
        "2 nonrenewable",
      ],
      ["doubly constrained ones", "constrained        :  0", "constrained        :  1", "1 doubly"],
      ["a table missing", "RESOURCEAVAILABILITIES", "RESOURCES THERE ARE", "is missing", 27],
      ["letters", "  2      1     3", "  2      1     x", 'not "x"'],
      ["a negative number", "  2      1     3", "  2      1     -3", 'not "-3"'],
      ["too few amounts", "  3      1     5       1    4", "  3      1     5       1", "2 amounts"],
      ["a job too few", "):  4", "):  5", "should have 5 jobs and has 4"],
      ["an unknown successor", "           2   3", "           2   9", "job 9, which does not exist"],
      ["a successor too few", "           2   3", "           2", "should have 2 successors and has 1"],
      ["a job twice", "   3        1          1", "   2        1          1", "job 2 is given twice"],
      ["a request missing", "  3      1     5       1    4\n", "", "job 3 has no row", 15],
      ["a request of nobody", "  3      1     5", "  7      1     5", "job 7 is not among"],
      ["an amount too large", "  2      1     3       2", "  2      1     3       2000000000", "too large"],
      ["no amounts at all", "    3    4\n", "", "one row of amounts", 23],
    ];
  test.each(damaged.map((row) => ({ row, what: row[0] })))(
    "with $what is refused with its line",
    ({ row }) => {
      const [, from, to, says, line] = row;
      expect(SMALL).toContain(from);
      const result = read(SMALL.replace(from, to));
      const found = result.ok ? [] : result.problems.filter(({ message }) => message.includes(says));
      expect(found[0]?.line).toBe(line ?? SMALL.slice(0, SMALL.indexOf(from)).split("\n").length);
    },
  );

  test("that is cut anywhere is read or refused, never more", () => {
    for (let length = 0; length < SMALL.length; length++) read(SMALL.slice(0, length));
  });
});

test("what is of no known format is refused, with those that are known", () => {
  for (const text of ["", "hello", "\0\u0001", "12"]) {
    const result = read(text, "notes.txt");
    expect(result.ok ? [] : result.problems.map(({ message }) => message)).toEqual([
      expect.stringContaining("PSPLIB (.sm)"),
    ]);
  }
});

test.runIf(hasSharedData)("all instances of PSPLIB with 30 jobs are read", () => {
  const files = sharedFiles("psplib/j30");
  expect(files).toHaveLength(480);
  for (const file of files) {
    const result = readProject(sharedFile(file), file, { now: 0 });
    if (!result.ok) throw new Error(`${file}: ${result.problems[0]?.message}`);
    const { activities, capacities } = result.project;
    expect(activities.map(({ id }) => id)).toEqual(
      Array.from({ length: 32 }, (_, index) => String(index + 1)),
    );
    expect(Object.keys(capacities)).toEqual(["R1", "R2", "R3", "R4"]);
    expect(activities.at(-1)?.duration).toBe(0);
  }
});
