import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const program = fileURLToPath(new URL("idle-service.mjs", import.meta.url));

/** Of those that every task passes through, some of each part, whose names nothing else has. */
const PASSED = ["step", "apply", "aboutOf", "letOut", "workOf", "makeReady"];

test("an idle service keeps the code that was compiled for what comes and goes", {
  timeout: 120_000,
}, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["--trace-opt", "--trace-deopt", program], {
    maxBuffer: 2 ** 28,
  });
  const [before = "", after = ""] = stdout.split("@collect\n");
  const [during = ""] = after.split("@collected\n");
  const compiled = namesIn(before, /completed optimizing \S+ <JSFunction ([^ >]+)/g);
  const dropped = namesIn(during, /<SharedFunctionInfo ([^>]+)>.*reason: weak objects/g);
  // V8 chooses which it compiles by themselves, and which within those that call them.
  expect(PASSED.filter((name) => compiled.has(name)).length).toBeGreaterThan(PASSED.length / 2);
  expect(PASSED.filter((name) => dropped.has(name))).toEqual([]);
});

function namesIn(text: string, pattern: RegExp): Set<string> {
  return new Set(Array.from(text.matchAll(pattern), ([, name = ""]) => name));
}
