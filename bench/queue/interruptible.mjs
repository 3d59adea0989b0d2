// Work that leaves nothing behind, however it ends.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Closers } from "./closers.mjs";

/**
 * @typedef {object} Surroundings
 * @property {string} folder Removed afterwards.
 * @property {Closers} closers Closed before that.
 * @property {AbortSignal} signal Aborted when the user wants to stop.
 */

/**
 * @template Result
 * @param {(surroundings: Surroundings) => Promise<Result>} work
 * @returns {Promise<Result>}
 */
export function interruptible(work) {
  return withSignals((signal) =>
    withFolder(async (folder) => {
      const closers = new Closers();
      try {
        return await work({ folder, closers, signal });
      } finally {
        await closers.closeAll();
      }
    }),
  );
}

/**
 * Ends in order when it is interrupted, and then as whoever interrupted it expects: by the signal.
 *
 * @template Result
 * @param {(signal: AbortSignal) => Promise<Result>} work
 * @returns {Promise<Result>}
 */
async function withSignals(work) {
  const interrupted = new AbortController();
  /** @type {NodeJS.Signals | undefined} */
  let received;
  const onSignal = (/** @type {NodeJS.Signals} */ name) => {
    received ??= name;
    interrupted.abort(new Error(`interrupted by ${name}`));
  };
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  try {
    return await work(interrupted.signal);
  } finally {
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
    if (received) process.kill(process.pid, received);
  }
}

/**
 * @template Result
 * @param {(folder: string) => Promise<Result>} work
 * @returns {Promise<Result>}
 */
async function withFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), "orrery-bench-"));
  const release = guard(folder);
  try {
    // PostgreSQL does not run as root: where we are, another user has to get in.
    chmodSync(folder, 0o711);
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
    await release();
  }
}

/** What is left of a run whose databases nobody could stop any more. */
const CLEAN_UP = `
  cat > /dev/null
  [ -d "$1" ] || exit 0
  for file in $(find "$1" -name postmaster.pid -o -name redis.pid); do
    pid=$(head -n 1 "$file")
    case "$(tr '\\0' ' ' < /proc/$pid/cmdline) $(readlink /proc/$pid/cwd)" in
      *"$1"*) kill -QUIT "$pid" && while kill -0 "$pid"; do sleep 0.05; done ;;
    esac
  done
  rm -rf "$1"`;

/**
 * Cleans up even when we are killed: a shell waits until we no longer hold the other end of its input, which the kernel
 * closes then.
 *
 * @param {string} folder
 */
function guard(folder) {
  const shell = spawn("/bin/sh", ["-c", CLEAN_UP, "sh", folder], {
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  const ended = once(shell, "close");
  return async () => {
    shell.stdin.end();
    await ended;
  };
}
