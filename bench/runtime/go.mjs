// Goroutines, where Go is installed: a small program, compiled when the benchmark runs.

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { AT_ONCE } from "./subjects.mjs";

const run = promisify(execFile);
const SOURCE = fileURLToPath(new URL("goroutines.go", import.meta.url));
const MOST_MS = 300_000;

/**
 * @typedef {object} Go
 * @property {string} version
 * @property {import("./subjects.mjs").Subject} subject
 * @property {(alive: number) => Promise<number>} memoryBytes
 * @property {(size: { depth: number, width: number, leafUs: number, runs: number }) => Promise<number>} forkJoin
 */

/**
 * Calls `use` with Go, or with nothing where it is not there or does not compile, which is said.
 *
 * @template T
 * @param {(line: string) => void} say
 * @param {(go: Go | undefined) => Promise<T>} use
 * @returns {Promise<T>}
 */
export async function withGo(say, use) {
  const folder = mkdtempSync(join(tmpdir(), "orrery-go-"));
  try {
    return await use(await compiled(folder, say));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {string} folder
 * @param {(line: string) => void} say
 * @returns {Promise<Go | undefined>}
 */
async function compiled(folder, say) {
  const program = join(folder, "goroutines");
  // Nothing of it outside of the folder, and nothing from the network.
  const env = { ...process.env, GOCACHE: join(folder, "cache"), GO111MODULE: "off", GOTOOLCHAIN: "local" };
  try {
    const { stdout } = await run("go", ["version"], { env, timeout: MOST_MS });
    await run("go", ["build", "-o", program, SOURCE], { env, timeout: MOST_MS });
    return goOf(program, stdout.split(" ")[2] ?? "go");
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    const missing = "there is no command go (Debian has it as golang-go)";
    say(`without Go: ${code === "ENOENT" ? missing : message.split("\n").slice(0, 3).join(" ")}`);
    return undefined;
  }
}

/**
 * @param {string} program
 * @param {string} version
 * @returns {Go}
 */
function goOf(program, version) {
  const measure = async (/** @type {string} */ what, /** @type {number[]} */ ...sizes) =>
    Number((await run(program, [what, ...sizes.map(String)], { timeout: MOST_MS })).stdout);
  return {
    version,
    subject: {
      name: "goroutines",
      switchNs: ({ fibers, switches }) => measure("switch", fibers, Math.ceil(switches / fibers)),
      spawnNs: ({ spawns }) => measure("spawn", spawns, AT_ONCE),
      joinNs: ({ spawns }) => measure("spawn", spawns, 1),
    },
    memoryBytes: (alive) => measure("memory", alive),
    forkJoin: ({ depth, width, leafUs, runs }) => measure("forkjoin", depth, width, leafUs, runs),
  };
}
