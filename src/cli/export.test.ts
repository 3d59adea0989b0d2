import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Loop } from "../../tests/builders.ts";
import { runCommand } from "../../tests/command-run.ts";
import { tellStory, writeLedger } from "../../tests/story-ledger.ts";
import { canonicalJson, sha256Hex } from "../core/index.ts";
import { type EventRecord, eventsOf } from "../scheduler/index.ts";
import { exportCommand } from "./export.ts";
import { writeRecordLines } from "./records.ts";
import { traceCommand } from "./trace.ts";

let directory: string;
let ledger: string;
let story: Loop;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "orrery-export-"));
  story = tellStory();
  ledger = await writeLedger(story, join(directory, "story.jsonl"));
});

afterEach(() => rm(directory, { recursive: true }));

async function records(): Promise<EventRecord[]> {
  const { stdout } = await runCommand(exportCommand(), ledger, "--json");
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as EventRecord);
}

test("[P-13] every event has its full record, in order", async () => {
  const exported = await records();
  const events = story.blocks.flatMap(eventsOf);
  expect(exported.map(({ kind, logicalTime }) => [kind, logicalTime])).toEqual(
    events.map(({ event, seq }) => [event.kind, seq]),
  );
  for (const [at, record] of exported.entries()) {
    expect(record.payloadHash).toBe(sha256Hex(canonicalJson(record.payload)));
    expect(record.priorStateHash).toBe(events[at]?.block.prev);
    expect(record.postStateHash).toBe(events[at]?.block.hash);
  }
});

test("[P-13] what caused an event is an earlier event of the same export", async () => {
  const exported = await records();
  const timeOf = new Map(exported.map(({ eventId, logicalTime }) => [eventId, logicalTime]));
  for (const { parentEventId, logicalTime } of exported) {
    if (parentEventId !== null) expect(timeOf.get(parentEventId)).toBeLessThan(logicalTime);
  }
  const retried = exported.find(({ kind }) => kind === "TaskRetried");
  const failed = exported.find(({ kind }) => kind === "AttemptFailed");
  expect(retried?.parentEventId).toBe(failed?.eventId);
});

test("[P-13] `trace --format json` has the same records in an array", async () => {
  const { stdout } = await runCommand(traceCommand(), ledger, "--format", "json");
  expect(JSON.parse(stdout)).toEqual(await records());
});

test("a reader that is slow is waited for", async () => {
  const reads: (() => void)[] = [];
  const slow = new Writable({ highWaterMark: 1, write: (_chunk, _encoding, done) => void reads.push(done) });
  let written = false;
  const writing = writeRecordLines(ledger, slow).then(() => {
    written = true;
  });
  await vi.waitUntil(() => reads.length > 0);
  await setImmediate();
  expect(written).toBe(false);
  reads[0]?.();
  await writing;
});

test("the records before a damage are printed, and the exit code is 1", async () => {
  const text = await readFile(ledger, "utf8");
  await writeFile(ledger, text.replace('"morning"', '"evening"'));
  const { stdout, stderr, exitCode } = await runCommand(exportCommand(), ledger);
  expect(exitCode).toBe(1);
  expect(stdout.trimEnd().split("\n")).toHaveLength(26);
  expect(stderr).toContain("damaged at event 27");
});
