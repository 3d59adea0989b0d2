// A ledger that an earlier build wrote, and that every later one must still read, replay and decide again.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as core from "../src/core/index.ts";
import * as graph from "../src/graph/index.ts";
import * as ledger from "../src/ledger/index.ts";
import * as scheduler from "../src/scheduler/index.ts";
import { EVENT_KINDS } from "./any-event.ts";
import { tellGolden } from "./scenarios.mjs";

const LINES = readGolden("v1.jsonl").split("\n").slice(0, -1);
const KEPT = JSON.parse(readGolden("v1.json")) as { head: ledger.Head; stateHash: string };

function goldenBlocks(): ledger.Block[] {
  const verifier = new ledger.ChainVerifier();
  return LINES.map((line) => {
    const block = verifier.accept(line);
    if ("code" in block) throw new Error(`${block.seq}: ${block.detail}`);
    return block;
  });
}

test("[P-15] the golden ledger verifies up to its head", () => {
  const last = goldenBlocks().at(-1);
  expect(last && ledger.headOf(last)).toEqual(KEPT.head);
});

test("[P-15] the golden ledger replays to the state hash that was kept with it", () => {
  const state = new scheduler.State();
  for (const block of goldenBlocks()) scheduler.replayBlock(state, block);
  expect(scheduler.stateHash(state)).toBe(KEPT.stateHash);
});

test("[P-15] the golden ledger is decided again, event by event", () => {
  const redecider = new scheduler.Redecider();
  expect(goldenBlocks().map((block) => redecider.check(block))).toEqual(LINES.map(() => undefined));
  expect(scheduler.stateHash(redecider.state)).toBe(KEPT.stateHash);
});

test("[P-01] the story of the golden ledger is told again, to the byte", () => {
  const told = tellGolden({ core, graph, ledger, scheduler });
  expect(told.lines).toEqual(LINES);
  expect(told.head).toEqual(KEPT.head);
});

test("the golden ledger holds every kind of event and every reason", () => {
  const events = goldenBlocks()
    .flatMap(scheduler.eventsOf)
    .map(({ event }) => event);
  expect(new Set(events.map(({ kind }) => kind))).toEqual(new Set(EVENT_KINDS));
  const reasons = events.flatMap((event) => (event.kind === "TaskAssigned" ? [event.reason] : []));
  const types = reasons.map((reason) => (reason.type === "Affinity" ? reason.because : reason.type));
  expect([...new Set(types)].sort()).toEqual([
    "DataLocality",
    "LeastLoaded",
    "OnlyWorkerAvailable",
    "PreviouslyExecuted",
    "Random",
    "ResourceFit",
    "RoundRobin",
    "SameZone",
  ]);
});

function readGolden(name: string): string {
  return readFileSync(new URL(`golden/${name}`, import.meta.url), "utf8");
}
