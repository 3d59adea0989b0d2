// The whole of CI: `npm test` here and on every other machine. Arguments go to vitest: `npm test -- src/graph`.
// With `--check` (`npm run check`) everything but the tests. With `--long` (`npm run test:long`) the long forms of the
// tests that have one, which take about two hours.

import { fileURLToPath } from "node:url";
import { runNode } from "./run.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const args = process.argv.slice(2);
// `biome ci` colours its output letter by letter even into a file.
const colors = process.stdout.isTTY ? "force" : "off";

/** The variables that make tests long, with their values. */
const LONG = {
  ATTACK: "long",
  CHAOS: "long",
  CLUSTER: "long",
  DATA_KILLS: "long",
  FUZZ: "long",
  KILLS: "10",
  LOCK: "long",
  OUTAGES: "long",
};

/** The files that read one of these variables. */
const LONG_FILES = [
  "src/embedded/task-options.test.ts",
  "src/server/http/generated.test.ts",
  "src/server/http/walks.test.ts",
  "tests/chaos.test.ts",
  "tests/cluster.test.ts",
  "tests/data-kill.test.ts",
  "tests/lock.test.ts",
  "tests/raw-sockets.test.ts",
  "tests/rogue-workers.test.ts",
  "tests/schedules-kill.test.ts",
  "tests/siege-attacks.test.ts",
  "tests/store-outage.test.ts",
  "tests/transactional-kill.test.ts",
];

/** @type {[name: string, command: string[]][]} */
const stages = [
  ["ready", ["scripts/ready.mjs"]],
  ["biome", ["node_modules/@biomejs/biome/bin/biome", "ci", "--error-on-warnings", `--colors=${colors}`]],
  [
    "oxlint",
    ["node_modules/oxlint/bin/oxlint", "--type-aware", "--tsconfig=tsconfig.test.json", "--deny-warnings"],
  ],
  ["types", ["node_modules/typescript/bin/tsc", "-p", "tsconfig.test.json"]],
  ["types of dashboard", ["node_modules/typescript/bin/tsc", "-p", "dashboard/tsconfig.json"]],
  ["types of bench", ["node_modules/typescript/bin/tsc", "-p", "bench/tsconfig.json"]],
  ["knip", ["node_modules/knip/bin/knip.js"]],
];
if (args[0] !== "--check") {
  const isLong = args[0] === "--long";
  if (isLong) Object.assign(process.env, LONG);
  stages.push(["postgresql", ["scripts/postgres.mjs"]]);
  stages.push(["chromium", ["scripts/chromium.mjs"]]);
  stages.push(["vitest", ["node_modules/vitest/vitest.mjs", "run", ...(isLong ? LONG_FILES : args)]]);
}

for (const [name, command] of stages) {
  const startedMs = performance.now();
  const code = await runNode(root, command);
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  process.stderr.write(`${name}: ${code === 0 ? "ok" : "failed"}, ${seconds} s\n`);
  if (code !== 0) process.exit(code);
}
