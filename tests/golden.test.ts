// Ledgers that earlier builds wrote, and that every later one must still read and replay, and decide again under the same rules.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as core from "../src/core/index.ts";
import * as graph from "../src/graph/index.ts";
import * as ledger from "../src/ledger/index.ts";
import * as scheduler from "../src/scheduler/index.ts";
import { EVENT_KINDS } from "./any-event.ts";
import { GOLDEN, NEWEST, tellGolden } from "./scenarios.mjs";

interface Golden {
  readonly lines: readonly string[];
  readonly head: ledger.Head;
  readonly stateHash: string;
}

function golden(version: string): Golden {
  const kept = JSON.parse(readGolden(`${version}.json`)) as Pick<Golden, "head" | "stateHash">;
  return { lines: readGolden(`${version}.jsonl`).split("\n").slice(0, -1), ...kept };
}

function blocksOf({ lines }: Golden): ledger.Block[] {
  const verifier = new ledger.ChainVerifier();
  return lines.map((line) => {
    const block = verifier.accept(line);
    if ("code" in block) throw new Error(`${block.seq}: ${block.detail}`);
    return block;
  });
}

describe.each(GOLDEN)("the golden ledger %s", (version) => {
  const kept = golden(version);

  test("[P-15] verifies up to its head", () => {
    const last = blocksOf(kept).at(-1);
    expect(last && ledger.headOf(last)).toEqual(kept.head);
  });

  test("[P-15] replays to the state hash that is kept with it", () => {
    const state = new scheduler.State();
    for (const block of blocksOf(kept)) scheduler.replayBlock(state, block);
    expect(scheduler.stateHash(state)).toBe(kept.stateHash);
  });

  // Decisions are promised to be the same for the same rules.
  test.runIf(version === NEWEST)("[P-15] is decided again, event by event", () => {
    const redecider = new scheduler.Redecider();
    expect(blocksOf(kept).map((block) => redecider.check(block))).toEqual(kept.lines.map(() => undefined));
    expect(scheduler.stateHash(redecider.state)).toBe(kept.stateHash);
  });
});

test("[P-01] the story of the newest golden ledger is told again, to the byte", () => {
  const told = tellGolden({ core, graph, ledger, scheduler });
  const { lines, head } = golden(NEWEST);
  expect(told.lines).toEqual(lines);
  expect(told.head).toEqual(head);
});

test("the newest golden ledger holds every kind of event, every reason and every cause of failure", () => {
  const events = blocksOf(golden(NEWEST))
    .flatMap(scheduler.eventsOf)
    .map(({ event }) => event);
  expect(new Set(events.map(({ kind }) => kind))).toEqual(new Set(EVENT_KINDS));
  const reasons = events.flatMap((event) => (event.kind === "TaskAssigned" ? [event.reason] : []));
  const types = reasons.map((reason) => (reason.type === "Affinity" ? reason.because : reason.type));
  expect([...new Set(types)].sort()).toEqual([
    "DataAffinity",
    "DataLocality",
    "Follows",
    "LeastLoaded",
    "OnlyWorkerAvailable",
    "PreviouslyExecuted",
    "Random",
    "ResourceFit",
    "RoundRobin",
    "SameZone",
    "SharedConsumer",
  ]);
  const causes = events.flatMap((event) => (event.kind === "TaskFailed" ? [event.code] : []));
  expect([...new Set(causes)].sort()).toEqual([
    "attempts",
    "corrupt",
    "escalated",
    "expansion",
    "expired",
    "fatal",
    "poison",
  ]);
  const refusals = events.flatMap((event) => (event.kind === "SubmissionsRefused" ? [event.code] : []));
  expect([...new Set(refusals)].sort()).toEqual(["backlog", "credits", "fair-share"]);
});

function readGolden(name: string): string {
  return readFileSync(new URL(`golden/${name}`, import.meta.url), "utf8");
}
