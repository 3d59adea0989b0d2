import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { directoryWith } from "./cli.ts";
import { setup, teardown } from "./temporary-folder.ts";

test("what tests leave among temporary files is in a folder of their own, which goes with the last of them", async () => {
  expect(dirname(await directoryWith({}))).toMatch(/\/orrery-tests-\w+$/);
  const ours = tmpdir();
  process.env["TMPDIR"] = await directoryWith({});
  try {
    const outer = tmpdir();
    await setup();
    const inner = tmpdir();
    expect(dirname(inner)).toBe(outer);
    await writeFile(join(await directoryWith({}), "left"), "");
    await teardown();
    expect([existsSync(inner), tmpdir()]).toEqual([false, outer]);
  } finally {
    process.env["TMPDIR"] = ours;
  }
});
