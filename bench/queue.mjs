// How fast tasks are taken in, given out and ended by a whole service, and how long one waits for it.
//
// PostgreSQL is the one that comes with a data directory, as it is started for users: every answer waits for the
// disk. Each measurement has a process of its own and an empty folder. Client, worker, server and database share the
// machine. The rounds go through all cases, each beginning one further; a figure is the median of the rounds, with the
// least and the largest beside it. Rates of commits follow the disk, so its speed is measured in every round too.

import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Apart } from "./queue/apart.mjs";
import { measureSync } from "./queue/noise.mjs";
import { SYSTEMS } from "./queue/systems.mjs";
import { atLeast } from "./report.mjs";
import { median } from "./stats.mjs";

/** @typedef {import("./queue/measures.mjs").Figure} Figure */
/** @typedef {import("./queue/measures.mjs").Task} Task */
/** @typedef {import("./queue/system.mjs").Door} Door */
/** @typedef {import("./queue/system.mjs").System} System */
/** @typedef {import("./report.mjs").Outcome} Outcome */
/** @typedef {import("./report.mjs").Row} Row */
/** @typedef {import("./report.mjs").Setting} Setting */

/** @type {import("./report.mjs").Bench} */
export const queue = {
  name: "queue",
  summary:
    "submissions, drain, latency, claims, start and memory of the service, on PostgreSQL and in memory",
  run: (setting) => withSignals((signal) => withFolder((folder) => run(setting, folder, signal))),
};

const STANDARD = {
  rounds: 3,
  submit: { inFlight: [1, 16, 256], warmUpMs: 1_000, forMs: 2_000, batch: 10_000 },
  drain: { tasks: 20_000, agents: 8, slots: 64 },
  latency: { warmUp: 200, samples: 1_000 },
  // Enough to warm up: the smallest backlog comes first, on code that nothing has run before.
  claims: { backlogs: [10_000, 100_000], warmUp: 500, samples: 300 },
  memory: { waiting: 100_000 },
  syncs: 200,
};

/** @type {typeof STANDARD} */
const FULL = { ...STANDARD, claims: { ...STANDARD.claims, backlogs: [10_000, 100_000, 1_000_000] } };

/** @type {typeof STANDARD} */
const QUICK = {
  rounds: 1,
  submit: { inFlight: [1, 16], warmUpMs: 1, forMs: 50, batch: 100 },
  drain: { tasks: 200, agents: 4, slots: 16 },
  latency: { warmUp: 2, samples: 10 },
  claims: { backlogs: [200], warmUp: 2, samples: 10 },
  memory: { waiting: 200 },
  syncs: 5,
};

/** To make a database and to stop it takes seconds, so small sizes do without the cases that work as in memory. */
const QUICK_ON_DISK = new Set(["submissions, library", "drain", "start", "memory"]);

/** Group commit: what is in flight at once shares a commit. */
const LEAST_RATIO = 5;
const RATIO_OF = { system: "Orrery on PostgreSQL", case: "submit, library, 16 in flight : 1 in flight" };

const child = fileURLToPath(new URL("queue/child.mjs", import.meta.url));

/**
 * One thing that is measured once per round.
 *
 * @typedef {object} Case
 * @property {System} system
 * @property {string} title
 * @property {(round: number) => Task} task
 */

/**
 * @param {Setting} setting
 * @param {string} folder
 * @param {AbortSignal} signal
 * @returns {Promise<Outcome>}
 */
async function run({ quick, full, say }, folder, signal) {
  const scale = quick ? QUICK : full ? FULL : STANDARD;
  const cases = SYSTEMS.flatMap((system) => casesOf(system, scale)).filter(
    ({ system, title }) => !quick || !system.isKept || QUICK_ON_DISK.has(title),
  );
  const found = new Found();
  for (let round = 0; round < scale.rounds; round++) {
    const sync = measureSync(folder, scale.syncs);
    found.add("disk", { case: "fdatasync of 8 KiB", metric: "p50", unit: "ms", value: sync.p50 });
    found.add("disk", { case: "fdatasync of 8 KiB", metric: "p95", unit: "ms", value: sync.p95 });
    for (const [at, { system, title, task }] of rotated(cases, round).entries()) {
      say(
        `round ${round + 1} of ${scale.rounds}, case ${at + 1} of ${cases.length}: ${system.name}, ${title}`,
      );
      const figures = await measureApart(system, task(round), join(folder, `${round}-${at}`), signal);
      for (const figure of figures) found.add(system.name, figure);
    }
  }
  return { rows: found.rows(["disk", ...SYSTEMS.map(({ name }) => name)], !quick), failures: [] };
}

