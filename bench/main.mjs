// npm run bench -- NAME [--json] [--quick] [--full] [--rounds N] [--only SYSTEM] [--set DIR] [--bounds CSV] [--schedules N]
// npm run bench -- compare REF NAME [--pairs N]
//
// Exit codes: 0 also when a goal is missed, which the results say; 1 when something is wrong rather than slow, or when
// `compare` finds a case that is worse; 2 when the arguments are wrong.

import { parseArgs } from "node:util";
import { backlog } from "./backlog.mjs";
import { compare } from "./compare.mjs";
import { dag } from "./dag.mjs";
import { decisions } from "./decisions.mjs";
import { durability } from "./durability.mjs";
import { plan } from "./plan.mjs";
import { queue } from "./queue.mjs";
import { asJson, asText } from "./report.mjs";
import { runtime } from "./runtime.mjs";
import { screens } from "./screens.mjs";
import { soak } from "./soak.mjs";
import { start } from "./start.mjs";

/** @type {readonly import("./report.mjs").Bench[]} */
const BENCHES = [decisions, dag, queue, backlog, start, durability, soak, plan, runtime, screens];

const USAGE = [
  "usage: npm run bench -- NAME [--json] [--quick] [--full] [--rounds N] [--only SYSTEM]",
  "       npm run bench -- compare REF NAME [--pairs N] [--json] [--quick]",
  "",
  ...BENCHES.map(({ name, summary }) => `  ${name.padEnd(12)}${summary}`),
  `  ${"all".padEnd(12)}all of them, one after the other`,
  "",
  "  --json      one JSON object per benchmark on the standard output",
  "  --quick     small sizes: shows that everything works, measures little",
  "  --full      the largest sizes too; takes long",
  "  --rounds N  so many rounds, 1 to 100",
  "  --only SYSTEM",
  `              this one alone, or several: ${[...new Set(BENCHES.flatMap(({ systems = [] }) => systems))].join(", ")}`,
  "  --set DIR, --bounds CSV, --schedules N",
  "              for plan: which instances, their best known makespans, and how many schedules instead of 1 s",
  "",
  "  compare builds the commit REF and runs one round of NAME on both builds in turn. It prints the median ratio of",
  "  each case with its 95% interval; a case is worse if the upper bound is below 0.97.",
  "  --pairs N   number of turns, 10 by default; an interval needs at least 6",
  "",
].join("\n");

process.exitCode = await main();

async function main() {
  const request = parse();
  if (typeof request === "string") {
    process.stderr.write(`${request}\n\n${USAGE}`);
    return 2;
  }
  if ("comparison" in request) {
    const say = (/** @type {string} */ line) => process.stderr.write(`compare: ${line}\n`);
    return await compare({ ...request.comparison, say });
  }
  const { help, json, benches, ...setting } = request;
  if (help) {
    process.stdout.write(USAGE);
    return 0;
  }
  let code = 0;
  for (const bench of benches) {
    const say = (/** @type {string} */ line) => process.stderr.write(`${bench.name}: ${line}\n`);
    const outcome = await bench.run({ ...setting, say });
    process.stdout.write(`${json ? asJson(bench.name, outcome) : asText(bench.name, outcome)}\n`);
    for (const failure of outcome.failures) say(`FAILED: ${failure}`);
    if (outcome.failures.length > 0) code = 1;
  }
  return code;
}

/** What is asked for, or what is wrong with the arguments. */
function parse() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        json: { type: "boolean", default: false },
        quick: { type: "boolean", default: false },
        full: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
        rounds: { type: "string" },
        pairs: { type: "string" },
        only: { type: "string", multiple: true, default: [] },
        set: { type: "string" },
        bounds: { type: "string" },
        schedules: { type: "string" },
      },
    });
    const [name, ...more] = positionals;
    const { rounds, schedules, pairs, only, ...flags } = values;
    if (name === "compare" && !flags.help) return comparisonOf(more, pairs, flags);
    const benches = BENCHES.filter((bench) => name === "all" || bench.name === name);
    const request = { benches, ...flags, only, ...numbersOf({ rounds, schedules }) };
    if (flags.help) return request;
    if (name === undefined || more.length > 0) return "Name one benchmark, or all.";
    if (benches.length === 0) return `There is no benchmark ${name}.`;
    return whatIsWrong(request) ?? request;
  } catch (error) {
    return /** @type {Error} */ (error).message;
  }
}

/**
 * @param {readonly string[]} named The commit, and the benchmark.
 * @param {string | undefined} pairs
 * @param {{ json: boolean, quick: boolean, full: boolean }} flags
 */
function comparisonOf([reference, name, ...more], pairs = "10", { json, quick, full }) {
  const bench = BENCHES.find((one) => one.name === name);
  if (reference === undefined || name === undefined || more.length > 0)
    return "Name a commit and one benchmark: compare REF NAME.";
  if (!bench) return `There is no benchmark ${name}.`;
  if (!/^[1-9]\d{0,2}$/.test(pairs)) return "--pairs is a number from 1 to 999.";
  const flags = ["--rounds", "1", ...(quick ? ["--quick"] : []), ...(full ? ["--full"] : [])];
  if (bench.systems?.includes("orrery")) flags.push("--only", "orrery");
  return { comparison: { reference, bench: name, flags, pairs: Number(pairs), json } };
}

/** @param {Readonly<Record<string, string | undefined>>} given */
function numbersOf(given) {
  /** @type {{ rounds?: number, schedules?: number }} */
  const numbers = {};
  for (const [name, value] of Object.entries(given))
    if (value !== undefined) Object.assign(numbers, { [name]: Number(value) });
  return numbers;
}

/**
 * @param {{ benches: readonly import("./report.mjs").Bench[], only: readonly string[], rounds?: number, schedules?: number }} request
 */
function whatIsWrong({ benches, only, rounds = 1, schedules = 1 }) {
  const unknown = only.find((one) => !benches.some(({ systems = [] }) => systems.includes(one)));
  if (unknown !== undefined) return `--only ${unknown}: the benchmark compares no such system.`;
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 100) return "--rounds is a number from 1 to 100.";
  if (!Number.isSafeInteger(schedules) || schedules < 1) return "--schedules is a whole number from 1 on.";
  return undefined;
}
