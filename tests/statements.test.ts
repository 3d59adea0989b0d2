import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

/**
 * Statements of the specification that the runtime itself keeps, by chapter. Not here: stacks, registers and thread-locals
 * (5.3.1, 5.3.2, 5.4, 6.4), which generators do not have; and what is for guests and for translated programs (3.1 to 3.7 but
 * for two numbers that chapter 5 uses again, 11 and 12).
 */
const STATEMENTS = `
  1.1.1 1.1.2
  2.1.1 2.1.2 2.2.1 2.2.2 2.2.3 2.2.4 2.3.1 2.3.2 2.4.1 2.4.2 2.5.1 2.6.1 2.6.2 2.7.1 2.7.2
  3.2.3 3.3.1
  4.1.1 4.1.2 4.2.1 4.2.2 4.3.1
  5.1.1 5.1.2 5.2.1 5.2.2 5.3.3 5.3.4
  6.1.1 6.2.1 6.2.2 6.2.3 6.3.1
  7.1.1 7.1.2 7.2.1 7.3.1 7.3.2 7.4.1 7.4.2
  8.1.1 8.1.2 8.1.3 8.2.1 8.3.1
  9.1.1 9.2.1 9.3.1
  10.2.1 10.2.2 10.2.3 10.2.4
  13.1.1 13.2.1
  14.1.1
  15.1.1 15.1.2 15.2.1 15.2.2
`;

function namedByTests(): ReadonlySet<string> {
  const root = new URL("..", import.meta.url).pathname;
  const files = ["src", "tests"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".test.ts"))
      .map((file) => join(root, folder, file)),
  );
  const names = files.flatMap((file) => [...readFileSync(file, "utf8").matchAll(/\[SCHED:([\d.]+)\]/g)]);
  return new Set(names.map(([, number]) => number ?? ""));
}

test("every statement of the specification that the runtime keeps is named by a test", () => {
  const named = namedByTests();
  expect(STATEMENTS.split(/\s+/).filter((one) => one !== "" && !named.has(one))).toEqual([]);
});
