// npm run bench -- NAME [--json] [--quick] [--full]
//
// Exits with 0 also when a goal is missed, which the results say; with 1 when something is wrong rather than
// slow; with 2 when it was asked for what there is not.

import { parseArgs } from "node:util";
import { decisions } from "./decisions.mjs";
import { queue } from "./queue.mjs";
import { asJson, asTable } from "./report.mjs";

/** @type {readonly import("./report.mjs").Bench[]} */
const BENCHES = [decisions, queue];

const USAGE = [
  "usage: npm run bench -- NAME [--json] [--quick] [--full]",
  "",
  ...BENCHES.map(({ name, summary }) => `  ${name.padEnd(12)}${summary}`),
  `  ${"all".padEnd(12)}all of them, one after the other`,
  "",
  "  --json      one JSON object per benchmark on the standard output",
  "  --quick     small sizes: shows that everything works, measures nothing",
  "  --full      the largest sizes too; takes long",
  "",
].join("\n");

process.exitCode = await main();

async function main() {
  const request = parse();
  if (typeof request === "string") {
    process.stderr.write(`${request}\n\n${USAGE}`);
    return 2;
  }
  if (request.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  let code = 0;
  for (const bench of request.benches) {
    const { rows, failures } = await bench.run({
      quick: request.quick,
      full: request.full,
      say: (line) => process.stderr.write(`${bench.name}: ${line}\n`),
    });
    process.stdout.write(`${request.json ? asJson(bench.name, rows) : asTable(bench.name, rows)}\n`);
    for (const failure of failures) process.stderr.write(`${bench.name}: FAILED: ${failure}\n`);
    if (failures.length > 0) code = 1;
  }
  return code;
}

/** What is asked for, or what is wrong with the arguments. */
function parse() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        json: { type: "boolean" },
        quick: { type: "boolean" },
        full: { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    });
    const [name, ...more] = positionals;
    const { json = false, quick = false, full = false, help = false } = values;
    const benches = BENCHES.filter((bench) => name === "all" || bench.name === name);
    if (help) return { benches, json, quick, full, help };
    if (name === undefined || more.length > 0) return "Name one benchmark, or all.";
    if (benches.length === 0) return `There is no benchmark ${name}.`;
    return { benches, json, quick, full, help };
  } catch (error) {
    return /** @type {Error} */ (error).message;
  }
}
