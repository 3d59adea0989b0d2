// npm run bench -- compare REF NAME: the same benchmark on two builds in turn, as ratios.
//
// The machine is not the same for long: two runs of one build differ by 20 to 70%. Two builds that take turns meet about
// the same machine within a pair, so the ratio of a pair says more than both values, and the median over the pairs is
// not moved by a single disturbance. The interval comes from the order of the ratios alone and assumes no distribution.
//
// Each build is measured by its own copy of the benchmark, because the internals that a benchmark imports change with
// the build. Cases that only one copy has are left out.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { interruptible } from "./queue/interruptible.mjs";
import { align, formatNumber } from "./report.mjs";
import { median } from "./stats.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const cache = join(root, ".cache", "compare");

/** A case is worse if even the upper bound of its interval is below this. */
const WORSE_BELOW = 0.97;

/** @typedef {{ title: string, unit: string, value: number, isRate: boolean }} Value One figure of one run. */
/** @typedef {{ pair: number, title: string, unit: string, reference: number, current: number, ratio: number }} Pair */

/**
 * @typedef {object} Comparison
 * @property {string} reference A commit.
 * @property {string} bench
 * @property {readonly string[]} flags Passed to both builds.
 * @property {number} pairs
 * @property {boolean} json
 * @property {(line: string) => void} say
 */

/**
 * Compares the checkout with another commit and prints the result. An interrupted run prints the pairs that it has.
 *
 * @param {Comparison} comparison
 * @returns {Promise<number>} The exit code: 1 if a case is worse.
 */
export async function compare({ reference, bench, flags, pairs, json, say }) {
  const commit = commitOf(reference);
  if (commit === undefined) {
    process.stderr.write(`There is no commit ${reference}.\n`);
    return 2;
  }
  /** @type {Pair[]} */
  const found = [];
  const file = join(cache, `${bench}-${commit.slice(0, 12)}.jsonl`);
  await interruptible(async ({ signal }) => {
    const worktree = await addWorktree(commit, signal, say);
    try {
      writeFileSync(file, "");
      say(`results go to ${file}`);
      for (let pair = 1; pair <= pairs; pair++) {
        for (const one of await measurePair(pair, worktree, [bench, ...flags], signal, say)) {
          found.push(one);
          appendFileSync(file, `${JSON.stringify(one)}\n`);
        }
        say(`pair ${pair} of ${pairs} is done`);
      }
    } finally {
      git("worktree", "remove", "--force", worktree);
      // Printed in here, because after an interrupt the process ends when `interruptible` returns.
      process.stdout.write(json ? `${JSON.stringify(summaries(found))}\n` : `${asTable(found)}\n`);
    }
  });
  return summaries(found).some(({ isWorse }) => isWorse) ? 1 : 0;
}

/**
 * Runs both builds once. Every other pair begins with the current one.
 *
 * @param {number} pair
 * @param {string} worktree
 * @param {readonly string[]} args
 * @param {AbortSignal} signal
 * @param {(line: string) => void} say
 * @returns {Promise<Pair[]>}
 */
async function measurePair(pair, worktree, args, signal, say) {
  const folders = pair % 2 === 1 ? [worktree, root] : [root, worktree];
  /** @type {Map<string, Value[]>} */
  const values = new Map();
  for (const folder of folders) {
    say(`pair ${pair}: ${folder === root ? "this checkout" : "the reference"}`);
    values.set(folder, await run(folder, args, signal));
  }
  const references = new Map((values.get(worktree) ?? []).map((value) => [value.title, value]));
  return (values.get(root) ?? []).flatMap(({ title, unit, value, isRate }) => {
    const reference = references.get(title)?.value;
    if (reference === undefined || !(reference > 0) || !(value > 0)) return [];
    const ratio = isRate ? value / reference : reference / value;
    return [{ pair, title, unit, reference, current: value, ratio }];
  });
}

/**
 * @param {string} folder
 * @param {readonly string[]} args
 * @param {AbortSignal} signal
 * @returns {Promise<Value[]>}
 */
