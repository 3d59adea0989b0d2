// Fixed stories that must give the same ledgers on every machine and every version of Node, to the byte.
// Plain JavaScript, so that any Node can tell them from the compiled package:
//
//   node tests/scenarios.mjs            prints the hashes of all stories
//   node tests/scenarios.mjs --write    writes tests/golden anew, after a story was changed on purpose
//
// What decides otherwise has a new POLICY_VERSION, and its golden ledger another name: `--write` refuses to write over one
// that the same version would now decide otherwise.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { tellData, tellKept } from "./data-story.mjs";
import { tellRecalls } from "./recall-story.mjs";
import { aNode, joins, Teller } from "./teller.mjs";

/**
 * @typedef {import("./teller.mjs").Parts} Parts
 * @typedef {import("../src/scheduler/index.ts").Stimulus} Stimulus
 * @typedef {import("../src/scheduler/index.ts").Run} Run
 * @typedef {import("../src/ledger/index.ts").SchedulerConfig} SchedulerConfig
 */

/** Ledgers that builds with other rules wrote. */
const EARLIER = ["v1", "v2", "v3", "v4", "v5"];
/** What this build writes. */
export const NEWEST = "v6";
export const GOLDEN = [...EARLIER, NEWEST];

/**
 * Every kind of event, every kind of reason, and ids that are hard on anything that handles text.
 *
 * @param {Parts} parts
 */
