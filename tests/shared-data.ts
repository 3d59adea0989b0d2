// Instances and exports that nobody here wrote. They lie beside the repository, are not part of it, and may be missing.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const DIRECTORY = findDirectory();

/** To be asked by tests that read them. Says so where they are skipped, as nobody reads the names of skipped tests. */
export const hasSharedData: boolean = DIRECTORY !== undefined;
if (!hasSharedData) process.stderr.write("shared/data is missing: tests that read it are SKIPPED\n");

export function sharedFile(path: string): Uint8Array {
  return readFileSync(join(DIRECTORY ?? "", path));
}

/** Paths of the files of a directory, sorted. */
export function sharedFiles(path: string): string[] {
  const directory = join(DIRECTORY ?? "", path);
  return readdirSync(directory)
    .sort()
    .map((name) => join(path, basename(name)));
}

/** Beside the repository, or beside where its worktrees are. */
function findDirectory(): string | undefined {
  return ["../../shared/data", "../../../shared/data"]
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find(existsSync);
}
