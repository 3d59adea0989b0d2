import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Loop } from "../../tests/builders.ts";
import { type CommandResult, runCommand } from "../../tests/command-run.ts";
import { tellStory, writeLedger, writeSnapshot } from "../../tests/story-ledger.ts";
import { replayBlock, State, stateHash } from "../scheduler/index.ts";
import { snapshotPath } from "../store/index.ts";
import { replayCommand } from "./replay.ts";
import { replayTo, type StateSummary } from "./state-summary.ts";

let directory: string;
let ledger: string;
let story: Loop;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "orrery-replay-"));
  story = tellStory();
  ledger = await writeLedger(story, join(directory, "story.jsonl"));
});

afterEach(() => rm(directory, { recursive: true }));

function replay(...options: readonly string[]): Promise<CommandResult> {
  return runCommand(replayCommand(), ledger, ...options);
}

async function summary(...options: readonly string[]): Promise<StateSummary> {
  return JSON.parse((await replay("--json", ...options)).stdout) as StateSummary;
}

function hashAt(seq: number): string {
  const state = new State();
  for (const block of story.blocks) replayBlock(state, block, seq);
  return stateHash(state);
}

test("[P-15] replay rebuilds the state, with the hash of the one that wrote the ledger", async () => {
  expect(await summary()).toMatchObject({
    seq: story.state.seq,
    now: 9_100,
    stateHash: stateHash(story.state),
    backlog: 4,
    workers: [
      {
        id: "worker-1",
        status: "Busy",
        held: [{ run: "run-2", node: "load" }],
        free: { cpuMillicores: 2_000 },
      },
      { id: "worker-2", status: "Busy", held: [{ run: "run-2", node: "scan" }] },
      { id: "tiny", status: "Idle", held: [], slots: 1 },
    ],
    runs: [
      { id: "run-1", name: "nightly", outcome: "failed", counts: { completed: 4, failed: 1, skipped: 1 } },
      { id: "run-2", name: "morning", outcome: null, counts: { assigned: 2, ready: 2, held: 1, waiting: 1 } },
    ],
    reservations: [{ worker: "worker-1", run: "run-2", node: "big" }],
  });
});

test("[P-15] the snapshot beside the ledger changes nothing but where replay begins", async () => {
  const { seq } = tellStory("half").state;
  await writeSnapshot(tellStory("half"), ledger);
  for (let to = 0; to <= story.state.seq; to++) {
    const { state, from } = await replayTo(ledger, to);
    expect({ to, from, hash: stateHash(state) }).toEqual({ to, from: to >= seq ? seq : 0, hash: hashAt(to) });
  }
});

test.each(["hash of the chain", "state"])("[P-15] a snapshot with another %s is not used", async (what) => {
  await writeSnapshot(tellStory("half"), ledger);
  const snapshot = JSON.parse(await readFile(snapshotPath(ledger), "utf8"));
  if (what === "state") snapshot.state.refused = 7;
  else snapshot.head.hash = "0".repeat(64);
  await writeFile(snapshotPath(ledger), JSON.stringify(snapshot));
  const { stdout, stderr } = await replay("--json");
  expect(JSON.parse(stdout)).toMatchObject({ stateHash: stateHash(story.state) });
  expect(stderr).toContain("replayed from the beginning");
});

test("an event that does not exist ends with 2 and the range of those that do", async () => {
  const { exitCode, stderr } = await replay("--to", "31");
  expect({ exitCode, stderr }).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/^there is no event 31: .* has 0 \(before the first\) to 30$/),
  });
  expect((await replay("--to", "x")).exitCode).toBe(2);
});

test("a damaged ledger is replayed as far as it is sound, if that is asked for", async () => {
  const text = await readFile(ledger, "utf8");
  await writeFile(ledger, text.replace('"morning"', '"evening"'));
  const { exitCode, stdout, stderr } = await replay();
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
  expect(stderr).toContain("damaged at event 27 (changed)");
  expect((await summary("--to", "26")).stateHash).toBe(hashAt(26));
});

test("nodes are listed on demand", async () => {
  const { runs } = await summary("--nodes", "--to", "12");
  expect(runs[0]?.nodes?.slice(0, 2)).toEqual([
    { id: "fetch", status: "completed", attempt: 1, worker: "worker-1" },
    { id: "build", status: "completed", attempt: 1, worker: "worker-1" },
  ]);
});

test("the text has what the JSON has", async () => {
  const { stdout } = await replay("--nodes");
  expect(stdout).toMatch(/^ {2}worker-1 {2}Busy {8}2 {4}2 of 4 {6}448 MiB {2}load$/m);
  expect(stdout).toMatch(/^ {2}run-1 {2}nightly {2}failed {3}5\.5s {2}1 skipped, 1 failed, 4 completed$/m);
  expect(stdout).toMatch(/^ {2}worker-1 {2}big {12}run-2$/m);
  expect(stdout).toContain(stateHash(story.state));
});
