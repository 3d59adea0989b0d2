import { type DataTerms, type Inputs, mayQueueNear, type Rates, termsOf } from "./affinity.ts";
import { randomScore, type Subject } from "./choose.ts";
import { hasCapabilities, hasPlace, type Needs, servesExecutor, servesZone, takesNoSlot } from "./demand.ts";
import type { Fleet } from "./fleet.ts";
import type { Rejection } from "./reason.ts";
import { byName, type TaskKey, type Worker, type WorkerStatus } from "./worker.ts";

/** One worker in the full answer to "why here". */
export interface CandidateRow {
  readonly worker: string;
  /** The number of the worker, since several zones may have workers of one id. */
  readonly number: number;
  readonly status: WorkerStatus;
  /** Why it was no candidate; undefined for those that were. */
  readonly rejection: Rejection | undefined;
  /** 1 for the chosen one; undefined for the rejected. */
  readonly rank: number | undefined;
  readonly queueDepth: number;
  readonly freeCpu: number;
  readonly freeMemory: number;
  readonly locality: number;
  readonly executedBefore: boolean;
  readonly sameZone: boolean;
  readonly score: number;
  /** Where inputs of the task are on workers. */
  readonly data?: DataTerms;
}

/** The inputs of the task that are on workers, and what they count for. */
interface Near {
  readonly inputs: Inputs;
  readonly rates: Rates;
}

/**
 * Every worker with its rejection or its rank, in the order of ids.
 *
 * Written the plain way, worker by worker, and without the indexes that decisions use: the two must agree,
 * and a property test holds them together.
 */
export function candidateTable(
  fleet: Fleet,
  needs: Needs,
  key: TaskKey,
  subject: Subject,
  atOnce = false,
  near?: Near,
): CandidateRow[] {
  const workers = fleet.known().sort(byName);
  const rejections = new Map<Worker, Rejection | undefined>(
    workers.map((worker) => [worker, rejectionOf(fleet, worker, needs, key, atOnce)]),
  );
  const returnedBy = fleet.returned.get(key);
  const others = workers.filter((worker) => worker !== returnedBy && rejections.get(worker) === undefined);
  if (returnedBy && others.length > 0 && rejections.get(returnedBy) === undefined)
    rejections.set(returnedBy, "returned");
  // Where nobody has room, it waits until somebody has.
  const hasTaker = workers.some((worker) => rejections.get(worker) === undefined);
  for (const [worker, rejection] of near && hasTaker ? rejections : [])
    if (
      rejection === "queue" &&
      worker !== returnedBy &&
      near &&
      mayQueueNear(fleet, worker, needs, near.inputs)
    )
      rejections.set(worker, undefined);
  const accepted = workers.filter((worker) => rejections.get(worker) === undefined);
  const ranked = accepted.toSorted(near ? byAffinity(near) : comparator(fleet, workers, subject));
  return workers.map((worker) => ({
    worker: worker.id,
    number: worker.number,
    status: worker.status,
    rejection: rejections.get(worker),
    rank: ranked.includes(worker) ? ranked.indexOf(worker) + 1 : undefined,
    queueDepth: worker.queueDepth,
    freeCpu: worker.freeCpu,
    freeMemory: worker.freeMemory,
    locality: subject.locality?.get(worker.number) ?? 0,
    executedBefore: worker.executed.has(subject.type),
    sameZone: worker.spec.zone === subject.zone,
    score: randomScore(fleet, worker, subject.nodeId),
    ...(near && { data: termsOf(worker, near.inputs, near.rates) }),
  }));
}

/** `atOnce`: a place in a worker's queue will not do. */
export function rejectionOf(
  fleet: Fleet,
  worker: Worker,
  needs: Needs,
  key: TaskKey,
  atOnce = false,
): Rejection | undefined {
  if (!servesExecutor(worker, needs)) return "executor";
  if (!servesZone(worker, needs)) return "zone";
  if (!hasCapabilities(worker, needs)) return "capability";
  if (worker.status === "Unreachable") return "unreachable";
  if (worker.status === "Draining") return "draining";
  if (worker.status === "Overloaded") return "overloaded";
  const queue = atOnce ? 0 : fleet.config.maxQueuePerWorker;
  if (!hasPlace(worker, !takesNoSlot(worker, needs), queue)) return "queue";
  if (worker.reservedFor !== undefined && worker.reservedFor !== key) return "reserved";
  if (worker.freeCpu < needs.cpuMillicores) return "cpu";
  if (worker.freeMemory < needs.memoryBytes) return "memory";
  return undefined;
}

type Compare = (a: Worker, b: Worker) => number;

function byAffinity({ inputs, rates }: Near): Compare {
  const points = (worker: Worker) => termsOf(worker, inputs, rates).affinityMicros;
  return inOrder((a, b) => points(b) - points(a), byName);
}

function comparator(fleet: Fleet, all: readonly Worker[], subject: Subject): Compare {
  const points = (worker: Worker) => subject.locality?.get(worker.number) ?? 0;
  const flag =
    (holds: (worker: Worker) => boolean): Compare =>
    (a, b) =>
      Number(holds(b)) - Number(holds(a));
  const byLoad: Compare = (a, b) => a.queueDepth - b.queueDepth;
  const holdsInput = flag((worker) => fleet.config.preferLocality && points(worker) > 0);
  switch (fleet.config.strategy) {
    case "least-loaded":
      return inOrder(holdsInput, byLoad, byName);
    case "random":
      return inOrder(
        holdsInput,
        (a, b) => randomScore(fleet, b, subject.nodeId) - randomScore(fleet, a, subject.nodeId),
        byName,
      );
    case "round-robin": {
      const last = fleet.cursor === undefined ? -1 : all.indexOf(fleet.cursor);
      const turn = (worker: Worker) => (all.indexOf(worker) - last - 1 + all.length) % all.length;
      return inOrder(holdsInput, (a, b) => turn(a) - turn(b));
    }
    case "affinity": {
      const knows = flag((worker) => worker.executed.has(subject.type));
      const atHome = flag((worker) => worker.spec.zone === subject.zone);
      return inOrder((a, b) => points(b) - points(a), knows, atHome, byLoad, byName);
    }
  }
}

function inOrder(...criteria: readonly Compare[]): Compare {
  return (a, b) => {
    for (const criterion of criteria) {
      const lead = criterion(a, b);
      if (lead !== 0) return lead;
    }
    return 0;
  };
}
