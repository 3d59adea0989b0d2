// What becomes of results that nodes hand to each other: where they are used, freed, lost, made again and found again.

import { aNode, joins } from "./teller.mjs";

/**
 * @typedef {import("./teller.mjs").Teller} Teller
 * @typedef {import("../src/scheduler/index.ts").Stimulus} Stimulus
 * @typedef {import("../src/graph/index.ts").NodeSpec} NodeSpec
 */

const MIB = 1_048_576;
const OF_DATA = { zone: "data" };

/** @param {Teller} teller */
export function tellData(teller) {
  teller.configure({ order: "graph", fairShare: null, overLimit: "wait", credits: false });
  tellPairs(teller);
  tellChain(teller);
  tellLosses(teller);
  tellReuse(teller);
  tellExpansions(teller);
  tellTransfer(teller);
}

/**
 * Roots that stand together go to one worker, and what is made of them to who has most of it.
 *
 * @param {Teller} teller
 */
function tellPairs(teller) {
  const roots = Array.from({ length: 8 }, (_, at) => aNode(`root ${at}`));
  const pairs = Array.from({ length: 4 }, (_, at) =>
    aNode(`pair ${at}`, { inputs: [`root ${2 * at}`, `root ${2 * at + 1}`], type: "pair" }),
  );
  const all = aNode("all", { inputs: pairs.map(({ id }) => id), keep: true, type: "all" });
  teller.turn(5, joins("data-1", OF_DATA), joins("data-2", OF_DATA));
  teller.turn(5, teller.submission("pairs", [...roots, ...pairs, all], OF_DATA));
  const run = () => teller.run("pairs");
  for (let left = 30; run().outcome === undefined && left > 0; left--) {
    const placed = [...run().status.keys()].filter((node) =>
      teller.parts.scheduler.isPlaced(run().statusOf(node)),
    );
    const ids = placed.map((node) => run().graph.idOf(node));
    teller.turn(80, ...ids.map((id) => holds(teller, "pairs", id, id === "all" ? 2 * MIB : undefined)));
  }
  teller.turn(5, { kind: "RunReleased", run: run().number });
}

/**
 * Short nodes are given to who makes their inputs, ahead of these; and taken back.
 *
 * @param {Teller} teller
 */
function tellChain(teller) {
  const chain = Array.from({ length: 5 }, (_, at) =>
    aNode(`link ${at}`, { inputs: at === 0 ? [] : [`link ${at - 1}`], type: "link", maxAttempts: 2 }),
  );
  teller.turn(5, teller.submission("links", chain, OF_DATA));
  teller.turn(2, holds(teller, "links", "link 0"));
  const failed = { code: "exit", message: "exit code 1" };
  teller.turn(2, { kind: "AttemptFailed", ...teller.attempt("links", "link 1"), ...failed });
  teller.turn(2);
  for (const { id } of chain.slice(1)) teller.turn(2, teller.finished("links", id, 10));
}

/**
 * A result that is lost with its worker, one that is never there, and a task that costs every worker that runs it.
 *
 * @param {Teller} teller
 */
function tellLosses(teller) {
  const made = [aNode("made"), aNode("used", { inputs: ["made"], capabilities: ["far"] })];
  teller.turn(5, teller.submission("lost", made, OF_DATA));
  const workerOf = (/** @type {number} */ node) => teller.run("lost").workerOf(node);
  teller.turn(5, holds(teller, "lost", "made"));
  teller.turn(5, { kind: "WorkerLost", worker: workerOf(0), code: "lease" });
  for (let time = 0; time < 3; time++) {
    const { run, node } = teller.attempt("lost", "made");
    teller.turn(5, holds(teller, "lost", "made"));
    teller.turn(5, { kind: "ChunkLost", run, node, worker: workerOf(0) });
  }
  const deadly = [aNode("deadly", { keep: true, capabilities: ["doomed"] })];
  teller.turn(5, teller.submission("poison", deadly, OF_DATA));
  for (const id of ["doomed-1", "doomed-2", "doomed-3"]) {
    teller.turn(5, joins(id, { ...OF_DATA, capabilities: ["doomed"] }));
    const worker = teller.state.fleet.known().find((worker) => worker.id === id)?.number ?? -1;
    teller.turn(5, { kind: "WorkerLost", worker, code: "lease" });
  }
}