export function tellGolden(parts) {
  const teller = new Teller(parts, { maxQueuePerWorker: 0, reserveAfterMs: 500, rejectThreshold: 0.85 });
  const [emoji, half, accent] = ["\u{1f680} launch", "half \ud83d pair", "e\u0301té"];

  // Ties: equal tasks, equal workers; what was submitted first goes to the smaller id.
  teller.configure({ rejectThreshold: null, backlogLimit: 12 });
  teller.turn(5, joins("worker-b"), joins("worker-a"), joins("Ärger", { zones: ["there"], slots: 2 }));
  const nodes = [
    aNode(emoji, { requestHash: parts.core.sha256Hex("launch"), maxAttempts: 3, backoffMs: 250 }),
    aNode(half, { type: 'say "\\"', estimateMs: 1_000 }),
    aNode(accent, { needs: [emoji, half], estimateMs: 2_500 }),
    aNode("\u2028", { needs: [accent], held: true }),
    aNode("carried", { done: true }),
    aNode("after", { needs: ["carried"], priority: 4 }),
  ];
  teller.turn(5, teller.submission("läuft \u{1f600}", nodes, { agent: "ann \udc00" }));
  const runId = "läuft \u{1f600}";

  // Refusals in sum, of two agents.
  const many = Array.from({ length: 13 }, (_, at) => aNode(`n${at}`));
  teller.turn(
    1,
    ...["bob", "ann", "bob"].map((agent, at) => teller.submission(`refused ${at}`, many, { agent })),
  );

  // An attempt that starts, fails and is tried again; others that end in every other way.
  teller.turn(10, { kind: "AttemptStarted", ...teller.attempt(runId, emoji) });
  teller.turn(15, {
    ...{ kind: "AttemptFailed", ...teller.attempt(runId, emoji) },
    ...{ code: "exit", message: "exit code 7: \ufffd not found\n" },
  });
  teller.turn(250);
  teller.turn(10, { kind: "AttemptTimedOut", ...teller.attempt(runId, emoji) });
  teller.turn(500);
  const stale = teller.attempt(runId, emoji);
  teller.turn(5, teller.finished(runId, emoji, 4_096));
  teller.turn(5, { kind: "AttemptLost", ...stale }, { kind: "AttemptLost", ...stale, run: 999 });
  teller.turn(5, teller.finished(runId, half, 70_000));

  // Where the data is, then who did it before, then whose zone it is.
  teller.configure({ strategy: "affinity", preferLocality: true });
  teller.turn(5, teller.finished(runId, accent, 1), teller.finished(runId, "after"));
  teller.turn(
    5,
    teller.submission("affine", [aNode("first"), aNode("second", { needs: ["first"] }), aNode("third")]),
  );
  teller.turn(5, teller.finished("affine", "first", 10), teller.finished("affine", "third"));
  teller.turn(5, teller.finished("affine", "second"));

  const there = [aNode("dort", { type: "never done before" })];
  teller.turn(5, joins("Zuhause", { zone: "there" }), teller.submission("zone", there, { zone: "there" }));
  teller.turn(5, teller.finished("zone", "dort"));

  for (const strategy of /** @type {const} */ (["round-robin", "random", "least-loaded"])) {
    teller.configure({ strategy, preferLocality: false, seed: 7 });
    const equal = ["x", "y", "z"].map((id) => aNode(id));
    teller.turn(5, teller.submission(strategy, equal));
    teller.turn(5, ...equal.map(({ id }) => teller.finished(strategy, id)));
  }

  // Load, overload and relief; a worker that drains; one that is lost with what it has, and one that comes back.
  teller.turn(5, { kind: "WorkerLoadReported", worker: 0, loadPermille: 951, saysOverloaded: false });
  teller.turn(
    5,
    teller.submission("only", [aNode("o1", { maxAttempts: 2 }), aNode("o2", { maxAttempts: 2 })], {
      onFailure: "cancel",
    }),
  );
  teller.turn(5, { kind: "DrainRequested", worker: 1 });
  teller.turn(5, { kind: "WorkerLost", worker: 2, code: "lease" });
  teller.turn(5, { kind: "WorkerLoadReported", worker: 0, loadPermille: 799, saysOverloaded: false });
  teller.turn(5, joins("worker-a", { capabilities: ["gpu"] }), joins("Ärger", { slots: 2 }));
  teller.turn(5, { kind: "AttemptLost", ...teller.attempt("only", "o1") });

  // A large task that small ones keep out, until a worker is kept free for it.
  teller.turn(
    5,
    teller.submission(
      "crowd",
      ["s1", "s2", "s3", "s4"].map((id) => aNode(id, { cpuMillicores: 600, estimateMs: 300 })),
    ),
  );
  teller.turn(5, teller.submission("large", [aNode("whole", { cpuMillicores: 1_000 })]));
  teller.turn(600);
  for (const id of ["s1", "s2", "s3", "s4"]) {
    const run = /** @type {Run} */ (teller.state.runById("crowd"));
    const node = run.graph.indexOf(id) ?? 0;
    if (parts.scheduler.isPlaced(run.statusOf(node))) teller.turn(5, teller.finished("crowd", id));
  }

  // Cancelled: what waits, what runs, a whole run.
  const chain = [aNode("c1"), aNode("c2", { needs: ["c1"] }), aNode("c3", { needs: ["c2"] })];
  teller.turn(5, joins("spare", { slots: 4 }), teller.submission("chain", chain));
  const { run, node } = teller.attempt("chain", "c1");
  teller.turn(5, { kind: "CancelRequested", run, node: node + 1 });
  teller.turn(5, { kind: "CancelRequested", run, node });
  teller.turn(5, { kind: "AttemptCancelled", ...teller.attempt("chain", "c1") });
  teller.turn(5, { kind: "CancelRequested", run: teller.attempt(runId, emoji).run, node: -1 });
  tellAmounts(teller);
  tellAlternatives(teller);
  tellBudget(teller);
  tellQueue(teller);
  tellData(teller);
  tellRecalls(teller);
  tellKept(teller);
  tellClock(teller);
  return teller.told();
}

/**
 * A clock is set back by an hour, and forward again past a deadline.
 *
 * @param {Teller} teller
 */
function tellClock(teller) {
  const HOUR_MS = 3_600_000;
  teller.turn(5, { kind: "ClockCorrected", offsetMs: -HOUR_MS });
  const times = { deadline: teller.now + 5 - HOUR_MS + 1_000, runAt: teller.now + 5 - HOUR_MS + 500 };
  teller.turn(5, teller.task("timed", { capabilities: ["none"] }, times));
  teller.turn(5, { kind: "ClockCorrected", offsetMs: 1_000 - HOUR_MS });
}

