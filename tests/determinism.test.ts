// The same stories in other processes and on other versions of Node, from the compiled package.

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("..", import.meta.url));
const KEPT: unknown = JSON.parse(readFileSync(new URL("golden/stories.json", import.meta.url), "utf8"));

beforeAll(async () => {
  await run(process.execPath, ["scripts/ready.mjs"], { cwd: ROOT });
});

test("[P-01] a fresh process tells all stories to the byte, on this Node", async () => {
  expect(await hashesFrom(process.execPath)).toEqual(KEPT);
});

test.for(["22", "24"])(
  "[P-01] a fresh process tells all stories to the byte, on Node %s",
  async (major, { skip }) => {
    const binary = await otherNode(major);
    if (binary instanceof Error) {
      if (process.env["CI"]) throw binary;
      process.stderr.write(`\nNOT TESTED on Node ${major}, which could not be fetched: ${binary.message}\n`);
      skip(`no Node ${major}`);
      return;
    }
    const { stdout } = await run(binary, ["--version"]);
    expect(stdout).toMatch(new RegExp(`^v${major}\\.`));
    expect(await hashesFrom(binary)).toEqual(KEPT);
  },
);

async function hashesFrom(binary: string): Promise<unknown> {
  const { stdout } = await run(binary, ["tests/scenarios.mjs"], { cwd: ROOT });
  return JSON.parse(stdout);
}

async function otherNode(major: string): Promise<string | Error> {
  try {
    const { stdout } = await run(process.execPath, ["scripts/other-nodes.mjs", major], { cwd: ROOT });
    return stdout.trim();
  } catch (error) {
    return error as Error;
  }
}
