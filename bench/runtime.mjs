// What fibers cost: a switch, a spawn with its run and join, memory; and how well simulated processors share work.
//
// CPU time, not wall time, so that others on the machine disturb less; the least of several rounds, in which the subjects
// take turns, for a disturbance only ever adds.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { installPackages, versionsOf } from "./queue/packages.mjs";
import { atLeast, atMost, outcomeOf } from "./report.mjs";
import { effect } from "./runtime/effect.mjs";
import { withGo } from "./runtime/go.mjs";
import { speedUps } from "./runtime/speed-up.mjs";
import { native, ours } from "./runtime/subjects.mjs";
import { rotated } from "./stats.mjs";
import { threadRows } from "./threads.mjs";

/** @typedef {import("./report.mjs").Row} Row */
/** @typedef {import("./runtime/subjects.mjs").Subject} Subject */

/** @type {import("./report.mjs").Bench} */
export const runtime = {
  name: "runtime",
  summary:
    "fibers: switch, spawn and join, memory, simulated processors, threads; beside async functions, Effect, Go and Piscina",
  run: (setting) => withGo(setting.say, (go) => run(setting, go)),
};

const FULL = {
  rounds: 40,
  sizes: { fibers: 1_000, switches: 50_000, spawns: 10_000 },
  alive: 1_000_000,
  depth: 15,
  forkJoin: { depth: 6, width: 4, leafUs: 50, runs: 15 },
};
const QUICK = {
  rounds: 2,
  sizes: { fibers: 100, switches: 2_000, spawns: 2_000 },
  alive: 10_000,
  depth: 10,
  forkJoin: { depth: 3, width: 4, leafUs: 50, runs: 2 },
};

/** @type {readonly (readonly [measure: "switchNs" | "spawnNs" | "joinNs", title: string, limit: number | undefined])[]} */
const MEASURES = [
  ["switchNs", "switch", 150],
  ["spawnNs", "spawn, run and join, 1,000 at a time", 250],
  ["joinNs", "spawn, run and join, one at a time", undefined],
];

/**
 * @param {import("./report.mjs").Setting} setting
 * @param {import("./runtime/go.mjs").Go | undefined} go
 */
async function run(setting, go) {
  const { quick, rounds, say } = setting;
  const scale = quick ? QUICK : FULL;
  const missing = await installPackages(say);
  if (missing !== undefined) say(`without Effect and Piscina: ${missing}`);
  const subjects = [await ours(), native()];
  if (missing === undefined) subjects.push(await effect());
  if (go !== undefined) subjects.push(go.subject);
  const found = await measureAll(subjects, scale.sizes, rounds ?? scale.rounds, say);
  const rows = MEASURES.flatMap(([measure, title, limit]) =>
    rowsOf(subjects, found, measure, title, quick ? undefined : limit),
  );
  say("memory…");
  rows.push(...(await memoryRows(scale.alive, go)));
  say("simulated processors…");
  for (const { processors, speedUp } of await speedUps(scale.depth)) {
    const goal = quick ? { value: speedUp } : atLeast(speedUp, 0.95 * processors);
    rows.push({
      case: "simulated",
      metric: `speed-up with ${processors} processors`,
      unit: "times",
      ...goal,
    });
  }
  /** @type {string[]} */
  const failures = [];
  rows.push(...(await threadRows(setting, missing === undefined, failures)));
  if (go !== undefined) rows.push(await forkJoinOfGo(go, scale.forkJoin));
  const outcome = outcomeOf(rows, failures);
  const versions = missing === undefined ? versionsOf(["effect", "piscina"]) : undefined;
  return { ...outcome, json: { ...outcome.json, settings: scale, versions, go: go?.version } };
}

/**
 * @param {readonly Subject[]} subjects
 * @param {import("./runtime/subjects.mjs").Sizes} sizes
 * @param {number} rounds
 * @param {(line: string) => void} say
 */
async function measureAll(subjects, sizes, rounds, say) {
  /** @type {Map<string, number[]>} */
  const found = new Map();
  for (let round = 0; round < rounds; round++) {
    say(`round ${round + 1} of ${rounds}`);
    for (const [measure] of MEASURES)
      for (const subject of rotated(subjects, round)) {
        const key = `${subject.name} ${measure}`;
        found.set(key, [...(found.get(key) ?? []), await subject[measure](sizes)]);
      }
  }
  return found;
}

/**
 * @param {readonly Subject[]} subjects
 * @param {ReadonlyMap<string, readonly number[]>} found
 * @param {string} measure
 * @param {string} title
 * @param {number | undefined} limit
 * @returns {Row[]}
 */
function rowsOf(subjects, found, measure, title, limit) {
  const least = (/** @type {string} */ name) => Math.min(...(found.get(`${name} ${measure}`) ?? []));
  return subjects.map(({ name }) => {
    const value = least(name);
    const max = Math.max(...(found.get(`${name} ${measure}`) ?? []));
    const goal = name === "orrery" && limit !== undefined ? atMost(value, limit) : { value };
    return { case: name, metric: title, unit: "ns", ...goal, max };
  });
}

/**
 * @param {number} alive
 * @param {import("./runtime/go.mjs").Go | undefined} go
 * @returns {Promise<Row[]>}
 */
async function memoryRows(alive, go) {
  const file = fileURLToPath(new URL("runtime/memory.mjs", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", file, String(alive)]);
  const { rss, heap } = /** @type {{ rss: number, heap: number }} */ (JSON.parse(stdout));
  const title = `memory of each of ${alive.toLocaleString("en")} that wait`;
  const goal = alive >= 1_000_000 ? atMost(rss, 500) : { value: rss };
  return [
    { case: "orrery", metric: `${title}, resident`, unit: "B", ...goal },
    { case: "orrery", metric: `${title}, heap`, unit: "B", value: heap },
    ...(go === undefined ? [] : [await memoryOfGo(go, alive, `${title}, resident`)]),
  ];
}

/**
 * @param {import("./runtime/go.mjs").Go} go
 * @param {number} alive
 * @param {string} metric
 * @returns {Promise<Row>}
 */
async function memoryOfGo(go, alive, metric) {
  return { case: go.subject.name, metric, unit: "B", value: await go.memoryBytes(alive) };
}

/**
 * @param {import("./runtime/go.mjs").Go} go
 * @param {typeof FULL.forkJoin} size
 * @returns {Promise<Row>}
 */
async function forkJoinOfGo(go, size) {
  const name = `fork-join of ${size.width}, leaves of ${size.leafUs} us, 2 processors`;
  const metric = `speed-up by the clock, ${go.subject.name}`;
  return { case: name, metric, unit: "x", value: await go.forkJoin(size) };
}
