// What a queue must be able to do to be measured. Every one is measured by the same code through this.

/** @typedef {import("./closers.mjs").Closers} Closers */

/**
 * @typedef {object} System
 * @property {string} name
 * @property {"postgresql" | "redis"} keptIn
 * @property {readonly string[]} packages Of which it consists; none: it is Orrery.
 * @property {Readonly<Record<Purpose, string>>} settings In words, as they are printed.
 * @property {readonly number[]} extraInFlight Beside those that all are measured with.
 * @property {"everysec" | "always"} [appendfsync] When its Redis writes to the disk: within a second, or before it answers.
 * @property {(options: OpenOptions, closers: Closers) => Promise<Queue>} open
 * @property {(place: Place, loaded: number) => Promise<number>} countCompleted By a connection of its own, of
 *   what was loaded.
 */

/** @typedef {"submit" | "drain" | "latency"} Purpose */

/**
 * Where its data is: nobody else's.
 *
 * @typedef {object} Place
 * @property {string} url Of PostgreSQL, or of Redis.
 */

/**
 * @typedef {object} OpenOptions
 * @property {Place} place
 * @property {Purpose} purpose
 * @property {() => void} onStart Called first thing by each task.
 */

/**
 * @typedef {object} Queue
 * @property {() => Promise<unknown>} submit Resolves once the task is durable.
 * @property {(count: number) => Promise<unknown>} submitMany In one call.
 * @property {(count: number) => Promise<unknown>} load As many, as it likes best.
 * @property {() => Promise<Stop>} begin Its worker starts.
 * @property {(count: number) => Promise<unknown>} completed Resolves when so many ends are committed in all.
 * @property {(file: string) => Promise<unknown>} [writeLedger]
 */

/** @typedef {() => Promise<unknown>} Stop What was begun ends, and may begin again. */

/** @param {System} system */
export function isOurs({ packages }) {
  return packages.length === 0;
}
