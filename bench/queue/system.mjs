// What a system must be able to do to be measured. Every system is measured by the same code through this.

/** @typedef {import("./closers.mjs").Closers} Closers */

/**
 * How the system is reached: as a library in the process that measures, or over HTTP as a server of its own, by its
 * client or by plain requests. A client may cost more than the server that it asks.
 *
 * @typedef {"library" | "http" | "plain http"} Door
 */

/**
 * @typedef {object} System
 * @property {string} name
 * @property {readonly Door[]} submitDoors
 * @property {readonly Door[]} latencyDoors
 * @property {(options: OpenOptions, closers: Closers) => Promise<Queue>} open
 * @property {Door} drainDoor The door through which a worker of another process comes.
 * @property {string} drainsWith The settings that matter for it.
 * @property {((job: ClaimJob, closers: Closers) => Promise<Claim[]>) | undefined} claims
 * @property {((folder: string, closers: Closers) => Promise<Start>) | undefined} start Cold, or again on the same data.
 * @property {boolean} isKept Whether there is anything to start again on.
 */

/**
 * @typedef {object} OpenOptions
 * @property {Door} door
 * @property {string} folder
 * @property {() => void} [onStart] With it, tasks are run in this process; called first thing by each.
 */

/**
 * @typedef {object} Queue
 * @property {() => Promise<string>} submit Resolves with the task's id once it is durable.
 * @property {(count: number, agent: string) => Promise<void>} submitBatch In one request.
 * @property {(id: string) => Promise<void>} result Resolves when the task has completed and this process knows.
 * @property {(count: number, slots: number) => Promise<() => Promise<void>>} [drainApart] Makes a worker process
 *   ready to run what is submitted from now on. The answer lets it go, and resolves when `count` ends are committed.
 * @property {() => Promise<Usage>} usage
 */

/**
 * Of the process that holds the queue: the server's, or with a library that which measures. CPU time hardly depends on
 * what else the machine does.
 *
 * @typedef {object} Usage
 * @property {number} rssBytes
 * @property {number} cpuMicros Since its start.
 */

/**
 * @typedef {object} ClaimJob
 * @property {string} folder
 * @property {readonly number[]} backlogs Growing.
 * @property {boolean} crowded Whether 99% of what waits belongs to an agent that is at its limit.
 * @property {number} warmUp
 * @property {number} samples
 */

/**
 * @typedef {object} Claim
 * @property {number} backlog
 * @property {readonly number[]} committedMs From a free slot to the committed assignment.
 * @property {readonly number[]} arrivedMs To its arrival at the worker, with the payload.
 */

/**
 * @typedef {object} Start
 * @property {number} readyMs
 * @property {number} firstTaskMs Until the result of the first task is known.
 */

export {};
