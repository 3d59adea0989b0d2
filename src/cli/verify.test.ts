import { appendFile, mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { aConfig, aNode, joins, Loop, submits, submitsTask } from "../../tests/builders.ts";
import { type CommandResult, runCommand } from "../../tests/command-run.ts";
import { tellStory, writeLedger, writeSnapshot } from "../../tests/story-ledger.ts";
import {
  type Block,
  BlockWriter,
  GENESIS,
  headOf,
  type LedgerEvent,
  POLICY_VERSION,
} from "../ledger/index.ts";
import { eventsOf, stateHash } from "../scheduler/index.ts";
import { headPath, snapshotPath } from "../store/index.ts";
import type { Verification } from "./verification.ts";
import { verifyCommand } from "./verify.ts";

let directory: string;
let ledger: string;
let story: Loop;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "orrery-verify-"));
  story = tellStory();
  ledger = await writeLedger(story, join(directory, "story.jsonl"));
});

afterEach(() => rm(directory, { recursive: true }));

function verify(...options: readonly string[]): Promise<CommandResult> {
  return runCommand(verifyCommand(), ledger, ...options);
}

async function verification(...options: readonly string[]): Promise<Verification> {
  return JSON.parse((await verify("--json", ...options)).stdout) as Verification;
}

async function editLines(edit: (lines: string[]) => string[]): Promise<void> {
  const lines = (await readFile(ledger, "utf8")).split("\n").slice(0, -1);
  await writeFile(ledger, `${edit(lines).join("\n")}\n`);
}

/** Seals the same blocks with other events: a chain that holds over decisions that were never made. */
async function forge(change: (event: LedgerEvent, seq: number) => LedgerEvent): Promise<void> {
  let head = GENESIS;
  const lines = story.blocks.map((block) => {
    const writer = new BlockWriter();
    for (const { event, seq } of eventsOf(block)) writer.add(change(event, seq));
    const sealed = writer.seal(head, 1, block.now);
    head = headOf(sealed);
    return sealed.line;
  });
  await writeFile(ledger, `${lines.join("\n")}\n`);
  await rm(headPath(ledger));
}

describe("[P-15] a ledger that is as it was written", () => {
  test("is sound, and the replayed state has the hash of the state that wrote it", async () => {
    const result = await verification();
    expect(result).toMatchObject({
      ok: true,
      blocks: story.blocks.length,
      events: story.state.seq,
      head: story.head,
      chain: "ok",
      stateHash: stateHash(story.state),
      headFile: true,
      tornBytes: 0,
      snapshot: null,
      damage: null,
    });
  });

  test("says so on stdout and ends with 0", async () => {
    const { stdout, stderr, exitCode } = await verify();
    expect(stdout).toMatch(/^✓ .*story\.jsonl is sound\n/);
    expect(stdout).toContain(`head      ${story.state.seq}  ${story.head.hash}`);
    expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
  });

  test("has the same decisions when they are decided again", async () => {
    const { ok, redecided } = await verification("--redecide");
    expect({ ok, redecided }).toMatchObject({ ok: true, redecided: { decisions: 15, difference: null } });
  });

  test("may lack its head, but then its end cannot be checked", async () => {
    await rm(headPath(ledger));
    await editLines((lines) => lines.slice(0, -2));
    const { stderr, exitCode } = await verify();
    expect(exitCode).toBe(0);
    expect(stderr).toBe("warning: there is no head file beside the ledger: the end cannot be checked\n");
  });

  test("may end in a block that a crash left unfinished", async () => {
    await appendFile(ledger, '{"v":1,"epoch":1');
    const { stderr, exitCode } = await verify();
    expect(exitCode).toBe(0);
    expect(stderr).toContain("the next run drops its 16 bytes");
  });
});

describe("[P-15] the first bad event is named:", () => {
  const lineOf = (seq: number): number => story.blocks.findIndex((block) => headOf(block).seq >= seq) + 1;

  async function expectDamage(expected: Partial<Verification["damage"]>): Promise<void> {
    const { ok, damage } = await verification();
    expect(ok).toBe(false);
    expect(damage).toMatchObject(expected as object);
    const { stdout, exitCode } = await verify();
    expect(exitCode).toBe(1);
    expect(stdout).toContain(`event ${expected?.seq} is the first bad one`);
    expect(stdout).toMatch(/^ {2}to do {3}\w/m);
  }

  test("one that was changed", async () => {
    await editLines((lines) =>
      lines.map((line) => line.replace('"AttemptFinished",0,1,1', '"AttemptFinished",0,2,1')),
    );
    const seq = seqOf((event) => event.kind === "AttemptFinished" && event.node === 1);
    await expectDamage({ seq, code: "changed", line: lineOf(seq) });
  });

  test("one that was removed", async () => {
    await editLines((lines) => lines.toSpliced(3, 1));
    await expectDamage({ seq: (story.blocks[3] as Block).seq, code: "out of order", line: 4 });
  });

  test("two that changed places", async () => {
    await editLines((lines) => lines.toSpliced(3, 2, lines[4] as string, lines[3] as string));
    await expectDamage({ seq: (story.blocks[3] as Block).seq, code: "out of order", line: 4 });
  });

  test("the end is missing", async () => {
    await editLines((lines) => lines.slice(0, -1));
    await expectDamage({ seq: (story.blocks.at(-1) as Block).seq, code: "truncated", line: null });
  });

  test("the file is empty", async () => {
    await truncate(ledger);
    await rm(headPath(ledger));
    await expectDamage({ seq: 1, code: "empty" });
  });

  test.each(["hello\n", "hello"])("the file is no ledger: %j", async (text) => {
    await writeFile(ledger, text);
    await rm(headPath(ledger));
    await expectDamage({ seq: 1, code: "not a block", line: 1 });
  });

  test("a fact that cannot follow from those before it", async () => {
    const seq = seqOf((event) => event.kind === "AttemptFinished" && event.node === 1);
    await forge((event, at) => (at === seq ? ({ ...event, node: 4 } as LedgerEvent) : event));
    await expectDamage({ seq, code: "cannot be replayed", line: lineOf(seq) });
    expect((await verification()).chain).toBe("ok");
  });
});

