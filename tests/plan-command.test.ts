import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { directoryWith, MAIN, orrery } from "./cli.ts";

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
