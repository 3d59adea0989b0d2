// The packages of the others, which are installed when they are first measured.

import { execFile } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { withLock } from "../../scripts/lock.mjs";
import { npm } from "../../scripts/run.mjs";

const folder = fileURLToPath(new URL("..", import.meta.url));
const lockFile = `${folder}package-lock.json`;
const stamp = `${folder}node_modules/.orrery-stamp`;

/**
 * Why they cannot be had, if they cannot.
 *
 * @param {(line: string) => void} say
 * @returns {Promise<string | undefined>}
 */
export async function installPackages(say) {
  if (areInstalled()) return undefined;
  try {
    await withLock(`${folder}../.cache/bench.lock`, async () => {
      if (areInstalled()) return;
      say("installing the queues to compare with…");
      // Two of them declare a newer Node; both run on this one.
      const [command, args] = npm("install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund");
      await promisify(execFile)(command, args, { cwd: folder });
      writeFileSync(stamp, readFileSync(lockFile));
    });
    return undefined;
  } catch (error) {
    const { stderr, message } = /** @type {Error & { stderr?: string }} */ (error);
    return `npm could not install it: ${(stderr || message).trim().split("\n").slice(0, 3).join("; ")}`;
  }
}

function areInstalled() {
  return existsSync(stamp) && readFileSync(stamp).equals(readFileSync(lockFile));
}

/**
 * Loaded by name: they are not there when the benchmarks are checked.
 *
 * @param {string} name
 * @returns {Promise<unknown>}
 */
export function loadPackage(name) {
  return import(name);
}

/** @param {readonly string[]} names */
export function versionsOf(names) {
  const { packages } = /** @type {{ packages: Record<string, { version?: string }> }} */ (
    createRequire(import.meta.url)(lockFile)
  );
  return names.map((name) => `${name} ${packages[`node_modules/${name}`]?.version}`).join(", ");
}
