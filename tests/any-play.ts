// Arbitrary stories for the scheduler: what happens to it, turn by turn. A move names nodes and workers by
// picks, which the state at that moment makes concrete; so a story can be cut short and still makes sense.

import fc from "fast-check";
import type { NodeSpec } from "../src/graph/index.ts";
import type { SchedulerConfig } from "../src/ledger/index.ts";
import type { WorkerSpec } from "../src/placement/index.ts";
import { isPlaced, type Run, type State, type Stimulus } from "../src/scheduler/index.ts";
import { anyDag, idAt } from "./any-graph.ts";
import { aWorker, type Loop, STRATEGIES, submits, type Told } from "./builders.ts";

export interface Play {
  readonly config: Partial<SchedulerConfig>;
  readonly workers: readonly WorkerSpec[];
  readonly turns: readonly PlayTurn[];
}

interface PlayTurn {
  readonly waitMs: number;
  readonly moves: readonly Move[];
}

type Move = Submission | Joining | Incident;

interface Submission {
  readonly what: "submit";
  readonly nodes: readonly NodeSpec[];
  readonly zone: string;
  readonly onFailure: "continue" | "cancel";
}

interface Joining {
  readonly what: "join";
  readonly worker: WorkerSpec;
}

interface Incident {
  readonly what: (typeof INCIDENTS)[number];
  readonly pick: number;
  readonly amount: number;
}

/** Repeated ones are more frequent. */
const INCIDENTS = [
  ...(["finish", "finish", "finish", "finish", "finish", "finish", "finish", "finish"] as const),
  ...(["start", "start", "fail", "fail", "load", "load"] as const),
  ...(["time out", "lose attempt", "confirm cancel", "late report", "unknown report"] as const),
  ...(["cancel node", "cancel run", "lose worker", "drain"] as const),
] as const;

const anyConfig: fc.Arbitrary<Partial<SchedulerConfig>> = fc.record({
  strategy: fc.constantFrom(...STRATEGIES),
  preferLocality: fc.boolean(),
  maxQueuePerWorker: fc.nat(2),
  seed: fc.nat(9),
  overloadedAtPermille: fc.constant(900),
  relievedBelowPermille: fc.constant(600),
  backlogLimit: fc.constantFrom(12, 1_000_000),
  rejectThreshold: fc.constantFrom(null, null, 0.5, 1),
  reserveAfterMs: fc.constantFrom(0, 20, 200, 100_000),
  starveNodeMs: fc.constantFrom(0, 30, 300, 100_000),
  maxBackoffMs: fc.constantFrom(30, 1_000),
  keepEndedRuns: fc.constantFrom(0, 1, 100),
});

const anyWorkerSpec: fc.Arbitrary<WorkerSpec> = fc
  .record({
    name: fc.nat(9),
    zone: fc.constantFrom("here", "here", "there"),
    zones: fc.subarray(["here", "there"]),
    executors: fc.constantFrom(["shell"], ["shell"], ["shell"], ["shell", "wasm"], ["wasm"]),
    capabilities: fc.subarray(["gpu", "net"]),
    cpuMillicores: fc.constantFrom(500, 1_000, 2_000),
    memoryBytes: fc.constantFrom(500, 1_000, 2_000),
    slots: fc.integer({ min: 1, max: 4 }),
  })
  .map(({ name, ...options }) => aWorker(`w${idAt(name)}`, options));

const anyOptions = fc.record({
  type: fc.constantFrom("build", "test"),
  executor: fc.constantFrom("shell", "shell", "shell", "shell", "shell", "wasm"),
  cpuMillicores: fc.constantFrom(0, 100, 100, 100, 500, 900, 2_000),
  memoryBytes: fc.constantFrom(0, 100, 600),
  estimateMs: fc.constantFrom(0, 10, 20, 300),
  priority: fc.constantFrom(0 as const, 2 as const, 2 as const, 4 as const),
  capabilities: fc.constantFrom([], [], [], [], [], ["gpu"], ["gpu", "net"]),
  maxAttempts: fc.constantFrom(1, 2, 3),
  backoffMs: fc.constantFrom(0, 10, 100),
  held: fc.constantFrom(...Array<boolean>(11).fill(false), true),
  done: fc.constantFrom(...Array<boolean>(9).fill(false), true),
});