async function run(folder, args, signal) {
  const child = spawn(process.execPath, [join(folder, "bench", "main.mjs"), ...args, "--json"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const stop = () => child.kill("SIGTERM");
  signal.addEventListener("abort", stop);
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (/** @type {string} */ chunk) => {
    text += chunk;
  });
  await once(child, "close");
  signal.removeEventListener("abort", stop);
  signal.throwIfAborted();
  if (child.exitCode !== 0)
    throw new Error(`the benchmark in ${folder} ended with ${child.exitCode ?? child.signalCode}`);
  return valuesOf(text);
}

/**
 * Reads the figures of either form of results: a row names its case, or its measure and the system that was measured.
 *
 * @param {string} report As `--json` printed it.
 * @returns {Value[]}
 */
function valuesOf(report) {
  const { results } = /** @type {{ results: readonly Record<string, unknown>[] }} */ (JSON.parse(report));
  return results
    .filter(({ system = "orrery", value }) => system === "orrery" && typeof value === "number")
    .map(({ case: title, measure, metric, unit, goal, value }) => ({
      title: `${String(title ?? measure)}: ${String(metric)}`,
      unit: String(unit),
      value: Number(value),
      isRate: String(unit).endsWith("/s") || String(goal).startsWith(">="),
    }));
}

/** @param {readonly Pair[]} found */
function summaries(found) {
  const titles = [...new Set(found.map(({ title }) => title))];
  return titles.map((title) => {
    const ofCase = found.filter((pair) => pair.title === title);
    const ratios = ofCase.map(({ ratio }) => ratio).sort((a, b) => a - b);
    const [lower, upper] = intervalOf(ratios);
    return {
      case: title,
      unit: ofCase[0]?.unit ?? "",
      pairs: ratios.length,
      reference: median(ofCase.map(({ reference }) => reference)),
      current: median(ofCase.map(({ current }) => current)),
      ratio: median(ratios),
      lower,
      upper,
      isWorse: upper !== undefined && upper < WORSE_BELOW,
    };
  });
}

/**
 * The 95% confidence interval of the median, by order statistics. The true median lies outside with the probability
 * that at most `below` of the pairs fall on one side of it, as in coin tosses. Fewer than six pairs have no such interval.
 *
 * @param {readonly number[]} sorted
 * @returns {[lower: number | undefined, upper: number | undefined]}
 */
export function intervalOf(sorted) {
  const count = sorted.length;
  let term = 0.5 ** count;
  let tail = 0;
  let below = 0;
  while (below < count && tail + term <= 0.025) {
    tail += term;
    term *= (count - below) / (below + 1);
    below++;
  }
  return below === 0 ? [undefined, undefined] : [sorted[below - 1], sorted[count - below]];
}

/** @param {readonly Pair[]} found */
function asTable(found) {
  const lines = summaries(found).map((one) => [
    one.case,
    one.unit,
    formatNumber(one.reference),
    formatNumber(one.current),
    one.ratio.toFixed(3),
    one.lower === undefined || one.upper === undefined
      ? "too few pairs"
      : `${one.lower.toFixed(3)} - ${one.upper.toFixed(3)}`,
    one.isWorse ? "WORSE" : "",
  ]);
  const table = align(["case", "unit", "reference", "current", "ratio", "95% interval", ""], lines);
  return `${table}\n\nA ratio above 1 means that the current build is better. WORSE: the upper bound is below ${WORSE_BELOW}.`;
}

/**
 * Checks the commit out in a folder of its own and builds it.
 *
 * @param {string} commit
 * @param {AbortSignal} signal
 * @param {(line: string) => void} say
 */
async function addWorktree(commit, signal, say) {
  const worktree = join(cache, commit.slice(0, 12));
  mkdirSync(cache, { recursive: true });
  rmSync(worktree, { recursive: true, force: true });
  git("worktree", "prune");
  say(`building ${commit.slice(0, 12)}`);
  if (git("worktree", "add", "--detach", worktree, commit).status !== 0)
    throw new Error(`git cannot check out ${commit}`);
  const build = spawn(process.execPath, [join(worktree, "scripts", "ready.mjs")], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const stop = () => build.kill("SIGTERM");
  signal.addEventListener("abort", stop);
  await once(build, "close");
  signal.removeEventListener("abort", stop);
  signal.throwIfAborted();
  if (build.exitCode !== 0) throw new Error(`${commit} does not build`);
  return worktree;
}

/** @param {string} reference */
function commitOf(reference) {
  const { status, stdout } = git("rev-parse", "--verify", "--quiet", `${reference}^{commit}`);
  return status === 0 ? stdout.trim() : undefined;
}

/** @param {readonly string[]} args */
function git(...args) {
  return spawnSync("git", args, { cwd: root, encoding: "utf8" });
}