/**
 * Amounts of a limit, risks, and room that is kept for what small tasks went ahead of.
 *
 * @param {Teller} teller
 */
function tellAmounts(teller) {
  const zone = "amounts";
  const uses = (/** @type {number} */ tokens) => ({ limits: ["tokens"], amounts: [tokens], estimateMs: 100 });
  teller.configure({ resources: { tokens: 10 }, starveNodeMs: 400 });
  teller.turn(5, joins("amounts-1", { zone, slots: 9 }));
  const small = ["k1", "k2", "k3"].map((id) => aNode(id, { ...uses(4), risk: "high" }));
  teller.turn(5, teller.submission("small", small, { zone }));
  teller.turn(5, teller.submission("big", [aNode("big", { ...uses(9), speculate: true })], { zone }));
  teller.turn(5, teller.finished("small", "k1"));
  teller.turn(600);
  teller.turn(5, teller.finished("small", "k2"), teller.submission("late", [aNode("k4", uses(1))], { zone }));
  teller.turn(5, teller.finished("small", "k3"));
  teller.turn(5, teller.finished("big", "big"));
  teller.turn(5, teller.finished("late", "k4"));
  teller.configure({ resources: {} });
}

/**
 * Nodes that are tried in several ways: one that two agree on, one where the best is taken, one that nobody wins.
 *
 * @param {Teller} teller
 */
function tellAlternatives(teller) {
  const zone = "alternatives";
  const { DEFAULT_SPECULATION } = teller.parts.graph;
  teller.configure({ speculation: { ...DEFAULT_SPECULATION, defaultParallelism: 3 } });
  teller.turn(5, joins("alternatives-1", { zone, slots: 9 }));
  const [asks, agreed] = [
    { speculate: true },
    { needs: ["agreed"], risk: /** @type {const} */ ("critical") },
  ];
  const nodes = [aNode("agreed", asks), aNode("best", agreed), aNode("nobody", { ...asks, needs: ["best"] })];
  teller.turn(5, teller.submission("tries", nodes, { zone }));
  /** @param {number} number @param {string} resultHash @param {number} [confidencePermille] @returns {Stimulus} */
  const ends = (number, resultHash, confidencePermille = 0) => {
    const attempt = teller.attemptAt(teller.state.singles.get(number).id);
    const assessment = {
      verified: true,
      confidencePermille,
      lines: number,
      risk: /** @type {const} */ ("low"),
    };
    return {
      kind: "AttemptFinished",
      ...attempt,
      resultHash,
      resultBytes: number,
      costMicros: 0,
      assessment,
    };
  };
  for (const confidences of [
    [1, 1],
    [100, 900, 0],
    [0, 0, 0],
  ]) {
    const first = teller.state.nextTask - 3;
    for (const [at, confidence] of confidences.entries())
      teller.turn(5, ends(first + at, confidence === 1 ? "same" : `result ${at}`, confidence));
  }
  teller.turn(5, { kind: "CancelRequested", run: -1, node: teller.state.nextTask - 1 });
  for (const { id } of [...teller.state.singles.all.values()])
    teller.turn(5, { kind: "AttemptCancelled", ...teller.attemptAt(id) });
  teller.configure({ speculation: { ...DEFAULT_SPECULATION, enabled: false } });
}

/**
 * A task that uses up what it may consume, and is recharged.
 *
 * @param {Teller} teller
 */
