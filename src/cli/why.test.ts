import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aNode, joins, Loop, submits } from "../../tests/builders.ts";
import { type CommandResult, runCommand } from "../../tests/command-run.ts";
import { tellStory, writeLedger } from "../../tests/story-ledger.ts";
import { DEFAULT_SPECULATION } from "../graph/index.ts";
import { NO_RUN } from "../placement/index.ts";
import { eventsOf } from "../scheduler/index.ts";
import type { Explanation } from "./explanation.ts";
import { whyCommand } from "./why.ts";

let directory: string;
let ledger: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "orrery-why-"));
  ledger = await writeLedger(tellStory(), join(directory, "story.jsonl"));
});

afterAll(() => rm(directory, { recursive: true }));

function why(...args: readonly string[]): Promise<CommandResult> {
  return runCommand(whyCommand(), ledger, ...args);
}

async function answer(...args: readonly string[]): Promise<Explanation & { sentence: string }> {
  return JSON.parse((await why(...args, "--json")).stdout);
}

async function answerFrom(loop: Loop, name: string, ...args: readonly string[]): Promise<string> {
  const path = await writeLedger(loop, join(directory, `${name}.jsonl`));
  return (await runCommand(whyCommand(), path, ...args)).stdout;
}

describe("[P-11] why here", () => {
  test("gives the reason, the runner-up and every candidate as they were just before", async () => {
    const { assignment, sentence } = await answer("deploy");
    expect(sentence).toBe(
      "deploy was given to worker-1 because no candidate held fewer tasks (it held none).",
    );
    expect(assignment).toMatchObject({
      seq: 22,
      attempt: 1,
      worker: "worker-1",
      reason: { type: "LeastLoaded", queueDepth: 0 },
      runnerUp: "worker-2",
      decider: { criterion: "worker id", tiedOn: "queue depth" },
      rejected: { memory: 1 },
    });
    expect(assignment?.candidates).toMatchObject([
      { rank: 1, worker: "worker-1", status: "Idle", queueDepth: 0, freeCpu: 4_000, rejection: null },
      { rank: 2, worker: "worker-2", status: "Idle", queueDepth: 0, freeCpu: 4_000, rejection: null },
      { rank: null, worker: "tiny", rejection: "memory" },
    ]);
  });

  test("agrees with what the ledger recorded, for every assignment", async () => {
    const loop = tellStory();
    const events = loop.blocks.flatMap(eventsOf);
    for (const { event, seq } of events) {
      if (event.kind !== "TaskAssigned") continue;
      const run = loop.state.run(event.run);
      const asked = ["--run", run.id, "--at", String(seq)];
      const { assignment } = await answer(run.graph.idOf(event.node), ...asked);
      expect(assignment).toMatchObject({ seq, attempt: event.attempt, reason: event.reason });
      const [chosen, second] = assignment?.candidates ?? [];
      expect(chosen).toMatchObject({ rank: 1, worker: loop.state.worker(event.worker).id });
      const runnerUp = loop.state.fleet.workers[event.runnerUp]?.id ?? null;
      expect(second?.rank === 2 ? second.worker : null).toBe(runnerUp);
      expect(assignment?.runnerUp).toBe(runnerUp);
    }
  });

  test("says what came of it, up to the event that was asked about", async () => {
    const then = await answer("test", "--at", "12");
    expect(then).toMatchObject({ status: "assigned", aftermath: [] });
    const { aftermath } = await answer("test", "--at", "14");
    expect(aftermath).toMatchObject([
      { type: "ended", outcome: "failed", error: { code: "exit", message: "exit code 1" }, seq: 13 },
      { type: "retried", dueAt: 5_400, seq: 14 },
    ]);
  });

  test("is told of the last attempt, and the earlier ones are mentioned", async () => {
    const { assignment, earlierAttempts, aftermath } = await answer("lint");
    expect(assignment).toMatchObject({ attempt: 2, worker: "worker-1", reason: { type: "ResourceFit" } });
    expect(earlierAttempts).toMatchObject([{ attempt: 1, worker: "worker-2", outcome: "lost" }]);
    expect(aftermath).toMatchObject([{ type: "ended", outcome: "finished" }]);
  });

  test("[P-11] says towards which limits it counts, and how long it waited", async () => {
    const loop = new Loop({ resources: { gpu: 1 } });
    const nodes = ["a", "b"].map((id) => aNode(id, { limits: ["gpu", "tokens"], amounts: [1, 5_000] }));
    loop.turn(1_000, joins("w", { slots: 2 }), submits("r", nodes));
    loop.turn(4_000, loop.finished("r", "a"));
    const first = await answerFrom(loop, "limits-a", "a");
    expect(first).toMatch(/^ {2}limits +1 gpu, 5,000 tokens$/m);
    expect(first).not.toContain("waited");
    expect(await answerFrom(loop, "limits-b", "b")).toMatch(/^ {2}waited +3\.0s after it was ready/m);
  });

  test("is a calm table", async () => {
    const { stdout } = await why("test");
    expect(
      stdout,
    ).toBe(`test was given to worker-1 because it was the only available worker with room (3 cores free, 1
needed).
nightly, run run-1: completed as of event 30, 7.1s into the run

  decided     event 18, +3.4s, 1970-01-01T00:00:05.400Z
  attempt     2
  needs       1 core, 64 MiB, executor shell, zone here
  strategy    least-loaded
  candidates  1 of 3; 1 is lost, 1 has too little memory
  runner-up   none
  decided by  there was no other candidate

  rank  worker    status       holds  free cpu  free mem
     1  worker-1  Busy             1         3   448 MiB  chosen
     -  tiny      Idle             0         1    16 MiB  rejected: too little memory
     -  worker-2  Unreachable      0         4   512 MiB  rejected: lost

  Earlier attempts
  1 on worker-1  event 12  failed: exit: exit code 1

  What came of it
  +4.8s  event 21  finished
`);
  });
});

