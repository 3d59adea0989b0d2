import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { directoryWith, MAIN, orrery, startOrrery } from "./cli.ts";

let directory: string;

beforeAll(async () => {
  directory = await directoryWith({
    "hard.jsonl": hardIssues(60),
    "large.json": JSON.stringify({ nodes: wideGraph(20_000) }),
  });
});

afterAll(() => rm(directory, { recursive: true }));

/** Issues of which two or three fit together, and not evenly: no schedule meets the bound, so a search goes on. */
function hardIssues(count: number): string {
  const issues = Array.from({ length: count }, (_, at) => ({
    ...{ id: `i${at}`, title: "", status: "open", priority: 2, issue_type: "task" },
    estimated_minutes: 30 + ((at * 37) % 90),
    metadata: { dk_estimated_tokens: 110_000 + ((at * 7_919) % 200) * 1_000 },
  }));
  return issues.map((issue) => `${JSON.stringify(issue)}\n`).join("");
}

function wideGraph(count: number): Record<string, object> {
  const nodes = Array.from({ length: count }, (_, at) => {
    const needs = at % 10 === 0 ? [] : [`n${at - 1}`];
    return [`n${at}`, { run: "true", estimate: `${1 + (at % 60)}s`, needs }];
  });
  return Object.fromEntries(nodes);
}

test("[G-13] the same seed and number of schedules make the same plan, byte for byte", async () => {
  const options = ["plan", "hard.jsonl", "--schedules", "200", "--seed", "3", "--json"];
  const [first, second] = [await orrery(directory, ...options), await orrery(directory, ...options)];
  expect(first.code).toBe(0);
  expect(second.stdout).toBe(first.stdout);
  expect(JSON.parse(first.stdout).gap).toBeGreaterThanOrEqual(0);
});

test("Ctrl-C prints the best plan so far, and ends with 130", async () => {
  const interrupted = async (afterMs: number) => {
    const { child, finished } = startOrrery(directory, ["plan", "hard.jsonl", "--effort", "10m", "--json"]);
    const timer = setTimeout(() => child.kill("SIGINT"), afterMs);
    return await finished.finally(() => clearTimeout(timer));
  };
  // One that has not begun to plan dies of the signal: then more time is given.
  let ended = await interrupted(1_000);
  for (const afterMs of [2_000, 5_000, 10_000, 30_000]) {
    if (ended.signal !== null) ended = await interrupted(afterMs);
  }
  expect(ended).toMatchObject({ code: 130, signal: null, stderr: "" });
  expect(JSON.parse(ended.stdout).schedule).toHaveLength(60);
}, 120_000);

test("a reader that closes early is no error", async () => {
  const child = spawn(process.execPath, [MAIN, "plan", "large.json", "--schedules", "1", "--json"], {
    cwd: directory,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  await once(child.stdout, "readable");
  child.stdout.destroy();
  expect(await once(child, "close")).toEqual([0, null]);
  expect(stderr).toBe("");
}, 60_000);