function tellBudget(teller) {
  const zone = "budgets";
  teller.turn(5, joins("budgets-1", { zone }));
  const budget = teller.parts.graph.taskBudget({ ops: 10 }, true);
  teller.turn(5, teller.task("metered", { budget }, { zone }));
  const attempt = teller.attemptAt("metered");
  const { startedAt: _, ...of } = attempt;
  teller.turn(5, { kind: "TaskBudgetExhausted", ...of, part: "ops", recharges: 0 });
  teller.turn(5, { kind: "TaskRecharged", ...of, amounts: [5, 0, 0, 0, 1] });
  const finished = /** @type {const} */ ({ kind: "AttemptFinished", resultHash: "", resultBytes: 0 });
  teller.turn(5, { ...finished, ...attempt, costMicros: 0, used: [15, 0, 0, 0, 1] });
}

/**
 * Tasks of no run: shares, limits, credits, pauses, deadlines, and all orders.
 *
 * @param {Teller} teller
 */
function tellQueue(teller) {
  const zone = "queue";
  const ofQueue = { zone };
  teller.configure({
    order: "hrrn",
    fairShare: 3,
    credits: true,
    costThresholdMicros: 500,
    backlogLimit: 100,
  });
  teller.turn(5, joins("queue-1", { zone, slots: 8 }), joins("queue-2", { zone, slots: 2 }));
  teller.turn(5, { kind: "CreditsGranted", zone, agent: "ann", micros: 25_000 });
  teller.turn(5, { kind: "AgentConfigured", zone, agent: "bob", max: 1 });
  teller.turn(
    5,
    { kind: "AgentConfigured", zone, agent: "eve", max: null },
    { kind: "ZoneConfigured", zone, max: 2 },
  );
  teller.turn(5, { kind: "ZoneConfigured", zone }, { kind: "AgentConfigured", zone, agent: "eve" });
  const limit = /** @type {const} */ ({ kind: "LimitConfigured", zone, name: "openai" });
  teller.turn(5, { ...limit, concurrency: 2, rateCount: 2, ratePeriodMs: 1_000 });
  teller.turn(5, { kind: "QueuePaused", zone, executor: "shell" });
  const named = { limits: ["openai"], maxAttempts: 2, backoffMs: 40 };
  teller.turn(
    5,
    teller.task("boosted", { ...named, priority: 4 }, { ...ofQueue, boostMicros: 20_000 }),
    teller.task("too dear", {}, { ...ofQueue, boostMicros: 10_000 }),
    teller.task("plain", named, ofQueue),
    teller.task("third", named, ofQueue),
    teller.task("later", {}, { ...ofQueue, runAt: teller.now + 300 }),
    teller.task("short", { estimateMs: 1 }, { ...ofQueue, agent: "bob", requestState: "io_wait" }),
    teller.task("shorter", { estimateMs: 1, priority: 0 }, { ...ofQueue, agent: "bob" }),
    teller.task("hopeless", { capabilities: ["none"] }, { ...ofQueue, deadline: teller.now + 200 }),
  );
  teller.turn(5, { kind: "QueueResumed", zone, executor: "shell" });
  teller.turn(5, { kind: "AuditRecorded", hash: "ad".repeat(32) });
  teller.turn(20, teller.ended("shorter", 900));
  teller.turn(20, teller.ended("boosted"));
  teller.turn(400);
  const failed = { code: "exit", message: "exit code 1", costMicros: 7 };
  teller.turn(5, { kind: "AttemptFailed", ...teller.attemptAt("plain"), ...failed });
  teller.turn(1_000);
  teller.turn(5, { kind: "AttemptFailed", ...teller.attemptAt("third"), ...failed, retry: false });
  teller.turn(5, teller.task("third", named, { ...ofQueue, attempts: 1, requeued: true }));
  teller.turn(5, { ...limit, concurrency: 1, rateCount: 7, ratePeriodMs: 60_000 });
  teller.configure({ order: "classic", ageEveryMs: 100, ageStepMs: 50, overLimit: "reject" });
  teller.turn(
    5,
    ...[3, 1, 4].map((priority) =>
      teller.task(`p${priority}`, { priority: /** @type {3} */ (priority) }, ofQueue),
    ),
  );
  teller.turn(5, { kind: "CancelRequested", run: -1, node: teller.attemptAt("later").node });
  teller.turn(150, teller.ended("short", 1), teller.task("refused", {}, ofQueue));
  teller.turn(5, { ...limit, concurrency: null, rateCount: null, ratePeriodMs: 1 });
  teller.turn(5, {
    kind: "WorkerLost",
    worker: teller.state.fleet.known().find(({ id }) => id === "queue-1")?.number ?? -1,
    code: "left",
  });
}

