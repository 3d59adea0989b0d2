// npm run bench -- NAME [--json] [--quick] [--full] [--rounds N] [--only SYSTEM] [--set DIR] [--bounds CSV] [--schedules N]
//
// Exits with 0 also when a goal is missed, which the results say; with 1 when something is wrong rather than
// slow; with 2 when it was asked for what there is not.

import { parseArgs } from "node:util";
import { backlog } from "./backlog.mjs";
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
].join("\n");

process.exitCode = await main();

async function main() {
  const request = parse();
  if (typeof request === "string") {
    process.stderr.write(`${request}\n\n${USAGE}`);
    return 2;
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
        only: { type: "string", multiple: true, default: [] },
        set: { type: "string" },
        bounds: { type: "string" },
        schedules: { type: "string" },
      },
    });
    const [name, ...more] = positionals;
    const { rounds, schedules, only, ...flags } = values;
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
