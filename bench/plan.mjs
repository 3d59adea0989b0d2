// How far plans are from the optimum: all instances of a directory of PSPLIB's .sm files, planned online (as the live
// scheduler would) and searched for. Every schedule is checked by a reader and a checker of the benchmark's own.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { compile, lowerBound, Online, Search } from "../dist/plan/index.js";
import { readProject } from "../dist/sources/index.js";
import { faultsOf, readBounds, readInstance } from "./plan/checker.mjs";
import { atMost, outcomeOf } from "./report.mjs";

/** @typedef {import("./report.mjs").Row} Row */
/** @typedef {import("./report.mjs").Setting} Setting */
/** @typedef {ReturnType<typeof readBounds>} Bounds */

/** @type {import("./report.mjs").Bench} */
export const plan = {
  name: "plan",
  summary:
    "how far plans are from the optimum, over all instances of PSPLIB's j30 (1 s each) or of --set DIR",
  run: (setting) => Promise.resolve(run(setting)),
};

/** Averages in per cent above the best known that the sets are held to, by their number of jobs. */
const GOALS = new Map([
  [30, { online: 4.5, plan: 0.3, aim: 0.1 }],
  [60, { online: 5.2, plan: 1.5, aim: 0.75 }],
  [120, { online: 10.5, plan: 5, aim: 2.5 }],
]);
/** CPU time for each instance: on a busy machine a second by the clock is less than that. */
const EFFORT_MS = 1_000;
const QUICK = { instances: 24, schedules: 2_000 };
/** Between two looks at the time. */
const STEPS = 16;

/** @param {Setting} setting */
function run({ quick, set = defaultData("j30"), bounds = defaultData("bounds.csv"), schedules, say }) {
  if (set === undefined || !existsSync(set)) return missing(say, set ?? "shared/data/psplib/j30");
  const known = readBounds(bounds !== undefined && existsSync(bounds) ? readFileSync(bounds, "utf8") : "");
  if (known.size === 0)
    say(`no best known makespans in ${bounds ?? "bounds.csv"}: the lower bound stands for them`);
  const files = readdirSync(set)
    .filter((name) => name.endsWith(".sm"))
    .sort();
  if (files.length === 0) return missing(say, `a .sm file in ${set}`);
  const chosen = quick
    ? files.filter((_, at) => at % Math.ceil(files.length / QUICK.instances) === 0)
    : files;
  const most = schedules ?? (quick ? QUICK.schedules : undefined);
  /** @type {string[]} */
  const failures = [];
  /** @type {Found[]} */
  const found = [];
  for (const [at, file] of chosen.entries()) {
    if (at % 20 === 0) say(`instance ${at + 1} of ${chosen.length}: ${file}`);
    found.push(planOne(join(set, file), known, most, failures));
  }
  return outcomeOf(rowsOf(found, basename(set), !quick), failures);
}

/**
 * @typedef {object} Found
 * @property {number} jobs
 * @property {number} best The best known makespan.
 * @property {boolean} proved
 * @property {number} bound
 * @property {number} online
 * @property {number} plan
 * @property {number} schedules
 * @property {number} cpuMs
 */

/**
 * @param {string} path
 * @param {Bounds} known
 * @param {number | undefined} most
 * @param {string[]} failures
 * @returns {Found}
 */
