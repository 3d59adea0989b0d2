// A lock that several processes of this checkout can wait for.
//
// The lock is a directory holding one file named after its owner. It appears whole (a prepared directory
// is renamed into place, which fails while another one stands there), and taking over from a dead owner
// is one rename of the owner's file: of two processes that both believe the owner dead, one succeeds.

import { randomUUID } from "node:crypto";
import {
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const BEAT_MS = 1_000;
const POLL_MS = 100;
/** An owner that was not seen to beat for this long is dead, wherever it runs. */
const SILENCE_MS = 15_000;

/**
 * Run `work` while holding the lock. `work` must not block the event loop for long: the lock beats on a timer.
 *
 * @template T
 * @param {string} path
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(path, work) {
  const mine = `${process.pid}@${hostname()}@${randomUUID()}`;
  const ownerFile = join(path, mine);
  await acquire(path, mine);
  const release = () => {
    ignoreErrors(() => unlinkSync(ownerFile));
    ignoreErrors(() => rmdirSync(path));
  };
  process.once("exit", release);
  const beat = setInterval(() => ignoreErrors(() => utimesSync(ownerFile, new Date(), new Date())), BEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(beat);
    process.off("exit", release);
    release();
  }
}

/** @param {string} path @param {string} mine */
async function acquire(path, mine) {
  const prepared = `${path}.${mine}`;
  mkdirSync(dirname(path), { recursive: true });
  mkdirSync(prepared);
  writeFileSync(join(prepared, mine), "");
  try {
    let seen = "";
    let seenAt = 0;
    while (!isPutInPlace(prepared, path)) {
      const owner = currentOwner(path);
      if (owner) {
        const sign = `${owner.name} ${owner.beatMs}`;
        // Silence is measured on our own monotonic clock: the wall clock may jump, and file systems keep another one.
        if (sign !== seen) [seen, seenAt] = [sign, performance.now()];
        const isDead = isGone(owner.name) || performance.now() - seenAt > SILENCE_MS;
        if (isDead && isTakenOver(join(path, owner.name), join(path, mine))) return;
      }
      await sleep(POLL_MS);
    }
  } finally {
    rmSync(prepared, { recursive: true, force: true });
  }
}

/** @param {string} prepared @param {string} path */
function isPutInPlace(prepared, path) {
  try {
    renameSync(prepared, path);
    return true;
  } catch (error) {
    if (["ENOTEMPTY", "EEXIST", "EPERM"].includes(codeOf(error))) return false;
    throw error;
  }
}

/** @param {string} theirs @param {string} mine */
function isTakenOver(theirs, mine) {
  try {
    renameSync(theirs, mine);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

/** @param {string} path */
function currentOwner(path) {
  try {
    const [name] = readdirSync(path);
    return name && { name, beatMs: statSync(join(path, name)).mtimeMs };
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Whether the owner was a process of this machine that has ended; spares the wait after a crash.
 *
 * @param {string} owner
 */
function isGone(owner) {
  const [pid, host] = owner.split("@");
  if (host !== hostname()) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return codeOf(error) === "ESRCH";
  }
}

/** @param {unknown} error */
function codeOf(error) {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** @param {() => void} attempt */
function ignoreErrors(attempt) {
  try {
    attempt();
  } catch {
    // The lock was taken over from us; it is no longer ours to touch.
  }
}