/**
 * @param {System} system
 * @param {typeof STANDARD} scale
 * @returns {Case[]}
 */
function casesOf(system, scale) {
  /** @type {[title: string, task: (round: number) => Task][]} */
  const tasks = [
    ...system.submitDoors.map((door) => submitCase(door, scale)),
    ["drain", () => ({ measure: "drain", ...scale.drain })],
    ...system.latencyDoors.map((door) => latencyCase(door, scale)),
  ];
  if (system.claims) {
    tasks.push(
      ["claims", () => ({ measure: "claims", ...scale.claims, crowded: false })],
      ["claims in a crowd", () => ({ measure: "claims", ...scale.claims, crowded: true })],
    );
  }
  if (system.start) tasks.push(["start", () => ({ measure: "start" })]);
  if (system.latencyDoors.includes("http"))
    tasks.push(["memory", () => ({ measure: "memory", ...scale.memory })]);
  return tasks.map(([title, task]) => ({ system, title, task }));
}

/**
 * @param {Door} door
 * @param {typeof STANDARD} scale
 * @returns {[title: string, task: (round: number) => Task]}
 */
function submitCase(door, { submit }) {
  const inFlight = (/** @type {number} */ round) => rotated(submit.inFlight, round);
  return [
    `submissions, ${door}`,
    (round) => ({ measure: "submit", door, ...submit, inFlight: inFlight(round) }),
  ];
}

/**
 * @param {Door} door
 * @param {typeof STANDARD} scale
 * @returns {[title: string, task: (round: number) => Task]}
 */
function latencyCase(door, { latency }) {
  return [`latency, ${door}`, () => ({ measure: "latency", door, ...latency })];
}

/**
 * @param {System} system
 * @param {Task} task
 * @param {string} folder
 * @param {AbortSignal} signal
 */
async function measureApart(system, task, folder, signal) {
  signal.throwIfAborted();
  const apart = new Apart(child, [JSON.stringify({ ...task, system: system.name, folder })]);
  const stop = () => void apart[Symbol.asyncDispose]();
  signal.addEventListener("abort", stop);
  try {
    return /** @type {Figure[]} */ (await apart.message());
  } finally {
    signal.removeEventListener("abort", stop);
    await apart[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
    signal.throwIfAborted();
  }
}

/** The figures of all rounds, in the order in which the first round found them. */
class Found {
  /** @type {Map<string, { system: string, figure: Figure, values: number[] }>} */
  #all = new Map();

  /**
   * @param {string} system
   * @param {Figure} figure
   */
  add(system, figure) {
    const key = JSON.stringify([system, figure.case, figure.metric]);
    const known = this.#all.get(key) ?? { system, figure, values: [] };
    known.values.push(figure.value);
    this.#all.set(key, known);
  }

  /**
   * @param {readonly string[]} systems In this order.
   * @param {boolean} isJudged Small sizes say nothing about goals.
   * @returns {Row[]}
   */
  rows(systems, isJudged) {
    return systems.flatMap((wanted) =>
      [...this.#all.values()]
        .filter(({ system }) => system === wanted)
        .map(({ system, figure, values }) => {
          const value = median(values);
          const isRatio = system === RATIO_OF.system && figure.case === RATIO_OF.case;
          return {
            ...figure,
            case: `${system}: ${figure.case}`,
            value,
            min: Math.min(...values),
            max: Math.max(...values),
            ...(isJudged && isRatio && atLeast(value, LEAST_RATIO)),
          };
        }),
    );
  }
}

/**
 * @template Item
 * @param {readonly Item[]} items
 * @param {number} by
 * @returns {Item[]}
 */
function rotated(items, by) {
  const from = by % items.length;
  return [...items.slice(from), ...items.slice(0, from)];
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
  try {
    // PostgreSQL does not run as root: where we are, another user has to get in.
    chmodSync(folder, 0o711);
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
