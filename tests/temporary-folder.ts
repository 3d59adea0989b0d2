// All that tests put among temporary files goes into one folder, which is removed when the last of them has ended.

import { chmod, mkdtemp, readdir, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const PREFIX = "orrery-tests-";
/** What is removed by whoever stops the PostgreSQL in it, a moment after its tests. */
const GUARDED = "orrery-pg-";
const REMOVED_WITHIN_MS = 10_000;

let folder: string | undefined;
let outer: string | undefined;

/** Called once for each project; all of them share the first one's. */
export async function setup(): Promise<void> {
  if (basename(tmpdir()).startsWith(PREFIX)) return;
  outer = process.env["TMPDIR"];
  folder = await mkdtemp(join(tmpdir(), PREFIX));
  // PostgreSQL runs as another user where the tests run as root.
  await chmod(folder, 0o755);
  process.env["TMPDIR"] = folder;
}

export async function teardown(): Promise<void> {
  if (folder === undefined) return;
  const removed = folder;
  folder = undefined;
  if (outer === undefined) delete process.env["TMPDIR"];
  else process.env["TMPDIR"] = outer;
  const names = (await readdir(removed)).filter((name) => !name.startsWith(GUARDED));
  await Promise.all(
    names.map((name) => rm(join(removed, name), { recursive: true, force: true, maxRetries: 3 })),
  );
  for (let waitedMs = 0; waitedMs < REMOVED_WITHIN_MS; waitedMs += 100) {
    const isGone = await rmdir(removed).then(
      () => true,
      () => false,
    );
    if (isGone) return;
    await sleep(100);
  }
}
