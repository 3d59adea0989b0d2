import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { aNode, joins, Loop, submits } from "../../tests/builders.ts";
import { runCommand } from "../../tests/command-run.ts";
import { tellStory, writeLedger } from "../../tests/story-ledger.ts";
import type { TraceEvent } from "../history/index.ts";
import { traceCommand } from "./trace.ts";

let directory: string;
let ledger: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "orrery-trace-"));
  ledger = await writeLedger(tellStory(), join(directory, "story.jsonl"));
});

afterAll(() => rm(directory, { recursive: true }));

async function trace(path: string): Promise<TraceEvent[]> {
  const { stdout } = await runCommand(traceCommand(), path);
  return (JSON.parse(stdout) as { traceEvents: TraceEvent[] }).traceEvents;
}

test("every attempt is a slice of its worker's lane, with its reason and its outcome", async () => {
  const slices = (await trace(ledger)).filter(({ ph }) => ph === "X");
  expect(slices.map(({ name, cat }) => `${name} ${cat}`)).toEqual([
    "fetch finished",
    "build finished",
    "lint lost",
    "test failed",
    "lint #2 finished",
    "test #2 finished",
    "deploy failed",
    "load open",
    "scan open",
  ]);
  expect(slices[0]).toMatchObject({
    ts: 2_040_000,
    dur: 860_000,
    args: { node: "fetch", attempt: 1, worker: "worker-1", reason: { type: "LeastLoaded" } },
  });
});

test("a start that nobody reported is the assignment, an end that never came is the last time", async () => {
  const slices = (await trace(ledger)).filter(({ ph }) => ph === "X");
  expect(slices.find(({ name }) => name === "lint #2")).toMatchObject({ ts: 5_100_000, dur: 1_400_000 });
  expect(slices.find(({ name }) => name === "load")).toMatchObject({ ts: 8_000_000, dur: 1_100_000 });
});

test("slices of a lane never overlap", async () => {
  const loop = new Loop();
  const wide = { cpuMillicores: 8_000, slots: 8 };
  loop.turn(1, joins("a", wide), joins("b", wide));
  loop.turn(
    2,
    submits(
      "r",
      Array.from({ length: 40 }, (_, at) => aNode(`n${at}`, at > 20 ? { needs: ["n3"] } : {})),
    ),
  );
  for (let now = 3; loop.state.runById("r")?.outcome === undefined; now += 7) {
    const run = loop.run("r");
    const placed = [...run.status.keys()].filter((node) => run.statusOf(node) === 4);
    const some = placed.filter((node) => (node * 7 + now) % 3 === 0);
    const ends = some.length > 0 ? some : placed;
    loop.turn(now, ...ends.map((node) => loop.finished("r", `n${node}`)));
  }
  const events = await trace(await writeLedger(loop, join(directory, "lanes.jsonl")));
  const busyUntil = new Map<number, number>();
  const slices = events.filter(({ ph }) => ph === "X");
  expect(slices).toHaveLength(40);
  for (const { tid, ts = 0, dur = 0 } of slices.toSorted((a, b) => (a.ts ?? 0) - (b.ts ?? 0))) {
    expect(ts).toBeGreaterThanOrEqual(busyUntil.get(tid) ?? 0);
    busyUntil.set(tid, ts + dur);
  }
  expect(busyUntil.size).toBeLessThanOrEqual(16);
});

test("arrows go from the end of what a node needs to its start", async () => {
  const events = await trace(ledger);
  const starts = events.filter(({ ph }) => ph === "s");
  const ends = events.filter(({ ph }) => ph === "f");
  expect(starts.map(({ id }) => id)).toEqual(ends.map(({ id }) => id));
  expect(starts).toHaveLength(5);
  for (const [at, { ts }] of starts.entries()) expect(ts).toBeLessThan(ends[at]?.ts as number);
});