function planOne(path, known, most, failures) {
  const name = basename(path, ".sm");
  const bytes = readFileSync(path);
  const instance = readInstance(bytes.toString("utf8"));
  const read = readProject(bytes, path, { now: 0 });
  if (!read.ok) throw new Error(`${path}: ${read.problems[0]?.message}`);
  const { project } = read;
  const { problem } = compile(project, project.capacities);
  const startsInFile = (/** @type {Float64Array} */ starts) => {
    /** @type {number[]} */
    const byJob = [];
    for (const [n, index] of problem.activity.entries()) byJob[index] = /** @type {number} */ (starts[n]);
    return byJob;
  };
  const online = new Online(project, problem);
  for (const _ of online.steps(Number.MAX_SAFE_INTEGER));
  const bound = lowerBound(problem).length;
  const search = new Search(problem, 1, online);
  const cpuMs = searched(search, bound, most);
  for (const { starts, makespan } of [online, search.best]) {
    for (const fault of faultsOf(instance, startsInFile(starts), makespan))
      failures.push(`${name}: ${fault}`);
  }
  const best = known.get(name);
  if (best?.proved && bound > best.best)
    failures.push(`${name}: the bound ${bound} is above the optimum ${best.best}`);
  if (best?.proved && search.best.makespan < best.best) {
    failures.push(`${name}: ${search.best.makespan} is below the optimum ${best.best}`);
  }
  return {
    jobs: instance.jobs.length - 2,
    best: best?.best ?? bound,
    proved: best?.proved ?? false,
    bound,
    online: online.makespan,
    plan: search.best.makespan,
    schedules: search.schedules,
    cpuMs,
  };
}

/**
 * @param {Search} search
 * @param {number} bound
 * @param {number | undefined} most
 */
function searched(search, bound, most) {
  const begun = process.cpuUsage();
  const spentMs = () => {
    const { user, system } = process.cpuUsage(begun);
    return (user + system) / 1_000;
  };
  let steps = 0;
  for (const _ of search.steps(most ?? Number.POSITIVE_INFINITY, bound)) {
    if (most === undefined && ++steps % STEPS === 0 && spentMs() >= EFFORT_MS) break;
  }
  return spentMs();
}

/**
 * @param {readonly Found[]} found
 * @param {string} set
 * @param {boolean} judged
 * @returns {Row[]}
 */
function rowsOf(found, set, judged) {
  const goals = judged ? GOALS.get(found[0]?.jobs ?? 0) : undefined;
  const above = (/** @type {(one: Found) => number} */ makespan) =>
    mean(found, (one) => 100 * (makespan(one) / one.best - 1));
  const share = (/** @type {(one: Found) => boolean} */ holds) =>
    100 * mean(found, (one) => (holds(one) ? 1 : 0));
  const row = (
    /** @type {string} */ name,
    /** @type {string} */ metric,
    /** @type {number} */ value,
    unit = "%",
  ) => ({
    case: `${set}, ${name}`,
    metric,
    unit,
    value,
  });
  const online = above((one) => one.online);
  const planned = above((one) => one.plan);
  return [
    { ...row("online", "above the best known", online), ...(goals && atMost(online, goals.online)) },
    row(
      "online",
      "as short as the best known",
      share((one) => one.online <= one.best),
    ),
    { ...row("plan", "above the best known", planned), ...(goals && atMost(planned, goals.plan, goals.aim)) },
    row(
      "plan",
      "as short as the best known",
      share((one) => one.plan <= one.best),
    ),
    row(
      "plan",
      "proved optimal by its own bound",
      share((one) => one.plan <= one.bound),
    ),
    row(
      "lower bound",
      "below the best known",
      mean(found, (one) => 100 * (1 - one.bound / one.best)),
    ),
    row(
      "plan",
      "schedules tried for each",
      mean(found, (one) => one.schedules),
      "",
    ),
    row(
      "plan",
      "CPU time for each",
      mean(found, (one) => one.cpuMs),
      "ms",
    ),
    row("instances", "checked", found.length, ""),
  ];
}

function mean(/** @type {readonly Found[]} */ found, /** @type {(one: Found) => number} */ value) {
  return found.reduce((sum, one) => sum + value(one), 0) / found.length;
}

function missing(/** @type {(line: string) => void} */ say, /** @type {string} */ what) {
  say(`SKIPPED: ${what} is missing; name a directory of PSPLIB's .sm files with --set`);
  return { json: { results: [], skipped: [what] }, text: `skipped: ${what} is missing`, failures: [] };
}

/** Beside the repository, or beside where its worktrees are. */
function defaultData(/** @type {string} */ name) {
  return ["../../shared/data/psplib", "../../../shared/data/psplib"]
    .map((path) => join(fileURLToPath(new URL(path, import.meta.url)), name))
    .find(existsSync);
}