/**
 * A long story that a seed tells: workers that come, go, drain and are overloaded, graphs, and attempts that
 * end in every way.
 *
 * @param {Parts} parts
 * @param {SchedulerConfig["strategy"]} strategy
 * @param {number} seed
 */
function tellSeeded(parts, strategy, seed) {
  let drawn = seed;
  const below = (/** @type {number} */ limit) => {
    drawn = parts.core.mix32(drawn + 0x9e3779b9);
    return drawn % limit;
  };
  const teller = new Teller(parts, {
    ...{ strategy, seed, preferLocality: seed % 2 === 1, maxQueuePerWorker: 2 },
    ...{ reserveAfterMs: 300, rejectThreshold: 0.85, keepEndedRuns: 5 },
  });
  const joining = (/** @type {number} */ at) =>
    joins(`wörker-${at}`, {
      ...{ slots: 1 + below(4), cpuMillicores: 500 + 500 * below(4), memoryBytes: 1_000 + 1_000 * below(3) },
      ...{ zone: below(4) === 0 ? "there" : "here", zones: below(2) ? ["there"] : [] },
      ...{
        capabilities: below(3) === 0 ? ["gpu"] : [],
        executors: below(5) === 0 ? ["shell", "wasm"] : ["shell"],
      },
    });
  const drawNode = (/** @type {number} */ at) =>
    aNode(`n${at}${at % 7 === 0 ? "\u{1f9ea}" : ""}`, {
      needs: at === 0 ? [] : Array.from({ length: below(3) }, () => `n${idBelow(below(at))}`),
      ...{ type: `type-${below(4)}`, cpuMillicores: 100 * (1 + below(10)), memoryBytes: 100 * below(8) },
      ...{ estimateMs: 10 * (1 + below(50)), priority: /** @type {const} */ ([1, 2, 2, 3])[below(4)] ?? 2 },
      ...{ capabilities: below(8) === 0 ? ["gpu"] : [], maxAttempts: 1 + below(3), backoffMs: 20 * below(4) },
      executor: below(12) === 0 ? "wasm" : "shell",
    });
  const idBelow = (/** @type {number} */ at) => `${at}${at % 7 === 0 ? "\u{1f9ea}" : ""}`;
  let runs = 0;
  const submitting = () =>
    teller.submission(
      `run ${runs++}`,
      Array.from({ length: 5 + below(40) }, (_, at) => drawNode(at)),
      {
        zone: below(5) === 0 ? "there" : "here",
        ...(below(3) === 0 ? { onFailure: /** @type {const} */ ("cancel") } : {}),
      },
    );
  teller.turn(1, ...Array.from({ length: 40 }, (_, at) => joining(at)), submitting(), submitting());
  for (let turn = 0; turn < 150; turn++) {
    teller.turn(below(60), ...happenings(teller, below, joining, submitting));
  }
  return teller.told();
}

/**
 * @param {Teller} teller
 * @param {(limit: number) => number} below
 * @param {(at: number) => Stimulus} joining
 * @param {() => Stimulus} submitting
 * @returns {Stimulus[]}
 */
