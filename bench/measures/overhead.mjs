// What scheduling costs per task: from a list of nodes to the end of their run, ledger included. The ledger
// is written to a file while the clock stands, so that it can be verified afterwards.
//
// The scheduler is one that is up: it has run other graphs before. What V8 compiled for one that is gone refers to it and is
// thrown away with it, so the first ten thousand turns of another take up to twice as long.

import { wireGraph } from "../../dist/graph/index.js";
import { fingerprint, needsOf, nodesOf } from "../graphs.mjs";
import { LedgerWriter } from "../ledger-writer.mjs";
import { Loop, plainWorkers, submission } from "../loop.mjs";

/** @typedef {import("../graphs.mjs").Shape} Shape */
/** @typedef {import("../../dist/ledger/index.js").Block} Block */

/**
 * @typedef {object} OverheadJob
 * @property {"overhead"} measure
 * @property {Shape} shape
 * @property {number} size
 * @property {number} workers
 * @property {number} warmUps So many smaller graphs run before.
 * @property {string} ledger
 */

/**
 * @typedef {object} MemoryJob
 * @property {"memory"} measure
 * @property {Shape} shape
 * @property {number} size
 * @property {number} workers
 */

const WARM_UP_SIZE = 10_000;
/** To stop the clock after every one would take as long as a part of it. */
const TURNS = 50;

/**
 * @param {OverheadJob} job
 * @returns {{ usPerTask: number, submitUsPerTask: number, fingerprint: number, head: string }}
 */
export function measureOverhead({ shape, size, workers, warmUps, ledger }) {
  const writer = new LedgerWriter(ledger);
  /** @type {Block[]} */
  const blocks = [];
  const keepAll = () => {
    for (const block of blocks) writer.add(block);
    blocks.length = 0;
  };
  const loop = new Loop({}, plainWorkers(workers), (block) => blocks.push(block));
  const small = needsOf(shape, Math.min(size, WARM_UP_SIZE));
  for (let run = 1; run <= warmUps; run++) timeRun(loop, small, `warm-up ${run}`, keepAll);
  const needs = needsOf(shape, size);
  const { ms, submitMs } = timeRun(loop, needs, "bench", keepAll);
  const { head } = loop;
  writer.close(head);
  return {
    usPerTask: (ms / needs.length) * 1_000,
    submitUsPerTask: (submitMs / needs.length) * 1_000,
    fingerprint: fingerprint(needs),
    head: head.hash,
  };
}

/**
 * @param {Loop} loop
 * @param {import("../graphs.mjs").Needs} needs
 * @param {string} runId
 * @param {() => void} keepAll
 */
function timeRun(loop, needs, runId, keepAll) {
  const nodes = nodesOf(needs);
  keepAll();
  global.gc?.();
  const started = performance.now();
  loop.turn([submission(wireGraph(nodes), runId)]);
  const submitMs = performance.now() - started;
  let ms = submitMs;
  while (loop.running.length > 0) {
    keepAll();
    const resumed = performance.now();
    for (let turn = 0; turn < TURNS && loop.running.length > 0; turn++) loop.finishAll();
    ms += performance.now() - resumed;
  }
  keepAll();
  if (loop.state.runById(runId)?.outcome !== "completed") throw new Error("the run did not complete");
  return { ms, submitMs };
}

/**
 * What the state takes per task, once when nothing but the first tasks has begun and once when all have ended;
 * and by how much the process has grown, which is all that can be asked of a peer. Nothing is warmed up, so
 * compiled code counts too.
 *
 * @param {MemoryJob} job
 * @returns {{ waitingBytes: number, endBytes: number, endRssBytes: number }}
 */
export function measureMemory({ shape, size, workers }) {
  const before = usedBytes();
  const rssBefore = process.memoryUsage.rss();
  const loop = new Loop({}, plainWorkers(workers), () => {});
  submit(loop, shape, size);
  const waiting = usedBytes();
  while (loop.running.length > 0) loop.finishAll();
  const end = usedBytes();
  const tasks = loop.state.runs.get(0)?.graph.size ?? Number.NaN;
  return {
    waitingBytes: (waiting - before) / tasks,
    endBytes: (end - before) / tasks,
    endRssBytes: (process.memoryUsage.rss() - rssBefore) / tasks,
  };
}

/**
 * Apart, so that nothing of the submission is still on the stack when memory is looked at.
 *
 * @param {Loop} loop
 * @param {Shape} shape
 * @param {number} size
 */
function submit(loop, shape, size) {
  loop.turn([submission(wireGraph(nodesOf(needsOf(shape, size))))]);
}

/** After a collection. `external` includes array buffers. */
function usedBytes() {
  if (!global.gc) throw new Error("needs --expose-gc");
  global.gc();
  global.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
