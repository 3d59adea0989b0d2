// What becomes of data, as people see it: by `orrery why`, `top` and `trace`, of a real server and two worker processes.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Sample } from "../src/cli/top-view.ts";
import { OrreryClient } from "../src/client/index.ts";
import type { TraceEvent } from "../src/history/index.ts";
import { directoryWith, type Started, startOrrery } from "./cli.ts";
import { SERVER_KEY, type ServerProcess, startServerProcess } from "./server-process.ts";

const MIB = 1024 * 1024;
const SOON = { timeout: 30_000, interval: 100 };

/** The last node waits for a file, so that its run can be looked at while it runs. */
const TASKS = `
  import { existsSync } from "node:fs";
  import { setTimeout as sleep } from "node:timers/promises";
  export const bytes = (length) => Buffer.alloc(length, "x");
  export const length = (value) => value.length;
  export const total = async (...lengths) => {
    while (!existsSync("open")) await sleep(20);
    return lengths.reduce((sum, one) => sum + one, 0);
  };
`;

const GRAPH = {
  name: "seen",
  defaults: { executor: "default", resources: { cpu: 0 } },
  nodes: {
    small: { task: "bytes", args: [MIB], capabilities: ["one"] },
    large: { task: "bytes", args: [3 * MIB], capabilities: ["one"] },
    first: { task: "length", args: [{ node: "small" }], capabilities: ["two"] },
    second: { task: "length", args: [{ node: "large" }], capabilities: ["two"] },
    sum: {
      task: "total",
      args: [{ node: "first" }, { node: "second" }],
      needs: ["small", "large"],
      keep: true,
    },
    where: { task: "total", args: [{ node: "large" }, { node: "second" }], needs: ["second"], keep: true },
    whole: { task: "length", args: [{ node: "large" }], needs: ["sum"], keep: true },
  },
};

let cwd: string;
let server: ServerProcess;
let workers: Started[];
let client: OrreryClient;
let env: NodeJS.ProcessEnv;
let run: string;

beforeAll(async () => {
  cwd = await directoryWith({ "tasks.mjs": TASKS });
  server = await startServerProcess(cwd, ["--store", "memory"]);
  env = { ORRERY_URL: server.url, ORRERY_API_KEY: SERVER_KEY };
  const args = ["worker", "--server", server.url, "--tasks", "tasks.mjs", "--slots", "4", "--quiet"];
  workers = ["one", "two"].map((name) =>
    startOrrery(cwd, [...args, "--id", name, "--capability", name, "--data-memory", "2MiB"], env),
  );
  client = new OrreryClient({ url: server.url, key: SERVER_KEY });
  ({ id: run } = await client.submitRun(GRAPH));
  await vi.waitFor(
    async () => expect((await client.run(run)).counts).toMatchObject({ completed: 4, running: 2 }),
    SOON,
  );
});

afterAll(async () => {
  for (const { child, finished } of [...(workers ?? []), server]) {
    child.kill("SIGTERM");
    await finished;
  }
});

async function orrery(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await startOrrery(cwd, args, env).finished;
  expect(code, stderr).toBe(0);
  return stdout;
}

test("[D-05] top shows what is held, spilled, moved and freed, of each worker and of runs that go on", async () => {
  // What workers say of themselves comes with their heartbeats.
  await vi.waitFor(async () => {
    const { overview, workers } = JSON.parse(await orrery("top", "--json")) as Sample;
    const [giver, taker] = ["one", "two"].map((name) => workers.find(({ id }) => id === name)?.chunks);
    expect(giver).toMatchObject({ moved_bytes: 0, freed_bytes: MIB });
    expect(taker).toMatchObject({ moved_bytes: 4 * MIB, freed_bytes: MIB });
    for (const of of [giver, taker]) {
      expect((of?.held_bytes ?? 0) + (of?.spilled_bytes ?? 0)).toBeGreaterThanOrEqual(3 * MIB);
      expect(of?.spilled_bytes).toBeGreaterThan(0);
    }
    expect(overview.data_runs).toEqual([
      { id: run, name: "seen", held_bytes: 3 * MIB, moved_bytes: 4 * MIB, freed_bytes: MIB },
    ]);
  }, SOON);
  const text = await orrery("top", "--once");
  expect(text).toMatch(/^run seen +3 MiB +4 MiB +1 MiB$/m);
  expect(text).toMatch(/^worker two +\d+ B +3 MiB +4 MiB +1 MiB$/m);
  for (const line of text.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
});

test("[D-05] why says where the data of a node is, and what each candidate had of it and would have had to fetch", async () => {
  const now = await orrery("why", run, "where");
  expect(now).toContain("It gets large, 3 MiB on one and two; second, 7 B with its task.");
  expect(now).toMatch(/because it holds 3 MiB of the inputs and nothing has to\s+be brought/);
  expect(await orrery("why", run, "whole")).toContain("It gets large, 3 MiB on one and two.");
  await orrery("ledger", "why.jsonl");
  const then = await orrery("why", "why.jsonl", "where");
  expect(then).toMatch(/^ {2}inputs +large, 3 MiB on one and two; second, 7 B with its task$/m);
  expect(then).toContain("the tie-break: where the data is speaks for both alike");
  expect(then).toMatch(/^ +rank +worker +status +holds +has +lacks +wait +points/m);
  expect(then).toMatch(/^ +1 +one +\S+ +\d+ +3 MiB +0 B +0ms +31\.7 +chosen$/m);
  expect(then).toMatch(/^ +2 +two +\S+ +\d+ +3 MiB +0 B +0ms +31\.7 +runner-up$/m);
  const json = JSON.parse(await orrery("why", "why.jsonl", "where", "--json")) as {
    assignment: { candidates: { data: object }[]; inputs: object[] };
  };
  expect(json.assignment.candidates[0]?.data).toEqual({
    heldBytes: 3 * MIB,
    movedBytes: 0,
    waitMicros: 0,
    affinityMicros: 31_720,
  });
  expect(json.assignment.inputs[0]).toEqual({
    node: "large",
    bytes: 3 * MIB,
    at: "workers",
    workers: ["one", "two"],
  });
});

test("[D-05] each transfer is in the trace, with who gave it, how large it was and how long it took", async () => {
  await writeFile(join(cwd, "open"), "");
  await expect.poll(async () => (await client.run(run)).status, SOON).toBe("completed");
  await orrery("ledger", "seen.jsonl");
  await orrery("trace", "seen.jsonl", "--out", "trace.json");
  const { traceEvents } = JSON.parse(await readFile(join(cwd, "trace.json"), "utf8")) as {
    traceEvents: TraceEvent[];
  };
  const transfers = traceEvents.filter(({ cat, ph }) => cat === "transfer" && ph === "X");
  const told = transfers
    .filter(({ args }) => args?.["to"] === "two")
    .map(({ name, args }) => `${name} from ${args?.["from"]}, ${args?.["bytes"]}`);
  expect(new Set(told)).toEqual(
    new Set([`fetch large from one, ${3 * MIB}`, `fetch small from one, ${MIB}`]),
  );
  for (const { dur = 0, ts = -1, args } of transfers) {
    const user = traceEvents.find(({ name, ph }) => ph === "X" && name === args?.["for"]);
    expect(dur).toBeGreaterThan(0);
    expect(ts).toBeLessThanOrEqual(user?.ts as number);
  }
  const arrows = traceEvents.filter(({ cat }) => cat === "data").map(({ ph }) => ph);
  expect(arrows.join("")).toBe("stf".repeat(transfers.length));
});
