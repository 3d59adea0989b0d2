import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { guardGroup, releaseGroup } from "./orphan-guard.ts";

const FIRST_POLL_MS = 10;
const LAST_POLL_MS = 200;

/** A process group that we started, from its start until nothing of it is left for us to signal. */
export class ProcessGroup {
  readonly #id: number;
  #killed = false;
  #released = false;

  constructor(id: number) {
    this.#id = id;
    guardGroup(id);
  }

  terminate(): void {
    this.#send("SIGTERM");
  }

  kill(): void {
    this.#killed = true;
    this.#send("SIGKILL");
  }

  /** Resolves when the last member has ended or the group was killed. */
  async ended(): Promise<void> {
    for (let pollMs = FIRST_POLL_MS; await this.#isAlive(); pollMs = Math.min(2 * pollMs, LAST_POLL_MS)) {
      await sleep(pollMs);
    }
  }

  /** Signal nothing from here on: the id may soon belong to somebody else. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    releaseGroup(this.#id);
  }

  async #isAlive(): Promise<boolean> {
    return !this.#killed && this.#send(0) && (await hasLivingMember(this.#id));
  }

  #send(signal: NodeJS.Signals | 0): boolean {
    if (this.#released) return false;
    try {
      process.kill(-this.#id, signal);
      return true;
    } catch {
      // ESRCH: all gone. EPERM: what is left changed its user, and is not ours to signal.
      return false;
    }
  }
}

/**
 * A signal also reaches the dead that nobody has reaped, and orphans are reaped by init, which in many
 * containers does it late or never. Without a Linux /proc we cannot tell, and call the group living.
 */
async function hasLivingMember(group: number): Promise<boolean> {
  // Shared by all who ask meanwhile: a run that is cancelled asks for each of its commands at once.
  scan ??= livingGroups().finally(() => {
    scan = undefined;
  });
  const groups = await scan;
  return groups.size === 0 || groups.has(group);
}

let scan: Promise<ReadonlySet<number>> | undefined;

async function livingGroups(): Promise<ReadonlySet<number>> {
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, "latin1").catch(() => "")));
  const groups = new Set<number>();
  for (const stat of stats) {
    // "pid (name) state parent group …", and the name may contain anything.
    const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ", 3);
    if (state && state !== "Z" && state !== "X") groups.add(Number(group));
  }
  return groups;
}
