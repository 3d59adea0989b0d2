// How fast decisions are made, what they cost per task and what they take of memory.
//
// Everything is measured on the pure loop with its ledger: a turn decides, encodes what it recorded and seals
// the block. No sockets, no disk. A peer runs the same graphs in the same run, and finishes as we do everything
// that is on its workers at once; how much that is, is its own default (Dask: 2 tasks per worker, ours: 11). Each figure is the median of several rounds; the rounds go through all
// cases in turn, so that a disturbance does not hit one case alone. The ledgers of the first round are decided
// again; those of the others must be the same.

import { rmSync } from "node:fs";
import { join } from "node:path";
import { SHAPES } from "./graphs.mjs";
import { DASK_MISSING, findDask, measureDask } from "./peers/dask.mjs";
import { findFault, latency, memory, overhead, rate, withScratch } from "./processes.mjs";
import { atLeast, atMost, outcomeOf } from "./report.mjs";
import { median } from "./stats.mjs";

/** @typedef {import("./graphs.mjs").Shape} Shape */
/** @typedef {import("./measures/latency.mjs").Spread} Spread */
/** @typedef {import("./peers/dask.mjs").DaskResult} DaskResult */
/** @typedef {import("./processes.mjs").MemoryResult} MemoryResult */
/** @typedef {import("./report.mjs").Outcome} Outcome */
/** @typedef {import("./report.mjs").Row} Row */

/** @type {import("./report.mjs").Bench} */
export const decisions = {
  name: "decisions",
  summary: "how long a decision takes, decisions per second, cost and memory per task; peer: Dask's core",
  run: ({ quick, say }) => Promise.resolve(withScratch((folder) => run(quick ? QUICK : FULL, folder, say))),
};

const FULL = {
  rounds: 3,
  shapes: SHAPES,
  latency: { workers: 1_000, ready: 100_000, warmUp: 10_000, samples: 20_000 },
  manyKinds: { workers: 1_000, ready: 100_000, warmUp: 500, samples: 2_000 },
  rate: {
    workers: 100,
    sizes: [1_000, 10_000, 100_000, 1_000_000],
    prepared: 200_000,
    warmUpMs: 1_000,
    minMs: 1_000,
  },
  overhead: { warmUps: 12, smallSize: 50_000, largeSize: 1_000_000 },
  fleets: [2, 100],
};

/** @type {typeof FULL} */
const QUICK = {
  rounds: 1,
  shapes: ["layered"],
  latency: { workers: 60, ready: 500, warmUp: 50, samples: 100 },
  manyKinds: { workers: 60, ready: 500, warmUp: 10, samples: 20 },
  rate: { workers: 10, sizes: [200, 400], prepared: 2_000, warmUpMs: 1, minMs: 1 },
  overhead: { warmUps: 1, smallSize: 500, largeSize: 1_000 },
  fleets: [10],
};

/** @typedef {typeof FULL} Scale */

/**
 * One thing that is measured once per round, with the rows that its results make.
 *
 * @typedef {object} Case
 * @property {string} title
 * @property {() => void} measure
 * @property {() => Row[]} rows
 */

/**
 * @param {Scale} scale
 * @param {string} folder
 * @param {(line: string) => void} say
 * @returns {Outcome}
 */
function run(scale, folder, say) {
  const python = findDask();
  /** @type {string[]} */
  const failures = [];
  const ledgers = new Ledgers(join(folder, "bench.ledger"), failures);
  const cases = [
    ...latencyCases(scale, ledgers),
    ...rateCases(scale),
    ...overheadCases(scale, ledgers, python, failures),
  ];
  for (let round = 1; round <= scale.rounds; round++) {
    for (const [at, { title, measure }] of cases.entries()) {
      say(`round ${round} of ${scale.rounds}, case ${at + 1} of ${cases.length}: ${title}`);
      measure();
    }
  }
  const rows = cases.flatMap((one) => one.rows()).map(scale === QUICK ? withoutJudgement : (row) => row);
  rows.push({
    case: "verify --redecide",
    metric: "ledgers that pass",
    unit: "",
    ...atLeast(ledgers.sound, ledgers.checked),
  });
  return outcomeOf(rows, failures);
}