describe("[P-11] why not yet", () => {
  test.each([
    [
      "big",
      "Capacity",
      "No worker has room for it now: 3 have too little cpu. worker-1 is kept free for it.",
    ],
    ["gpu", "Unsatisfiable", "No worker known could ever run it: of 3 workers, 3 lack a capability."],
    ["held", "Held", "It is held until a person releases it."],
    ["last", "Dependencies", "It needs 2 nodes that have not completed: load (assigned), big (ready)."],
  ])("%s: %s", async (node, code, sentence) => {
    expect((await answer(node)).waiting[0]).toMatchObject({ code, sentence });
    const { stdout } = await why(node);
    expect(stdout).toContain(`${node} does not run yet`);
    expect(stdout).toContain(`\n\n  ${sentence}\n`);
  });

  test("a retry that is not due says when it is", async () => {
    const { waiting, assignment } = await answer("test", "--at", "14");
    expect(waiting[0]).toMatchObject({ code: "NotDue", dueAt: 5_400, attempt: 2 });
    expect(assignment).toMatchObject({ attempt: 1 });
  });
});

describe("[P-11] why it never ran", () => {
  test("skipped: names the node that failed, and how", async () => {
    const { stdout } = await why("announce");
    expect(stdout).toContain("announce was skipped because deploy, which it needs, did not complete.");
    expect(stdout).toContain("skipped: deploy failed: exit: exit code 1: no route to host (event 23)");
  });

  test("cancelled with its run, by itself, or because another failed", async () => {
    const nodes = [aNode("a", { estimateMs: 9_000 }), aNode("b"), aNode("c", { needs: ["b"] })];
    const asked = new Loop();
    asked.turn(1, joins("w"), submits("r", nodes));
    asked.turn(2, { kind: "CancelRequested", run: 0, node: 1 });
    expect(await answerFrom(asked, "asked", "b")).toContain("before it ran: that was requested (event 5)");
    expect(await answerFrom(asked, "asked-c", "c")).toContain("skipped: b was cancelled");
    asked.turn(3, { kind: "CancelRequested", run: 0, node: -1 });
    expect(await answerFrom(asked, "all", "a")).toContain("its worker was told to stop it");

    const strict = new Loop();
    strict.turn(1, joins("w"), submits("r", nodes, { onFailure: "cancel" }));
    strict.turn(2, strict.failed("r", "a"));
    expect(await answerFrom(strict, "strict", "b")).toContain(
      "a failed (event 6), and this run stops at the first failure",
    );
  });
});

