import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { intervalOf } from "../bench/compare.mjs";

const main = fileURLToPath(new URL("../bench/main.mjs", import.meta.url));

interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function bench(args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<Finished> {
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...args], { env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

test("a small run of the benchmark of decisions gives figures, and its ledgers are decided again", {
  timeout: 180_000,
}, async () => {
  const { code, stdout, stderr } = await bench(["decisions", "--quick", "--json"]);
  expect(stderr).not.toContain("FAILED");
  expect(code).toBe(0);
  const report = JSON.parse(stdout);
  expect(report.bench).toBe("decisions");
  expect(report.machine).toMatchObject({ cores: expect.any(Number), node: process.versions.node });
  for (const row of report.results) {
    expect(row).toMatchObject({
      case: expect.any(String),
      metric: expect.any(String),
      unit: expect.any(String),
      value: expect.any(Number),
    });
    expect("met" in row).toBe("goal" in row);
    // Neither goals nor peers are judged by small sizes, and a peer that is missing has no figure.
    expect(row).not.toHaveProperty("ratio");
    if ("peer" in row) expect("peerValue" in row).toBe(!row.peer.includes("missing"));
  }
  expect(report.results.at(-1)).toMatchObject({ case: "verify --redecide", met: true });
});

test("[D-05] a small run of the benchmark of graphs with data completes them, with right results, and counts what moved", {
  timeout: 300_000,
}, async () => {
  const { code, stdout, stderr } = await bench(["dag", "--quick", "--json"]);
  expect(stderr).not.toContain("FAILED");
  expect(code).toBe(0);
  const { results, settings, skipped } = JSON.parse(stdout);
  expect(settings).toMatchObject({ rounds: 1, serve: ["--prefetch", "32", "--fair-share", "1000000"] });
  const measured = (title: string) =>
    results
      .filter((row: { case: string }) => row.case === title)
      .map((row: { metric: string }) => row.metric);
  expect(measured("layered of 250, 2 workers")).toEqual(
    expect.arrayContaining(["time per task", "CPU of the server per task", "CPU of the workers per task"]),
  );
  const pairs = "12 x 1 MiB, sliding, no-op";
  expect(measured(pairs)).toEqual(
    expect.arrayContaining([
      "moved",
      "producers of the busier worker",
      "held at most",
      "results kept when released",
    ]),
  );
  // Where Dask is missing, that is said and the rest is measured.
  expect(measured(`${pairs}: Dask`).length > 0).toBe(skipped.length === 0);
  expect(stderr.includes("SKIPPED")).toBe(skipped.length > 0);
  for (const row of results) {
    expect(row.value).toEqual(expect.any(Number));
    expect(row).not.toHaveProperty("met");
  }
});

test("a benchmark that there is not is refused with a list of those that there are", async () => {
  const { code, stdout, stderr } = await bench(["nonsense"]);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(
    /There is no benchmark nonsense\.\n(.*\n)* {2}decisions .*\n(.*\n)* {2}queue .*\n(.*\n)* {2}all /,
  );
});

test("a small run of the benchmark of plans says how far they are from the optimum, and checks each of them", {
  timeout: 180_000,
}, async () => {
  const { code, stdout, stderr } = await bench(["plan", "--quick", "--schedules", "200", "--json"]);
  expect(stderr).not.toContain("FAILED");
  expect(code).toBe(0);
  const { results, skipped } = JSON.parse(stdout);
  if (skipped) return expect(stderr).toContain("SKIPPED");
  const measured = (metric: string) =>
    results.find((row: { metric: string }) => row.metric === metric)?.value;
  expect(measured("checked")).toBe(24);
  expect(measured("above the best known")).toBeGreaterThan(0);
});

test("where there are no instances to plan, that is said loudly", async () => {
  const { code, stdout, stderr } = await bench(["plan", "--json", "--set", "no-such-directory"]);
  expect([code, JSON.parse(stdout).results]).toEqual([0, []]);
  expect(stderr).toContain("plan: SKIPPED: no-such-directory is missing");
});

test("systems and rounds that there are not are refused", async () => {
  for (const [args, why] of [
    [["queue", "--only", "nonsense"], "--only nonsense: the benchmark compares no such system."],
    [["queue", "--rounds", "x"], "--rounds is a number from 1 to 100."],
    [["plan", "--schedules", "0"], "--schedules is a whole number from 1 on."],
    [["compare", "HEAD"], "Name a commit and one benchmark: compare REF NAME."],
    [["compare", "HEAD", "queue", "--pairs", "0"], "--pairs is a number from 1 to 999."],
    [["compare", "no-such-commit", "queue"], "There is no commit no-such-commit."],
  ] as const) {
    const { code, stdout, stderr } = await bench(args);
    expect([code, stdout, stderr.split("\n")[0]]).toEqual([2, "", why]);
  }
});

describe("the benchmark of queues", () => {
  let temporary = "";
  let env: NodeJS.ProcessEnv = {};
  beforeAll(() => {
    temporary = mkdtempSync(join(tmpdir(), "orrery-bench-test-"));
    // A database does not run as root; where we are, its user has to get in.
    chmodSync(temporary, 0o711);
    env = { ...process.env, TMPDIR: temporary };
  });
  afterAll(() => rmSync(temporary, { recursive: true, force: true }));

  test("a small run of ours gives figures and judges them, and leaves neither processes nor folders behind", {
    timeout: 300_000,
  }, async () => {
    const { code, stdout, stderr } = await bench(["queue", "--quick", "--only", "orrery", "--json"], env);
    expect([code, stderr.replaceAll(/^queue: round .*\n/gm, "")]).toEqual([0, ""]);
    const report = JSON.parse(stdout);
    expect(report.bench).toBe("queue");
    expect(report.machine.loadAverage).toBeGreaterThanOrEqual(0);
    expect(report.settings.postgres).toMatchObject({
      fsync: "on",
      synchronous_commit: "on",
      full_page_writes: "on",
    });
    for (const row of report.results) {
      expect(row).toEqual({
        measure: expect.any(String),
        metric: expect.any(String),
        unit: expect.stringMatching(/^(1\/s|µs|ms|MiB|%)$/),
        system: expect.stringMatching(/^(orrery|disk|bare commit)$/),
        value: expect.any(Number),
        min: row.value,
        max: row.value,
        rounds: [row.value],
      });
    }
    const measures = new Set(report.results.map((row: { measure: string }) => row.measure));
    expect([...measures]).toEqual([
      "fdatasync of 8 KiB",
      "enqueue, 1 in flight",
      "enqueue, 16 in flight",
      "enqueue, 256 in flight",
      "enqueue, 1000 in one call",
      "drain of 1000 no-ops",
      "enqueue to handler, one at a time",
      "enqueue to handler, above a bare commit",
      "HTTP submits, 64 connections",
      "HTTP submits, 1000 a second",
    ]);
    expect(report.requirements.map(({ what, met }: { what: string; met: unknown }) => [what, met])).toEqual([
      ["enqueue to handler, above a bare commit, p50", expect.any(Boolean)],
      ["enqueue, 16 in flight, compared to enqueue, 1 in flight", expect.any(Boolean)],
      ["HTTP submits, 64 connections", expect.any(Boolean)],
      ["HTTP submits, 1000 a second, p99", expect.any(Boolean)],
    ]);
    expect(report).toMatchObject({ ratios: [], skipped: [], failures: [] });
    expect(readdirSync(temporary)).toEqual([]);
    expect(processesIn(temporary)).toEqual([]);
  });

  test("an interrupted run ends by the signal, and leaves neither processes nor folders behind", {
    timeout: 300_000,
  }, async () => {
    const { running, ended } = await runningBench();
    running.kill("SIGINT");
    expect(await ended).toEqual([null, "SIGINT"]);
    expect(readdirSync(temporary)).toEqual([]);
    expect(processesIn(temporary)).toEqual([]);
  });

  test("a run that is killed leaves neither processes nor folders behind", { timeout: 300_000 }, async () => {
    const { running, ended } = await runningBench();
    running.kill("SIGKILL");
    await ended;
    const left = () => [...readdirSync(temporary), ...processesIn(temporary)];
    await expect.poll(left, { timeout: 200_000 }).toEqual([]);
  });

  /** One whose database works: it has the most to end then. */
  async function runningBench() {
    const running = spawn(process.execPath, [main, "queue", "--quick", "--only", "orrery"], {
      env,
      stdio: ["ignore", "ignore", "pipe"],
    });
    const ended = once(running, "close");
    while (!processesIn(temporary).some((command) => /postgres.*checkpointer/.test(command))) {
      expect(running.exitCode).toBeNull();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return { running, ended };
  }
});

test("[Q-11] a small run of the benchmark of backlogs judges how claims grow", {
  timeout: 300_000,
}, async () => {
  const { code, stdout } = await bench(["backlog", "--quick", "--json"]);
  expect(code).toBe(0);
  const { results } = JSON.parse(stdout);
  expect(results.filter((row: object) => "met" in row)).toMatchObject([
    { case: "hrrn, 5000 : 500 waiting", metric: "free slot to commit, p50", goal: "<= 2" },
    { case: "hrrn, 5000 : 500 waiting", metric: "free slot to commit, p99", goal: "<= 2" },
  ]);
  expect(results[0]).toMatchObject({ metric: "free slot to commit, p50", value: expect.any(Number) });
});

test("[Q-18] what was acknowledged is there after kill -9 of the process and of its PostgreSQL", {
  timeout: 300_000,
}, async () => {
  const { code, stdout, stderr } = await bench(["durability", "--quick", "--rounds", "1", "--json"]);
  expect(stderr).not.toContain("FAILED");
  expect(code).toBe(0);
  const [there, lost, ledger] = JSON.parse(stdout).results;
  expect(there.value).toBeGreaterThanOrEqual(300);
  expect([lost, ledger]).toMatchObject([
    { metric: "acknowledged and lost", value: 0, met: true },
    { metric: "verify --redecide", met: true },
  ]);
});

/** What runs with a folder in its arguments, in its environment, or as its working directory. */
function processesIn(folder: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
        const environment = readFileSync(`/proc/${pid}/environ`, "utf8");
        const isIn = `${command}${environment}${readlinkSync(`/proc/${pid}/cwd`)}`.includes(folder);
        return isIn ? [command] : [];
      } catch {
        // It has ended meanwhile, or is another user's.
        return [];
      }
    });
}

test("[S-26.compare] the interval of a comparison needs six pairs, and excludes the extremes of ten", () => {
  expect(intervalOf([1, 2, 3, 4, 5])).toEqual([undefined, undefined]);
  expect(intervalOf([1, 2, 3, 4, 5, 6])).toEqual([1, 6]);
  expect(intervalOf([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])).toEqual([2, 9]);
  expect(intervalOf(Array.from({ length: 20 }, (_, at) => at + 1))).toEqual([6, 15]);
});
