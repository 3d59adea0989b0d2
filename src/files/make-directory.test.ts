import { mkdtempSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeDirectory } from "./make-directory.ts";

test("a directory is made with those above it, by several at once too", async () => {
  const path = join(mkdtempSync(join(tmpdir(), "orrery-directory-")), "a", "b", "c");
  await Promise.all([makeDirectory(path, 0o700), makeDirectory(path, 0o700)]);
  expect(statSync(path).mode & 0o777).toBe(0o700);
  await makeDirectory(path);
});

test("where none can be made, that is said instead of trying for ever", async () => {
  await expect(makeDirectory("/proc/orrery/data")).rejects.toThrow("ENOENT");
  const file = join(mkdtempSync(join(tmpdir(), "orrery-directory-")), "file");
  writeFileSync(file, "");
  await expect(makeDirectory(file)).rejects.toThrow("EEXIST");
  await expect(makeDirectory(join(file, "below"))).rejects.toThrow("EEXIST");
});