/**
 * What was made before from the same is not made again.
 *
 * @param {Teller} teller
 */
function tellReuse(teller) {
  const cached = { cache: "1", requestHash: teller.parts.core.sha256Hex("arguments") };
  const nodes = [aNode("known", cached), aNode("and more", { ...cached, inputs: ["known"] })];
  teller.turn(5, teller.submission("first", nodes, OF_DATA));
  teller.turn(5, teller.finished("first", "known", 100));
  teller.turn(5, teller.finished("first", "and more", 200));
  teller.turn(5, teller.submission("second", nodes, OF_DATA));
}

/**
 * Tasks that add nodes to their run: one gets the result of its tail, the other fails with what it added.
 *
 * @param {Teller} teller
 */
function tellExpansions(teller) {
  const growing = { mayAdd: 2, keep: true };
  const nodes = [aNode("grows", growing), aNode("fades", growing), aNode("takes", { inputs: ["grows"] })];
  teller.turn(5, joins("data-3", { ...OF_DATA, slots: 4 }), teller.submission("growth", nodes, OF_DATA));
  const added = [aNode("part"), aNode("tail", { inputs: ["part"], keep: true })];
  for (const id of ["grows", "fades"]) {
    const parent = { ...teller.attempt("growth", id), tail: 1 };
    teller.turn(5, { ...teller.submission(`added by ${id}`, added, OF_DATA), parent });
  }
  teller.turn(5, holds(teller, "added by grows", "part"));
  teller.turn(5, holds(teller, "added by grows", "tail"));
  const failed = { code: "exit", message: "exit code 1" };
  teller.turn(5, { kind: "AttemptFailed", ...teller.attempt("added by fades", "part"), ...failed });
  teller.turn(5, holds(teller, "growth", "takes"));
}

/**
 * A result that is brought to where it is needed, and how long that took.
 *
 * @param {Teller} teller
 */
function tellTransfer(teller) {
  const nodes = [aNode("here"), aNode("there", { inputs: ["here"], capabilities: ["far"], keep: true })];
  teller.turn(
    5,
    joins("far", { ...OF_DATA, capabilities: ["far"] }),
    teller.submission("way", nodes, OF_DATA),
  );
  teller.turn(5, holds(teller, "way", "here"));
  const from = teller.run("way").workerOf(0);
  const brought = { movedBytes: MIB, transfers: [/** @type {const} */ ([0, from, -12, 9_500])] };
  teller.turn(30, { ...teller.finished("way", "there", 10), costMicros: 0, ...brought });
}

/**
 * Large results that workers keep for whoever may use them again, until it is too much.
 *
 * @param {Teller} teller
 */
export function tellKept(teller) {
  teller.configure({ cacheBytes: MIB });
  const known = (/** @type {string} */ id) =>
    aNode(id, { cache: "1", requestHash: teller.parts.core.sha256Hex(id), type: id });
  const zone = { zone: "kept" };
  const nodes = [known("large"), aNode("reads", { inputs: ["large"] })];
  teller.turn(5, joins("keeper", { ...zone, slots: 4 }), teller.submission("keeps", nodes, zone));
  teller.turn(5, holds(teller, "keeps", "large"));
  teller.turn(5, teller.finished("keeps", "reads", 10));
  teller.turn(5, teller.submission("finds", nodes, zone));
  teller.turn(5, teller.submission("pushes", [known("other")], zone));
  teller.turn(5, holds(teller, "pushes", "other"));
  teller.turn(5, teller.finished("finds", "reads", 10));
}

/** @param {Teller} teller @param {string} runId @param {string} nodeId @param {number} [movedBytes] @returns {Stimulus} */
function holds(teller, runId, nodeId, movedBytes) {
  const finished = /** @type {const} */ ({ kind: "AttemptFinished", ...teller.attempt(runId, nodeId) });
  const resultHash = teller.parts.core.sha256Hex(nodeId);
  return { ...finished, resultHash, resultBytes: MIB, held: true, ...(movedBytes && { movedBytes }) };
}