function happenings({ state, now, parts }, below, joining, submitting) {
  const { isPlaced } = parts.scheduler;
  const open = [...state.runs.values()].filter(({ outcome }) => outcome === undefined);
  const placed = open.flatMap((run) =>
    [...run.status.keys()]
      .filter((node) => isPlaced(run.statusOf(node)))
      .map((node) => ({ run: run.number, node, attempt: run.attempt[node] ?? 0, startedAt: now - 1 })),
  );
  const reports = placed.filter(() => below(4) === 0).map((attempt) => reportOf(attempt, below));
  const worker = below(state.fleet.workers.length);
  const run = open[below(Math.max(1, open.length))]?.number ?? 0;
  /** @type {Record<number, () => Stimulus>} */
  const incidents = {
    0: submitting,
    1: submitting,
    2: () => joining(below(45)),
    3: () => ({ kind: "WorkerLost", worker, code: "lease" }),
    4: () => ({ kind: "WorkerLoadReported", worker, loadPermille: below(1_001), saysOverloaded: false }),
    5: () => ({ kind: "DrainRequested", worker }),
    6: () => ({ kind: "CancelRequested", run, node: below(5) }),
    7: () => (below(4) === 0 ? { kind: "CancelRequested", run, node: -1 } : submitting()),
  };
  const incident = incidents[below(16)];
  return incident ? [...reports, incident()] : reports;
}

/**
 * @param {{ run: number, node: number, attempt: number, startedAt: number }} attempt
 * @param {(limit: number) => number} below
 * @returns {Stimulus}
 */
function reportOf(attempt, below) {
  switch (below(10)) {
    case 0:
      return { kind: "AttemptFailed", ...attempt, code: "exit", message: "exit code 1" };
    case 1:
      return { kind: "AttemptTimedOut", ...attempt };
    case 2:
      return { kind: "AttemptLost", ...attempt };
    case 3:
      return { kind: "AttemptStarted", ...attempt };
    case 4:
      return {
        kind: "AttemptFinished",
        ...attempt,
        attempt: attempt.attempt + 1,
        resultHash: "",
        resultBytes: 0,
      };
    default:
      return { kind: "AttemptFinished", ...attempt, resultHash: "", resultBytes: 1_000 * below(50) };
  }
}

/**
 * A long story of tasks of no run, in one of the orders.
 *
 * @param {Parts} parts
 * @param {SchedulerConfig["order"]} order
 */
function tellTasks(parts, order) {
  let drawn = order.length;
  const below = (/** @type {number} */ limit) => {
    drawn = parts.core.mix32(drawn + 0x9e3779b9);
    return drawn % limit;
  };
  const teller = new Teller(parts, {
    ...{ order, fairShare: 4, credits: true, costThresholdMicros: 300, costWindowMs: 900, ageEveryMs: 200 },
    ...{
      ageStepMs: 50,
      starveBackgroundMs: 400,
      starveBatchMs: 700,
      reserveAfterMs: 250,
      jitterPermille: 250,
    },
  });
  const agent = () => `agent ${below(4)}`;
  const limit = /** @type {const} */ ({ kind: "LimitConfigured", zone: "here", name: "db" });
  teller.turn(1, { ...limit, concurrency: 3, rateCount: 2, ratePeriodMs: 70 });
  for (let at = 0; at < 4; at++)
    teller.turn(1, { kind: "CreditsGranted", zone: "here", agent: `agent ${at}`, micros: 200_000 });
  for (let at = 0; at < 6; at++) teller.turn(1, joins(`wörker-${at}`, { slots: 2 }));
  for (let turn = 0; turn < 200; turn++) {
    const placed = [...teller.state.singles.all.values()].filter(({ status }) =>
      parts.scheduler.isPlaced(status),
    );
    const reports = placed
      .filter(() => below(3) === 0)
      .map(({ id }) =>
        below(5) === 0 ? reportOf(teller.attemptAt(id), below) : teller.ended(id, below(90)),
      );
    const tasks = Array.from({ length: below(4) }, (_, at) =>
      teller.task(
        `${below(10_000)} ${turn}.${at}`,
        {
          ...{ priority: /** @type {const} */ ([0, 1, 2, 3, 4])[below(5)] ?? 2, estimateMs: 1 + below(400) },
          ...{ cpuMillicores: 100 + 300 * below(3), maxAttempts: 1 + below(3), backoffMs: 15 * below(3) },
          limits: below(3) === 0 ? ["db"] : [],
        },
        {
          ...{ agent: agent(), boostMicros: 10_000 * below(3) },
          deadline: below(4) === 0 ? teller.now + below(900) : -1,
          runAt: below(6) === 0 ? teller.now + below(300) : -1,
        },
      ),
    );
    teller.turn(below(60), ...reports, ...tasks);
  }
  return teller.told();
}

