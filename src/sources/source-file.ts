import { stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";

/** The file that a path means: of a directory, the issues of Beads in it. */
export async function sourceFile(path: string): Promise<string> {
  if (!(await stat(path)).isDirectory()) return path;
  return basename(resolve(path)) === ".beads"
    ? join(path, "issues.jsonl")
    : join(path, ".beads", "issues.jsonl");
}