/**
 * Small sizes say nothing about goals, nor about peers.
 *
 * @param {Row} row
 * @returns {Row}
 */
function withoutJudgement({ goal: _, met: __, ratio: ___, ...row }) {
  return row;
}

/** The ledgers that measurements leave, one at a time, and whether they are what they should be. */
class Ledgers {
  path;
  checked = 0;
  sound = 0;
  /** The hash of the last block, by the title of the case. @type {Map<string, string>} */
  #heads = new Map();
  #failures;

  /**
   * @param {string} path
   * @param {string[]} failures
   */
  constructor(path, failures) {
    this.path = path;
    this.#failures = failures;
  }

  /**
   * @param {string} title
   * @param {string} head
   */
  check(title, head) {
    const first = this.#heads.get(title);
    if (first === undefined) this.#verify(title);
    else if (first !== head) this.#failures.push(`${title}: the ledger differs from the first round's`);
    this.#heads.set(title, first ?? head);
    rmSync(this.path);
  }

  /** @param {string} title */
  #verify(title) {
    const fault = findFault(this.path);
    this.checked++;
    if (fault === undefined) this.sound++;
    else this.#failures.push(`${title}: the ledger is not decided again as it was: ${fault}`);
  }
}

/**
 * @param {Scale} scale
 * @param {Ledgers} ledgers
 * @returns {Case[]}
 */
function latencyCases(scale, ledgers) {
  const { workers, ready } = scale.latency;
  const many = 5_000;
  /** @type {[title: string, job: Omit<import("./measures/latency.mjs").LatencyJob, "measure" | "ledger">][]} */
  const jobs = [
    ["least-loaded", { ...scale.latency, strategy: "least-loaded", kinds: 12, overdue: false }],
    ["round-robin", { ...scale.latency, strategy: "round-robin", kinds: 12, overdue: false }],
    ["random", { ...scale.latency, strategy: "random", kinds: 12, overdue: false }],
    ["affinity", { ...scale.latency, strategy: "affinity", kinds: 12, overdue: false }],
    ["all overdue", { ...scale.latency, strategy: "least-loaded", kinds: 12, overdue: true }],
    [`${many} needs`, { ...scale.manyKinds, strategy: "least-loaded", kinds: many, overdue: false }],
  ];
  return jobs.map(([name, job]) => {
    const title = `one decision, ${workers} workers, ${ready} ready, ${name}`;
    /** @type {Spread[]} */
    const single = [];
    /** @type {Spread[]} */
    const filling = [];
    return {
      title,
      measure: () => {
        const result = latency({ measure: "latency", ...job, ledger: ledgers.path });
        single.push(result.single);
        filling.push(result.filling);
        ledgers.check(title, result.head);
      },
      rows: () => [...spreadRows(title, single), ...spreadRows(`${title}, filling an idle fleet`, filling)],
    };
  });
}

/**
 * @param {string} title
 * @param {readonly Spread[]} rounds
 * @returns {Row[]}
 */
function spreadRows(title, rounds) {
  const of = (/** @type {keyof Spread} */ metric) => median(rounds.map((round) => round[metric]));
  return [
    { case: title, metric: "p50", unit: "µs", value: of("p50") },
    { case: title, metric: "p99", unit: "µs", ...atMost(of("p99"), 1_000, 50) },
    { case: title, metric: "max", unit: "µs", value: of("max") },
  ];
}

/**
 * @param {Scale} scale
 * @returns {Case[]}
 */
