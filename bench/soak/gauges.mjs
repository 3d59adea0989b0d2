// What processes use, read once a second from the kernel: they are not asked, and need not know.

import { readdirSync, readFileSync } from "node:fs";

/** @typedef {{ at: number, rssBytes: number }} Sample */
/** @typedef {{ name: string, pid: number }} Watched */

const EVERY_MS = 1_000;
/** The kernel counts CPU time in hundredths of a second, and memory in pages. */
const MICROS_PER_TICK = 10_000;
const PAGE_BYTES = 4_096;

export class Gauges {
  /** Over time; a process that is started again goes on under its name. @type {Map<string, Sample[]>} */
  memory = new Map();
  /** By name and id. @type {Map<string, number>} */
  #cpuMicros = new Map();
  #before;
  #watched;
  #postmaster;
  #timer;

  /**
   * @param {() => readonly Watched[]} watched
   * @param {number} postmaster
   */
  constructor(watched, postmaster) {
    this.#watched = watched;
    this.#postmaster = postmaster;
    this.read();
    // Whoever is started later has used nothing before.
    this.#before = new Map(this.#cpuMicros);
    this.#timer = setInterval(() => this.read(), EVERY_MS);
  }

  read() {
    const at = Date.now();
    for (const { name, pid } of this.#watched()) {
      const stat = statOf(pid);
      if (!stat) continue;
      const samples = this.memory.get(name) ?? [];
      samples.push({ at, rssBytes: stat.rssBytes });
      this.memory.set(name, samples);
      this.#cpuMicros.set(`${name} ${pid}`, stat.cpuMicros);
    }
    this.#cpuMicros.set("PostgreSQL", cpuOfCluster(this.#postmaster));
  }

  /**
   * Since they are watched.
   *
   * @param {string} prefix Of their names.
   */
  cpuMicros(prefix) {
    let sum = 0;
    for (const [name, micros] of this.#cpuMicros)
      if (name.startsWith(prefix)) sum += micros - (this.#before.get(name) ?? 0);
    return sum;
  }

  async [Symbol.asyncDispose]() {
    clearInterval(this.#timer);
  }
}

/** With its children, also those that have ended. @param {number} postmaster */
function cpuOfCluster(postmaster) {
  const stat = statOf(postmaster);
  let micros = (stat?.cpuMicros ?? 0) + (stat?.endedMicros ?? 0);
  for (const name of readdirSync("/proc")) {
    const child = /^\d+$/.test(name) ? statOf(Number(name)) : undefined;
    if (child?.parent === postmaster) micros += child.cpuMicros;
  }
  return micros;
}

/** Undefined: there is no such process any more. @param {number} pid */
function statOf(pid) {
  let text = "";
  try {
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // Its name stands in brackets, and may hold anything.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const at = (/** @type {number} */ number) => Number(fields[number - 3]);
  return {
    parent: at(4),
    cpuMicros: (at(14) + at(15)) * MICROS_PER_TICK,
    endedMicros: (at(16) + at(17)) * MICROS_PER_TICK,
    rssBytes: at(24) * PAGE_BYTES,
  };
}
