/** What must have happened in a large batch of seeds, or the batch has tested less than it claims. */
export const FAULTS = [
  "worker crashed",
  "worker hung",
  "worker cut off",
  "worker overloaded",
  "worker drained",
  "worker left",
  "attempt forgotten",
  "attempt stuck",
  "attempt failed",
  "message lost",
  "message duplicated",
  "message reordered",
  "server restarted",
  "block lost",
  "server superseded",
  "commit refused",
  "commit outcome unknown",
  "crash before commit",
  "crash in commit",
  "crash after commit",
  "store failed",
  "keys not found out",
  "clock jumped back",
  "clock jumped ahead",
  "nonsense received",
  "worker killed by its task",
  "recall not answered",
] as const;

export const BRANCHES = [
  "worker came back",
  "worker came back before its lease ended",
  "worker relieved",
  "worker forgotten",
  "forgotten worker came back",
  "lease expired",
  "attempt lost",
  "attempt lost before it began",
  "queue given back",
  "attempt timed out",
  "late return refused",
  "double return refused",
  "unknown return refused",
  "retried",
  "attempts exhausted",
  "dependents skipped",
  "waiting task cancelled",
  "running task cancelled",
  "cancelled too late",
  "run cancelled",
  "rest cancelled after a failure",
  "reservation made",
  "room reserved",
  "reservation used",
  "reservation dropped",
  "passed over",
  "submission refused: backlog",
  "submission refused: backpressure",
  "submission repeated",
  "throttled",
  "reconfigured",
  "run forgotten",
  "reason OnlyWorkerAvailable",
  "reason ResourceFit",
  "reason DataAffinity",
  "reason LeastLoaded",
  "reason RoundRobin",
  "reason Random",
  "reason Affinity DataLocality",
  "reason Affinity PreviouslyExecuted",
  "reason Affinity SameZone",
  "reason Affinity SharedConsumer",
  "reason Affinity Follows",
  "held to the end",
  "unsatisfiable to the end",
  "snapshot continued",
  "snapshot saved",
  "recovered from a snapshot",
  "key repeated in its turn",
  "key repeated later",
  "key repeated after a restart",
  "turn decided ahead",
  "assigned in graph order",
  "assigned in hrrn order",
  "assigned in classic order",
  "order changed while tasks wait",
  "task due later",
  "task expired",
  "task expired after an attempt",
  "attempt failed for good",
  "task put back",
  "boost reserved",
  "boost charged",
  "boost released",
  "submission refused: fair-share",
  "submission refused: credits",
  "submission refused: rate-limit",
  "rate of an agent set",
  "waits for: pause",
  "waits for: share",
  "waits for: room",
  "waits for: rate",
  "lowered by cost",
  "lifted by its wait",
  "lifted by its deadline",
  "limit set again",
  "limit taken away",
  "share of an agent set",
  "share of a zone set",
  "speculated: asked",
  "speculated: forced",
  "speculated: risk-on-critical-path",
  "vote: majority",
  "vote: score",
  "vote: nobody",
  "vote before all have ended",
  "alternative retried",
  "budget exhausted",
  "budget recharged",
  "result held",
  "result freed",
  "result freed with its run",
  "copy lost",
  "node made again",
  "node made again for another",
  "node given ahead withdrawn",
  "retried behind its input",
  "skipped on its worker",
  "run released",
  "result reused",
  "kept result reused",
  "kept result evicted",
  "failed: poison",
  "failed: corrupt",
  "recalled",
  "given back for another",
  "recalled when it had begun",
  "recalled when it was cancelled",
  "recalled from a worker that is lost",
] as const;

export type Happening = (typeof FAULTS)[number] | (typeof BRANCHES)[number];

export class Tally {
  readonly counts: Map<Happening, number> = new Map();

  count(happening: Happening, times = 1): void {
    this.counts.set(happening, (this.counts.get(happening) ?? 0) + times);
  }

  add(other: Tally): void {
    for (const [happening, times] of other.counts) this.count(happening, times);
  }

  of(happening: Happening): number {
    return this.counts.get(happening) ?? 0;
  }

  /** What never happened. */
  missing(): Happening[] {
    return [...FAULTS, ...BRANCHES].filter((happening) => this.of(happening) === 0);
  }

  get faults(): number {
    return FAULTS.reduce((sum, fault) => sum + this.of(fault), 0);
  }
}
