// What the image is built from: without Docker, but with the same files.

import { execFile, execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { directoryWith } from "./cli.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

test("what the ignore file lets through is enough to make the package", async () => {
  const folder = await directoryWith({});
  const files = execFileSync("git", ["ls-files", "-z"], { cwd: ROOT, encoding: "utf8" }).split("\0");
  const kept = files.filter((file) => file !== "" && isLetThrough(file));
  for (const file of kept) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    copyFileSync(join(ROOT, file), join(folder, file));
  }
  expect(kept.filter((file) => /\.test\.ts$|^tests\//.test(file))).toEqual([]);
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const { stdout } = await promisify(execFile)("npm", ["pack", "--json"], { cwd: folder });
  const [packed] = JSON.parse(stdout) as { files: { path: string }[] }[];
  const paths = packed?.files.map(({ path }) => path);
  expect(paths).toEqual(expect.arrayContaining(["dist/cli/main.js", "dist/dashboard/index.html"]));
}, 300_000);

/** As Docker reads it: the last line that matches a file, or a folder that it is in, decides. */
function isLetThrough(file: string): boolean {
  const names = file.split("/");
  const paths = names.map((_, at) => names.slice(0, at + 1).join("/"));
  return RULES.reduce(
    (isIn, { pattern, isException }) => (paths.some((path) => pattern.test(path)) ? isException : isIn),
    true,
  );
}

const RULES: readonly { readonly pattern: RegExp; readonly isException: boolean }[] = readFileSync(
  join(ROOT, "deploy/Dockerfile.dockerignore"),
  "utf8",
)
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"))
  .map((line) => ({ pattern: patternOf(line.replace(/^!/, "")), isException: line.startsWith("!") }));

function patternOf(glob: string): RegExp {
  const parts = glob.split(/(\*\*\/|\*)/).map((part) => {
    if (part === "**/") return "(?:.+/)?";
    return part === "*" ? "[^/]*" : part.replaceAll(/[.+]/g, "\\$&");
  });
  return new RegExp(`^${parts.join("")}$`);
}