function rateCases({ shapes, rate: { workers, sizes, ...how } }) {
  return shapes.flatMap((shape) => {
    /** @type {number[]} */
    const medians = [];
    return sizes.map((size, at) => {
      const title = `${shape} of ${size}, ${workers} workers`;
      /** @type {number[]} */
      const perSecond = [];
      return {
        title,
        measure: () => {
          perSecond.push(rate({ measure: "rate", shape, size, workers, ...how }).perSecond);
        },
        rows: () => {
          medians.push(median(perSecond));
          /** @type {Row[]} */
          const rows = [
            { case: title, metric: "decisions", unit: "1/s", ...atLeast(median(perSecond), 100_000) },
          ];
          if (at === sizes.length - 1) {
            const slowdown = (medians[0] ?? Number.NaN) / (medians[at] ?? Number.NaN);
            const span = `${shape}, ${sizes[0]} to ${size}`;
            rows.push({ case: span, metric: "slowdown", unit: "times", ...atMost(slowdown, 2) });
          }
          return rows;
        },
      };
    });
  });
}

/**
 * @param {Scale} scale
 * @param {Ledgers} ledgers
 * @param {string | undefined} python
 * @param {string[]} failures
 * @returns {Case[]}
 */
function overheadCases(
  { shapes, overhead: { warmUps, smallSize, largeSize }, fleets },
  ledgers,
  python,
  failures,
) {
  /** @type {[size: number, workers: number, withPeer: boolean][]} */
  const settings = [
    ...fleets.map((workers) => /** @type {[number, number, boolean]} */ ([smallSize, workers, true])),
    [largeSize, fleets.at(-1) ?? 1, false],
  ];
  return settings.flatMap(([size, workers, withPeer]) =>
    shapes.map((shape) => {
      const title = `${shape} of ${size}, ${workers} workers, submitted to done`;
      /** @type {{ us: number[], submitUs: number[], bytes?: MemoryResult, dask: DaskResult[] }} */
      const found = { us: [], submitUs: [], dask: [] };
      return {
        title,
        measure: () => {
          const ours = overhead({
            measure: "overhead",
            shape,
            size,
            workers,
            warmUps,
            ledger: ledgers.path,
          });
          found.us.push(ours.usPerTask);
          found.submitUs.push(ours.submitUsPerTask);
          ledgers.check(title, ours.head);
          // Memory does not vary: once is enough.
          found.bytes ??= memory({ measure: "memory", shape, size, workers });
          if (!withPeer || python === undefined) return;
          const dask = measureDask(python, shape, size, workers);
          if (dask.fingerprint === ours.fingerprint) found.dask.push(dask);
          else failures.push(`${title}: Dask was given another graph`);
        },
        rows: () => {
          const peer = withPeer ? found.dask : undefined;
          const us = median(found.us);
          const {
            waitingBytes = Number.NaN,
            endBytes = Number.NaN,
            endRssBytes = Number.NaN,
          } = found.bytes ?? {};
          return [
            {
              case: title,
              metric: "time per task",
              unit: "µs",
              ...atMost(us, 10, 5),
              ...against(peer, us, (dask) => dask.totalUs),
            },
            { case: title, metric: "of it, submission", unit: "µs", value: median(found.submitUs) },
            {
              case: title,
              metric: "memory per waiting node",
              unit: "B",
              ...atMost(waitingBytes, 1_024),
            },
            { case: title, metric: "memory per task at the end", unit: "B", ...atMost(endBytes, 1_024) },
            {
              case: title,
              metric: "process growth per task",
              unit: "B",
              value: endRssBytes,
              ...against(peer, endRssBytes, (dask) => dask.endRssBytes),
            },
          ];
        },
      };
    }),
  );
}

/**
 * @param {readonly DaskResult[] | undefined} rounds Undefined where there is nothing to compare with.
 * @param {number} ours
 * @param {(result: DaskResult) => number} peerOf
 * @returns {Partial<Row>}
 */
function against(rounds, ours, peerOf) {
  const [first] = rounds ?? [];
  if (!rounds) return {};
  if (!first) return { peer: DASK_MISSING };
  const peerValue = median(rounds.map(peerOf));
  return { peer: `Dask's core ${first.version}`, peerValue, ratio: peerValue / ours };
}