/**
 * The hashes of the ledgers and states of all stories, by name.
 *
 * @param {Parts} parts
 */
export function hashStories(parts) {
  /** @type {Record<string, { ledger: string, state: string }>} */
  const hashes = {};
  const note = (/** @type {string} */ name, /** @type {{ lines: string[], stateHash: string }} */ told) => {
    const text = told.lines.map((line) => `${line}\n`).join("");
    hashes[name] = { ledger: createHash("sha256").update(text).digest("hex"), state: told.stateHash };
  };
  note("golden", tellGolden(parts));
  for (const strategy of /** @type {const} */ (["round-robin", "least-loaded", "random", "affinity"])) {
    for (const seed of [1, 2]) note(`${strategy} ${seed}`, tellSeeded(parts, strategy, seed));
  }
  for (const order of /** @type {const} */ (["graph", "hrrn", "classic"]))
    note(order, tellTasks(parts, order));
  return hashes;
}

/**
 * Whether the newest ledger that is kept would be decided in the same way.
 *
 * @param {Parts} parts
 */
function keepsItsRules({ ledger, scheduler }) {
  if (!existsSync(new URL(`golden/${NEWEST}.jsonl`, import.meta.url))) return true;
  const verifier = new ledger.ChainVerifier();
  const redecider = new scheduler.Redecider();
  return linesOf(`${NEWEST}.jsonl`).every((line) => {
    const block = verifier.accept(line);
    if ("code" in block) throw new Error(block.detail);
    return redecider.check(block) === undefined;
  });
}

/** @param {string} name */
function linesOf(name) {
  return readFileSync(new URL(`golden/${name}`, import.meta.url), "utf8")
    .split("\n")
    .slice(0, -1);
}

/**
 * Where an earlier ledger ends. Its lines stay as they were written; what a state holds, and so its hash, changes.
 *
 * @param {Parts} parts
 * @param {string} name
 */
function replayed({ ledger, scheduler }, name) {
  const verifier = new ledger.ChainVerifier();
  const state = new scheduler.State();
  for (const line of linesOf(name)) {
    const block = verifier.accept(line);
    if ("code" in block) throw new Error(block.detail);
    scheduler.replayBlock(state, block);
  }
  return { head: verifier.head, stateHash: scheduler.stateHash(state) };
}

async function main() {
  const load = async (/** @type {keyof Parts} */ part) => [
    part,
    /** @type {unknown} */ (await import(new URL(`../dist/${part}/index.js`, import.meta.url).href)),
  ];
  const names = /** @type {const} */ (["core", "graph", "ledger", "scheduler"]);
  const parts = /** @type {Parts} */ (Object.fromEntries(await Promise.all(names.map(load))));
  const hashes = hashStories(parts);
  if (process.argv[2] === "--write") {
    if (!keepsItsRules(parts))
      throw new Error(`${NEWEST} is decided otherwise: raise POLICY_VERSION, and keep it`);
    const { lines, head, stateHash } = tellGolden(parts);
    const write = (/** @type {string} */ name, /** @type {string} */ text) =>
      writeFileSync(new URL(`golden/${name}`, import.meta.url), text);
    const json = (/** @type {unknown} */ value) => `${JSON.stringify(value, null, 2)}\n`;
    write(`${NEWEST}.jsonl`, lines.map((line) => `${line}\n`).join(""));
    write(`${NEWEST}.json`, json({ head, stateHash }));
    for (const name of EARLIER) write(`${name}.json`, json(replayed(parts, `${name}.jsonl`)));
    write("stories.json", json(hashes));
  } else {
    process.stdout.write(`${JSON.stringify(hashes)}\n`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