const anyMove: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant("submit" as const),
      nodes: anyDag(12, anyOptions),
      zone: fc.constantFrom("here", "here", "there"),
      onFailure: fc.constantFrom("continue", "cancel"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("join" as const), worker: anyWorkerSpec }) },
  {
    weight: 12,
    arbitrary: fc.record({ what: fc.constantFrom(...INCIDENTS), pick: fc.nat(999), amount: fc.nat(999) }),
  },
);

export const anyPlay: fc.Arbitrary<Play> = fc.record({
  config: anyConfig,
  workers: fc.uniqueArray(anyWorkerSpec, { selector: ({ id }) => id, minLength: 3, maxLength: 6 }),
  turns: fc.array(
    fc.record({
      waitMs: fc.constantFrom(0, 1, 10, 50),
      moves: fc.array(anyMove, { maxLength: 5, size: "medium" }),
    }),
    { minLength: 10, maxLength: 40, size: "medium" },
  ),
});

/** Plays a story to its end. `watch` sees every turn, also those that recorded nothing. */
export function perform(loop: Loop, story: Play, watch: (told: Told, now: number) => void = () => {}): void {
  let now = 0;
  const joining = story.workers.map((worker): Stimulus => ({ kind: "WorkerRegistered", worker }));
  watch(loop.turn(now, ...joining), now);
  let submissions = 0;
  for (const { waitMs, moves } of story.turns) {
    now += waitMs;
    const stimuli = moves.flatMap((move) => stimulusOf(loop.state, move, () => `run ${submissions++}`) ?? []);
    watch(loop.turn(now, ...stimuli), now);
  }
}

function stimulusOf(state: State, move: Move, nextRunId: () => string): Stimulus | undefined {
  if (move.what === "submit") {
    const { nodes, zone, onFailure } = move;
    return submits(nextRunId(), nodes, { zone, onFailure });
  }
  if (move.what === "join") return { kind: "WorkerRegistered", worker: move.worker };
  return incidentOf(state, move);
}

function incidentOf(state: State, { what, pick, amount }: Incident): Stimulus | undefined {
  const workers = [...state.fleet.workers].sort((a, b) => (a.id < b.id ? -1 : 1));
  const worker = chosen(workers, pick)?.number ?? 0;
  const run = chosen([...state.runs.values()], pick);
  const node = run ? amount % run.graph.size : 0;
  switch (what) {
    case "load":
      return { kind: "WorkerLoadReported", worker, loadPermille: amount, saysOverloaded: pick % 10 === 0 };
    case "drain":
      return pick % 3 === 0 ? { kind: "DrainRequested", worker } : undefined;
    case "lose worker":
      return { kind: "WorkerLost", worker, code: "lease" };
    case "cancel node":
      return run && { kind: "CancelRequested", run: run.number, node };
    case "cancel run":
      return run && { kind: "CancelRequested", run: run.number, node: -1 };
    case "unknown report":
      return { kind: "AttemptLost", run: 10_000, node: 0, attempt: 1, startedAt: -1 };
    case "late report": {
      const attempt = run ? Math.max(0, (run.attempt[node] as number) - 1) : 0;
      return { kind: "AttemptTimedOut", run: run?.number ?? 0, node, attempt, startedAt: -1 };
    }
    default:
      return reportOf(state, what, pick, amount);
  }
}

type Reporting = "start" | "finish" | "fail" | "time out" | "lose attempt" | "confirm cancel";

function reportOf(state: State, what: Reporting, pick: number, amount: number): Stimulus | undefined {
  const placed = chosen(placedTasks(state), pick);
  if (!placed) return undefined;
  const [run, node] = placed;
  const attempt = { run: run.number, node, attempt: run.attempt[node] as number, startedAt: state.now };
  switch (what) {
    case "start":
      return { kind: "AttemptStarted", ...attempt };
    case "finish":
      return { kind: "AttemptFinished", ...attempt, resultHash: "", resultBytes: amount * 1_000 };
    case "fail":
      return { kind: "AttemptFailed", ...attempt, code: "exit", message: `exit code ${amount}` };
    case "time out":
      return { kind: "AttemptTimedOut", ...attempt };
    case "lose attempt":
      return { kind: "AttemptLost", ...attempt };
    case "confirm cancel":
      return { kind: "AttemptCancelled", ...attempt };
  }
}

function placedTasks(state: State): [Run, number][] {
  return [...state.runs.values()].flatMap((run) =>
    Array.from(run.status.keys())
      .filter((node) => isPlaced(run.statusOf(node)))
      .map((node): [Run, number] => [run, node]),
  );
}

function chosen<Item>(items: readonly Item[], pick: number): Item | undefined {
  return items[pick % Math.max(1, items.length)];
}