describe("[P-15] the snapshot beside a ledger", () => {
  async function editSnapshot(
    edit: (snapshot: { stateHash: string; state: { now: number }; head: object }) => void,
  ) {
    const snapshot = JSON.parse(await readFile(snapshotPath(ledger), "utf8"));
    edit(snapshot);
    await writeFile(snapshotPath(ledger), JSON.stringify(snapshot));
  }

  beforeEach(() => writeSnapshot(tellStory("half"), ledger));

  test("is checked against the replayed state", async () => {
    const { ok, snapshot } = await verification();
    expect({ ok, snapshot }).toEqual({ ok: true, snapshot: { seq: tellStory("half").state.seq, ok: true } });
  });

  test.each([
    ["another state hash", (snapshot: { stateHash: string }) => (snapshot.stateHash = "0".repeat(64))],
    ["not what its state hash was taken of", (snapshot: { state: { now: number } }) => snapshot.state.now++],
    [
      "of another chain",
      (snapshot: { head: object }) => Object.assign(snapshot.head, { hash: "f".repeat(64) }),
    ],
    ["behind its end", (snapshot: { head: object }) => Object.assign(snapshot.head, { seq: 1_000 })],
    ["where no block ends", (snapshot: { head: object }) => Object.assign(snapshot.head, { seq: 3 })],
  ])("is damage if it is %s", async (detail, edit) => {
    await editSnapshot(edit);
    const { ok, damage, snapshot } = await verification();
    expect({ ok, code: damage?.code, sound: snapshot?.ok }).toEqual({
      ok: false,
      code: "snapshot differs",
      sound: false,
    });
    expect(damage?.detail).toContain(detail);
  });

  test("is sound with tasks of no run in it", async () => {
    const loop = tellStory("half");
    loop.turn(4_400, submitsTask("alone"));
    expect(loop.state.singles.all.size).toBe(1);
    ledger = await writeLedger(loop, join(directory, "alone.jsonl"));
    await writeSnapshot(loop, ledger);
    expect(await verification()).toMatchObject({ ok: true, snapshot: { ok: true } });
  });

  test("is none where it cannot be read", async () => {
    await writeFile(snapshotPath(ledger), "{");
    expect(await verification()).toMatchObject({ ok: true, snapshot: null });
  });
});

describe("[P-15] --redecide", () => {
  test("names the first event that would be decided otherwise, and shows both", async () => {
    const seq = seqOf((event) => event.kind === "TaskAssigned" && event.node === 4);
    await forge((event, at) =>
      at === seq && event.kind === "TaskAssigned" ? { ...event, worker: 1 } : event,
    );
    expect((await verification()).ok).toBe(true);
    const { ok, damage, redecided } = await verification("--redecide");
    expect({ ok, damage }).toEqual({ ok: false, damage: null });
    expect(redecided?.difference).toMatchObject({
      seq,
      recorded: { kind: "TaskAssigned", node: 4, worker: 1 },
      decided: { kind: "TaskAssigned", node: 4, worker: 0 },
    });
    const { stdout, exitCode } = await verify("--redecide");
    expect(exitCode).toBe(1);
    expect(stdout).toContain(`is intact, but event ${seq} would be decided otherwise`);
    expect(stdout).toMatch(/recorded {2}\{"kind":"TaskAssigned".*"worker":1/);
    expect(stdout).toMatch(/decided {3}\{"kind":"TaskAssigned".*"worker":0/);
  });

  test("takes what other rules decided as it is, and decides again what came after an upgrade", async () => {
    const seq = seqOf((event) => event.kind === "TaskAssigned" && event.node === 4);
    await forge((event, at) => {
      if (event.kind === "SchedulerConfigured")
        return { ...event, config: { ...event.config, policyVersion: 7 } };
      return at === seq && event.kind === "TaskAssigned" ? { ...event, worker: 1 } : event;
    });
    const { stderr, exitCode } = await verify("--redecide");
    expect(exitCode).toBe(0);
    expect(stderr).toContain(
      `15 decisions of policy 7 taken as recorded: this program has policy ${POLICY_VERSION}`,
    );

    const upgraded = new Loop({ policyVersion: 7 });
    upgraded.turn(1, { kind: "SchedulerConfigured", config: aConfig({}) });
    upgraded.turn(2, joins("w"), submits("r", [aNode("a")]));
    const file = await writeLedger(upgraded, join(directory, "upgraded.jsonl"));
    const { stdout } = await runCommand(verifyCommand(), file, "--redecide", "--json");
    const { redecided } = JSON.parse(stdout) as Verification;
    expect(redecided).toMatchObject({ decisions: expect.any(Number), difference: null });
    expect(redecided?.decisions).toBeGreaterThan(0);
  });
});

test("a missing file ends with 3, a directory with 2", async () => {
  expect(await runCommand(verifyCommand(), join(directory, "none"))).toMatchObject({
    exitCode: 3,
    stdout: "",
  });
  expect(await runCommand(verifyCommand(), directory)).toMatchObject({ exitCode: 2, stdout: "" });
});

function seqOf(claim: (event: LedgerEvent) => boolean): number {
  const found = story.blocks.flatMap(eventsOf).find(({ event }) => claim(event));
  if (!found) throw new Error("the story has no such event");
  return found.seq;
}