test("[G-08] cancelled while its alternatives ran", async () => {
  const loop = new Loop({ speculation: DEFAULT_SPECULATION });
  loop.turn(1, joins("w", { slots: 4 }), submits("r", [aNode("a", { speculate: true })]));
  loop.turn(2, { kind: "CancelRequested", run: 0, node: 0 });
  const text = await answerFrom(loop, "tried", "a");
  expect(text).toContain("a was cancelled while its alternatives ran: that was requested");
});

describe("[G-07] an alternative is asked about by its node's name and its own", () => {
  function voted(): Loop {
    const loop = new Loop({ speculation: { ...DEFAULT_SPECULATION, defaultParallelism: 3 } });
    loop.turn(1, joins("w", { slots: 9 }), submits("r", [aNode("a", { speculate: true })]));
    const of = (node: number, at: number) => ({ run: NO_RUN, node, attempt: 1, startedAt: at }) as const;
    for (const node of [0, 2])
      loop.turn(5, { kind: "AttemptFinished", ...of(node, 2), resultHash: "x", resultBytes: 1 });
    loop.turn(6, { kind: "AttemptCancelled", ...of(1, 2) });
    return loop;
  }

  test("one that ended, and one that the vote went without", async () => {
    const won = await answerFrom(voted(), "won", "a speculate:primary");
    expect(won).toContain("a speculate:primary was given to w because");
    expect(won).toMatch(/^run r: completed as of event/m);
    const lost = await answerFrom(voted(), "lost", "a speculate:alt1");
    expect(lost).toMatch(
      /its worker was told to stop it\n.*was cancelled\n.*cancelled: the vote was taken without it \(event/s,
    );
    expect(lost).toMatch(/: cancelled as of event/);
  });

  test("and is not there before it was made, or where there was none", async () => {
    const path = await writeLedger(voted(), join(directory, "none.jsonl"));
    const asked = (...args: readonly string[]) => runCommand(whyCommand(), path, ...args);
    expect(await asked("a speculate:alt3")).toMatchObject({
      exitCode: 3,
      stderr: "a was not tried in an alternative speculate:alt3",
    });
    expect(await asked("a speculate:alt1", "--at", "3")).toMatchObject({ exitCode: 3 });
    expect(await asked("b speculate:alt1")).toMatchObject({
      exitCode: 3,
      stderr: expect.stringContaining("has a node b speculate:alt1"),
    });
  });
});

describe("the node that is asked about", () => {
  test("is the one of the last run that has it, unless a run is named", async () => {
    const loop = new Loop();
    loop.turn(1, joins("w", { slots: 2 }), submits("one", [aNode("a")]), submits("two", [aNode("a")]));
    const path = await writeLedger(loop, join(directory, "two.jsonl"));
    const runOf = async (...args: readonly string[]): Promise<string> =>
      JSON.parse((await runCommand(whyCommand(), path, "a", "--json", ...args)).stdout).run.id;
    expect(await runOf()).toBe("two");
    expect(await runOf("--run", "one")).toBe("one");
  });

  test("ends with 3 and near names where there is none", async () => {
    expect(await why("tset")).toMatchObject({
      exitCode: 3,
      stdout: "",
      stderr: expect.stringMatching(/has a node tset; did you mean test\?$/),
    });
    expect(await why("fetch", "--run", "run-3")).toMatchObject({
      exitCode: 3,
      stderr: expect.stringMatching(/has no run run-3; did you mean run-1\?$/),
    });
    expect(await why("big", "--at", "10")).toMatchObject({ exitCode: 3 });
  });

  test("must be asked of an event that exists", async () => {
    expect(await why("test", "--at", "31")).toMatchObject({ exitCode: 2 });
  });

  test("cannot act on the terminal", async () => {
    const loop = new Loop();
    loop.turn(1, joins("w\u001b[2J"), submits("r", [aNode("a\u001b[31m")]));
    const text = await answerFrom(loop, "hostile", "a\u001b[31m");
    expect(text).toContain("a\\x1b[31m was given to w\\x1b[2J");
    expect(text).not.toContain("\u001b");
  });
});
