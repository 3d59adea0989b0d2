// What a run of the benchmark of queues says, to people and to programs.

import { verdict } from "../report.mjs";
import { ratiosTo } from "./found.mjs";
import { drainTitle } from "./measures/drain.mjs";
import { versionsOf } from "./packages.mjs";
import { requirementsOf } from "./requirements.mjs";
import { requirementsTable, resultsTable } from "./table.mjs";

/** @typedef {import("./sizes.mjs").Sizes} Sizes */
/** @typedef {import("./system.mjs").System} System */

/**
 * @typedef {object} Run
 * @property {Sizes} sizes
 * @property {readonly System[]} systems
 * @property {readonly { system: string, reason: string }[]} skipped
 * @property {string[]} failures
 * @property {Readonly<Record<string, string>>} postgres
 * @property {import("./found.mjs").Found} found
 */

const OURS = "orrery";

const TIMING = {
  enqueue: "a task counts when its caller was told that it is stored",
  drain:
    "from the call that starts the worker (Orrery: that resumes its queue; its worker is connected) until the last " +
    "completion is committed; afterwards another connection counts what has completed, and Orrery's ledger is " +
    "verified with --redecide",
  latency:
    "from the call that enqueues to the first statement of the handler, everything idle, in one process",
  "bare commit": "one row inserted and committed on the same PostgreSQL, between Orrery's tasks",
  http: "server and generator are processes of their own on this machine; paced: from when a request was due",
};

/**
 * @param {Run} run
 * @returns {import("../report.mjs").Outcome}
 */
export function outcomeOfQueues({ sizes, systems, skipped, failures, postgres, found }) {
  const results = found.results();
  const peers = systems.map(({ name }) => name).filter((name) => name !== OURS);
  const ratios = ratiosTo(results, OURS, peers);
  const requirements = requirementsOf(results, ratios, sizes, OURS);
  const settings = { ...sizes, postgres, systems: systems.map(describe), timing: TIMING };
  const checks = systems.some(({ name }) => name === OURS)
    ? [`drained ledgers: ${drainsOf(sizes, failures)}`]
    : [];
  return {
    json: { settings, results, ratios, requirements, skipped, failures },
    text: [
      ...notes(settings, skipped).map((lines) => lines.join("\n")),
      resultsTable(results, ratios, [OURS, ...peers]),
      ...(ratios.length === 0 ? [] : ["× is how many times better Orrery is."]),
      ...checks,
      ...(requirements.length === 0 ? [] : [requirementsTable(requirements)]),
      ...verdict(requirements),
    ].join("\n\n"),
    failures,
  };
}

/** @param {System} system */
function describe({ name, packages, settings }) {
  return { name, version: packages.length === 0 ? "this checkout" : versionsOf(packages), ...settings };
}

/**
 * @param {Sizes} sizes
 * @param {readonly string[]} failures
 */
function drainsOf({ drains, rounds }, failures) {
  if (failures.length > 0) return `FAILED`;
  return `${drains.map(drainTitle).join(", ")}, ${rounds} times: all counted, all decided again`;
}

/**
 * @param {{ rounds: number, postgres: Run["postgres"], systems: ReturnType<typeof describe>[], timing: typeof TIMING }} settings
 * @param {Run["skipped"]} skipped
 */
function notes({ rounds, postgres, systems, timing }, skipped) {
  const { server_version, ...others } = postgres;
  const server = Object.entries(others).map(([name, value]) => `${name}=${value}`);
  return [
    [
      `PostgreSQL ${server_version}: ${server.join(", ")}`,
      rounds === 1 ? "one round" : `medians of ${rounds} rounds (least–largest)`,
    ],
    Object.entries(timing).map(([name, text]) => `${name}: ${text}`),
    systems.flatMap(({ name, version, submit, drain, latency }) => [
      `${name} (${version})`,
      `  enqueue: ${submit}`,
      `  drain: ${drain}`,
      `  latency: ${latency}`,
    ]),
    ...(skipped.length === 0 ? [] : [skipped.map(({ system, reason }) => `SKIPPED ${system}: ${reason}`)]),
  ];
}