test("a transfer is a slice on the worker that it came to, with an arrow from who made it to who needed it", async () => {
  const loop = new Loop();
  const far = { capabilities: ["far"] };
  loop.turn(
    1,
    joins("w1", { slots: 1 }),
    joins("w2", far),
    submits("r", [
      aNode("make", { mayAdd: 1 }),
      aNode("use", { inputs: ["make", "also"], ...far }),
      aNode("also", { executor: "shell" }),
    ]),
  );
  const held = { costMicros: 0, held: true } as const;
  loop.turn(10, {
    ...submits("added", [aNode("tail", { keep: true })]),
    parent: { ...loop.attempt("r", "make"), tail: 0 },
  });
  loop.turn(20, { ...loop.finished("added", "tail", 1_000_000), ...held });
  loop.turn(30, { ...loop.finished("r", "also", 70_000), ...held });
  const use = { ...loop.finished("r", "use", 5), costMicros: 0, startedAt: 60, movedBytes: 1_070_000 };
  // By the clock of a worker that is late the second began before it was asked for.
  loop.turn(80, {
    ...use,
    transfers: [
      [0, 0, -10, 4_500],
      [2, 0, -9_000, 1_000],
    ],
  });
  const events = await trace(await writeLedger(loop, join(directory, "data.jsonl")));
  const maker = events.find(({ name }) => name === "tail");
  const user = events.find(({ name }) => name === "use");
  const [first, second] = events.filter(({ cat, ph }) => cat === "transfer" && ph === "X");
  expect(first).toMatchObject({
    name: "fetch make",
    ts: 50_000,
    dur: 4_500,
    args: { from: "w1", to: "w2", for: "use", bytes: 1_000_000, chunk: `${loop.run("added").taskIdOf(0)}:1` },
  });
  expect(second).toMatchObject({ name: "fetch also", ts: 30_000, args: { bytes: 70_000 } });
  expect(first?.tid).not.toBe(user?.tid);
  const arrow = events.filter(
    ({ cat, id }) => cat === "data" && id === events.find(({ cat }) => cat === "data")?.id,
  );
  expect(arrow.map(({ ph, pid, tid, ts }) => ({ ph, pid, tid, ts }))).toEqual([
    { ph: "s", pid: maker?.pid, tid: maker?.tid, ts: 19_999 },
    { ph: "t", pid: first?.pid, tid: first?.tid, ts: 50_000 },
    { ph: "f", pid: user?.pid, tid: user?.tid, ts: 60_000 },
  ]);
  const names = events.filter(({ name }) => name === "thread_name").map(({ args }) => args?.["name"]);
  expect(names).toContain("w2 in #1");
});

test("the arrow of a transfer for a node that stands for another begins where that was made", async () => {
  const loop = new Loop();
  const far = { capabilities: ["far"] };
  loop.turn(
    1,
    joins("w1", { slots: 2 }),
    joins("w2", far),
    submits("r", [aNode("a"), aNode("grow", { mayAdd: 2 })]),
  );
  const held = { costMicros: 0, held: true } as const;
  const parent = { ...loop.attempt("r", "grow"), tail: 0, links: [[1, 0, 0]] as const };
  const nodes = [aNode("use", { inputs: ["a"], keep: true, ...far }), aNode("a")];
  loop.turn(10, { ...loop.finished("r", "a", 70_000), ...held }, { ...submits("added", nodes), parent });
  const use = { ...loop.finished("added", "use", 5), costMicros: 0, startedAt: 30, movedBytes: 70_000 };
  loop.turn(40, { ...use, transfers: [[1, 0, -10, 4_500]] });
  const events = await trace(await writeLedger(loop, join(directory, "links.jsonl")));
  const maker = events.find(({ name, ph }) => name === "a" && ph === "X");
  expect(events.find(({ cat, ph }) => cat === "data" && ph === "s")).toMatchObject({
    pid: maker?.pid,
    tid: maker?.tid,
  });
  expect(events.find(({ cat }) => cat === "transfer")).toMatchObject({
    name: "fetch a",
    args: { bytes: 70_000 },
  });
});

test("retries, losses and reservations are marks, and everything has a name", async () => {
  const events = await trace(ledger);
  const marks = events.filter(({ ph }) => ph === "i").map(({ name }) => name);
  for (const mark of ["retry test", "retry lint", "worker-2 lost", "worker-1 kept for big"]) {
    expect(marks).toContain(mark);
  }
  const names = events.filter(({ name }) => name === "process_name").map(({ args }) => args?.["name"]);
  expect(names).toEqual(["scheduler", "run nightly (run-1)", "run morning (run-2)"]);
  const threads = new Set(
    events.filter(({ name }) => name === "thread_name").map(({ pid, tid }) => `${pid} ${tid}`),
  );
  for (const { ph, pid, tid } of events) if (ph === "X") expect(threads).toContain(`${pid} ${tid}`);
});

test("--out writes a file and nothing to stdout", async () => {
  const out = join(directory, "story.trace.json");
  const { stdout, exitCode } = await runCommand(traceCommand(), ledger, "--out", out);
  expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 0 });
  expect(JSON.parse(await readFile(out, "utf8"))).toHaveProperty("traceEvents");
  const nowhere = join(directory, "none", "trace.json");
  expect(await runCommand(traceCommand(), ledger, "--out", nowhere)).toMatchObject({ exitCode: 2 });
});
