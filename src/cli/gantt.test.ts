import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aNode, joins, Loop, submits } from "../../tests/builders.ts";
import { type CommandResult, runCommand } from "../../tests/command-run.ts";
import { tellStory, writeLedger } from "../../tests/story-ledger.ts";
import { ganttCommand } from "./gantt.ts";
import type { Chart } from "./gantt-rows.ts";
import { textWidth } from "./terminal-text.ts";

let directory: string;
let ledger: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "orrery-gantt-"));
  ledger = await writeLedger(tellStory(), join(directory, "story.jsonl"));
});

afterAll(() => rm(directory, { recursive: true }));

function gantt(...options: readonly string[]): Promise<CommandResult> {
  return runCommand(ganttCommand(), ledger, ...options);
}

describe("a chart", () => {
  test("has a row for each node, in the order in which they started", async () => {
    const { stdout } = await gantt("--run", "run-1", "--width", "80");
    expect(stdout).toMatchInlineSnapshot(`
      "nightly failed in 5.5s
      run run-1, 6 nodes, one of 2 runs (--run chooses)

                  0         1s         2s         3s         4s         5s
                  ┬─────────┬──────────┬──────────┬──────────┬──────────┬─────
      * fetch     █████████                                                      860ms
        lint               ░ worker-2 ░░░░░░░░░░░░░█ worker-1 #2 ██               3.6s
      * build              ·█ worker-1 ████                                       1.3s
      * test                               ▒▒▒▒▒▒▒·····█ worker-1 #2 █            2.0s
      * deploy                                                        ▒▒▒▒▒▒▒▒   700ms
        announce  skipped

        █ finished   ▒ failed   ░ lost   · ready, waiting   * critical path (4 nodes)
      "
    `);
  });

  test("has a row for each lane of a worker", async () => {
    const { stdout } = await gantt("--run", "run-1", "--width", "80", "--by", "worker");
    expect(stdout).toMatchInlineSnapshot(`
      "nightly failed in 5.5s
      run run-1, 6 nodes, one of 2 runs (--run chooses)

                  0           1s          2s           3s          4s          5s
                  ┬───────────┬───────────┬────────────┬───────────┬───────────┬──────
        worker-1  █ *fetch ██ █ *build ███████▐ *test ▒ █ lint #2 ███████    ▒*▒▒▒▒▒▒▒
                                                            █ *test #2 ██████
        worker-2             ░ lint ░░░░░░░░░░░░░░░░░░░░

        █ finished   ▒ failed   ░ lost   * critical path (4 nodes)
      "
    `);
  });

  test.each([40, 57, 80, 120, 200])("is never wider than %i columns", async (width) => {
    for (const options of [
      ["--run", "run-1"],
      ["--run", "run-2"],
      ["--by", "worker"],
    ]) {
      const { stdout } = await gantt("--width", String(width), ...options);
      for (const line of stdout.split("\n")) expect(textWidth(line)).toBeLessThanOrEqual(width);
    }
  });

  test("is of the last run, unless one is named", async () => {
    expect((await gantt()).stdout).toMatch(/^morning open after 1\.1s\n/);
    expect(await gantt("--run", "run-9")).toMatchObject({ exitCode: 3 });
  });

  test("has workers for rows where there are many nodes", async () => {
    const loop = new Loop();
    const nodes = Array.from({ length: 41 }, (_, at) => aNode(`n${at}`));
    loop.turn(1, joins("w", { cpuMillicores: 41_000, slots: 41, memoryBytes: 10_000 }), submits("r", nodes));
    loop.turn(9, ...nodes.map(({ id }) => loop.finished("r", id)));
    const path = await writeLedger(loop, join(directory, "many.jsonl"));
    const { stdout } = await runCommand(ganttCommand(), path, "--json");
    expect(JSON.parse(stdout)).toMatchObject({ by: "worker", nodes: 41 });
  });

  test("shows ids that would act on the terminal, and aligns those that are wide", async () => {
    const loop = new Loop();
    loop.turn(
      0,
      joins("w", { slots: 9 }),
      submits("r", [aNode("a\u001b[2J\n"), aNode("構築する")], { name: "x\u0007" }),
    );
    loop.turn(900, loop.finished("r", "a\u001b[2J\n"), loop.finished("r", "構築する"));
    const path = await writeLedger(loop, join(directory, "hostile.jsonl"));
    for (const by of ["node", "worker"]) {
      const { stdout } = await runCommand(ganttCommand(), path, "--by", by, "--width", "80");
      expect(stdout).not.toContain("\u0007");
      expect(stdout).not.toContain("\u001b");
      expect(stdout).toContain("a\\x1b[2J\\x0a");
      expect(stdout).toContain("構築する");
      for (const line of stdout.split("\n")) expect(textWidth(line)).toBeLessThanOrEqual(80);
    }
  });
});

test("as JSON, rows have the start and end of every attempt", async () => {
  const { stdout } = await gantt("--run", "run-1", "--json");
  const chart = JSON.parse(stdout) as Chart;
  expect(chart).toMatchObject({
    run: "run-1",
    outcome: "failed",
    start: 2_000,
    end: 7_500,
    by: "node",
    criticalPath: ["fetch", "build", "test", "deploy"],
  });
  expect(chart.rows.find(({ label }) => label === "test")).toEqual({
    label: "test",
    lane: 1,
    critical: true,
    fate: null,
    waits: [{ start: 5_000, end: 5_450 }],
    bars: [
      {
        node: "test",
        worker: "worker-1",
        attempt: 1,
        outcome: "failed",
        critical: true,
        start: 4_300,
        end: 5_000,
      },
      {
        node: "test",
        worker: "worker-1",
        attempt: 2,
        outcome: "finished",
        critical: true,
        start: 5_450,
        end: 6_800,
      },
    ],
  });
  expect(chart.rows.find(({ label }) => label === "announce")).toMatchObject({ fate: "skipped", bars: [] });
});

test("an empty ledger has no run to draw", async () => {
  const path = await writeLedger(new Loop(), join(directory, "empty.jsonl"));
  expect(await runCommand(ganttCommand(), path)).toMatchObject({ exitCode: 3 });
});
