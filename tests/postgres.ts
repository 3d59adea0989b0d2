// A private PostgreSQL for tests: one for each process of tests, started when the first asks for it.

import { spawn } from "node:child_process";
import { chmod, mkdtemp } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEmbedded } from "../src/store/embedded/cluster.ts";

/** Where a test's tables are: a schema of its own in the shared PostgreSQL. */
export interface TestDatabase {
  readonly url: string;
  readonly schema: string;
}

let shared: Promise<string> | undefined;
let schemas = 0;

/** A schema that nobody else uses. */
export async function testDatabase(): Promise<TestDatabase> {
  shared ??= startShared();
  return { url: await shared, schema: `test ${++schemas}` };
}

/** A folder for a PostgreSQL that a test starts by itself. It is stopped and removed when this process ends. */
export async function testDataDir(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), "orrery-pg-"));
  // Another user must get in where the tests run as root.
  await chmod(dataDir, 0o711);
  guard(dataDir);
  return dataDir;
}

async function startShared(): Promise<string> {
  // Nothing here outlives the machine, so nothing needs to reach the disk.
  const settings = { fsync: "off", full_page_writes: "off", max_connections: "80" };
  return (await openEmbedded({ dataDir: await testDataDir(), settings })).url;
}

/**
 * Cleans up after us however we end: a shell waits until we no longer hold the other end of its input, which the
 * kernel closes even when we are killed.
 */
function guard(dataDir: string): void {
  const script = `
    cat > /dev/null
    for file in $(find "$1" -name postmaster.pid); do
      pid=$(head -n 1 "$file") && kill -QUIT "$pid" && while kill -0 "$pid"; do sleep 0.05; done
    done
    rm -rf "$1"`;
  const child = spawn("sh", ["-c", script, "sh", dataDir], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  child.unref();
  (child.stdin as Socket).unref();
}
