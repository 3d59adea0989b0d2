import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sourceFile } from "./index.ts";

test("a directory means the issues of Beads in it, a file itself", async () => {
  const directory = await mkdtemp(join(tmpdir(), "orrery-sources-"));
  try {
    const issues = join(directory, ".beads", "issues.jsonl");
    await mkdir(join(directory, ".beads"));
    await writeFile(issues, "");
    expect(await sourceFile(directory)).toBe(issues);
    expect(await sourceFile(join(directory, ".beads"))).toBe(issues);
    expect(await sourceFile(`${join(directory, ".beads")}/`)).toBe(issues);
    expect(await sourceFile(issues)).toBe(issues);
    await expect(sourceFile(join(directory, "nothing"))).rejects.toThrow("ENOENT");
  } finally {
    await rm(directory, { recursive: true });
  }
});
