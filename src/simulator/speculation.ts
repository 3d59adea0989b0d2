import { alternativeIdOf } from "../core/index.ts";
import { type EndedAlternative, type SpeculationCause, vote } from "../graph/index.ts";
import type { AttemptFinished, TaskSpeculated, VoteTaken } from "../ledger/index.ts";
import { type Model, ofZone } from "./model.ts";
import {
  Admissions,
  amountOf,
  hasRate,
  keptFrom,
  maxOf,
  mostOf,
  runningOf,
  runningUnder,
} from "./model-admission.ts";
import {
  aboutTask,
  describeTask,
  isDue,
  type ModelTask,
  type ModelWorker,
  modelAlternative,
} from "./model-tasks.ts";
import { checkOrder, obstacleOf } from "./oracle.ts";
import { inSlots } from "./places.ts";
import { Ranking } from "./ranking.ts";
import { demand } from "./violation.ts";

/** What alternatives of a node there are, and what became of them. */
export interface ModelSpeculation {
  readonly since: number;
  readonly alternatives: readonly ModelTask[];
  readonly ends: (ModelEnd | undefined)[];
  /** The last vote, where nobody won. */
  escalated: boolean;
}

export interface ModelEnd extends EndedAlternative {
  readonly seq: number;
  readonly resultBytes: number;
  readonly worker: ModelWorker | undefined;
}

/** A node was tried in several alternatives: it was called for, it was its turn, and there was room for exactly these. */
export function speculateTask(model: Model, event: TaskSpeculated, now: number): void {
  const task = model.taskAt(event);
  const about = aboutTask(task);
  demand(isDue(task, now), "speculated-when-ready", () => `${describeTask(task)} is not ready`, about);
  demand(
    new Admissions(model, now).admits(task),
    "speculated-when-admitted",
    () => `${describeTask(task)} may not start`,
    about,
  );
  checkOrder(model, task, now);
  const truth = speculationOf(model, task, now);
  demand(
    truth?.count === event.count && truth.because === event.because && event.first === model.nextTask,
    "speculated-with-cause",
    () =>
      `${describeTask(task)} was tried in ${event.count} ways (${event.because}), ${JSON.stringify(truth)} is true`,
    about,
  );
  model.withdraw(task);
  task.status = "speculating";
  const alternatives = Array.from({ length: event.count }, (_, at) => {
    const alternative = modelAlternative(
      model.nextTask++,
      task,
      at,
      publicIdOf(task, at),
      model.seq + 1 + at,
      now,
    );
    model.singles.set(alternative.node, alternative);
    model.offered.add(alternative);
    model.unplaced.push(alternative);
    return alternative;
  });
  const ends = alternatives.map(() => undefined);
  task.speculation = { since: now, alternatives, ends, escalated: false };
}

function publicIdOf({ publicId }: ModelTask, at: number): string {
  return alternativeIdOf(publicId, at === 0 ? "speculate:primary" : `speculate:alt${at}`);
}

/** In how many ways a node that may start now should be tried, and why; undefined: in one. */
export function speculationOf(
  model: Model,
  task: ModelTask,
  now: number,
): { readonly count: number; readonly because: SpeculationCause } | undefined {
  const { speculation } = model.settings;
  const because = causeOf(model, task, now);
  const isKeptFor =
    model.roomFor.get(task.zone) === task || model.workers.some(({ reservedFor }) => reservedFor === task);
  if (!speculation?.enabled || !because || task.isAlone || task.run.hasData || isKeptFor) return undefined;
  const slots = slotsFor(model, task);
  if (slots < 3) return undefined;
  const wanted = Math.min(speculation.defaultParallelism, speculation.maxParallelism, slots);
  const count = startsUnderLimits(model, task, now, wanted);
  return count < 2 ? undefined : { count, because };
}

function causeOf(model: Model, task: ModelTask, now: number): SpeculationCause | undefined {
  const { speculation } = model.settings;
  if (task.spec.speculate) return "asked";
  if (speculation?.forceSpeculate) return "forced";
  const isRisky = speculation?.autoTriggerRiskLevels.includes(task.spec.risk);
  if (!isRisky || !speculation?.autoTriggerOnCriticalPath) return undefined;
  return new Ranking(model, now).isCritical(task) ? "risk-on-critical-path" : undefined;
}

/** Put onto the workers one by one until no slot is left, or the share of the agent is used up. */
function slotsFor(model: Model, task: ModelTask): number {
  const max = maxOf(model, task.zone, task.agent) ?? Number.POSITIVE_INFINITY;
  let left = max - runningOf(model, task.zone, task.agent);
  let slots = 0;
  for (const worker of model.workers) {
    if (obstacleOf(model, worker, task) !== undefined) continue;
    let { freeCpu, freeMemory } = worker;
    for (let held = inSlots(worker).length; held < worker.spec.slots && left > 0; held++, left--) {
      freeCpu -= task.spec.cpuMillicores;
      freeMemory -= task.spec.memoryBytes;
      if (freeCpu < 0 || freeMemory < 0) break;
      slots++;
    }
  }
  return slots;
}

/** One after the other, as if each had started. */
function startsUnderLimits(model: Model, task: ModelTask, now: number, most: number): number {
  let count = 0;
  while (count < most && task.spec.limits.every((name) => admitsAfter(model, task, name, count, now)))
    count++;
  return count;
}

function admitsAfter(model: Model, task: ModelTask, name: string, others: number, now: number): boolean {
  const amount = amountOf(task, name);
  const used = runningUnder(model, task.zone, name) + keptFrom(model, task, name);
  if (used + (others + 1) * amount > mostOf(model, task.zone, name)) return false;
  const limit = model.limits.get(ofZone(task.zone, name));
  if (!limit || limit.rateCount === null) return true;
  return hasRate({ ...limit, starts: [...limit.starts, ...new Array<number>(others).fill(now)] }, now);
}

/** An alternative that came to an end, or was given up. */
export function endAlternative(model: Model, task: ModelTask, now: number, finished?: AttemptFinished): void {
  const { of, at } = task.alternativeOf ?? {};
  const speculation = of?.speculation;
  if (!of || !speculation || at === undefined) return;
  const assessment = finished?.assessment ?? {
    verified: true,
    confidencePermille: 800,
    lines: 0,
    risk: task.spec.risk,
  };
  speculation.ends[at] = {
    is: "ended",
    ...assessment,
    verified: finished !== undefined && assessment.verified,
    hash: finished?.resultHash ?? "",
    durationMs: now - speculation.since,
    seq: model.seq,
    resultBytes: finished?.resultBytes ?? 0,
    worker: task.worker,
  };
  if (of.status === "speculating") model.toVoteOn.add(of);
}

function voteOn({ since, ends }: ModelSpeculation, now: number) {
  return vote(ends.map((end) => end ?? { is: "running", durationMs: now - since }));
}

/** The alternatives were voted on when the outcome could not change any more, and as their ends say. */
export function takeVote(model: Model, event: VoteTaken, now: number): ModelTask | undefined {
  const task = model.taskAt(event);
  const about = aboutTask(task);
  const { speculation } = task;
  demand(
    speculation !== undefined && task.status === "speculating",
    "vote-on-alternatives",
    () => `${describeTask(task)} is voted on`,
    about,
  );
  const { outcome, scores, decided } = voteOn(speculation, now);
  const [winner, by] = outcome.type === "won" ? [outcome.winner, outcome.by] : [-1, "nobody"];
  const points = scores.map((score) =>
    score ? [score.verification, score.confidence, score.size, score.risk, score.speed] : null,
  );
  demand(
    decided &&
      event.winner === winner &&
      event.by === by &&
      JSON.stringify(event.scores) === JSON.stringify(points),
    "true-vote",
    () =>
      `${describeTask(task)}: ${JSON.stringify(event)} is recorded, ${winner} by ${by} with ${JSON.stringify(points)} (decided: ${decided}) is true`,
    about,
  );
  const won = speculation.ends[winner];
  if (!won) {
    speculation.escalated = true;
    return undefined;
  }
  task.status = "completed";
  task.completedSeq = won.seq;
  task.resultBytes = won.resultBytes;
  task.worker = won.worker;
  return task;
}

/** After what follows from a stimulus: nothing that could be decided is left, and nothing that is of no use goes on. */
export function checkVotes(model: Model, now: number): void {
  for (const task of model.toVoteOn) {
    if (task.status !== "speculating" || !task.speculation) continue;
    demand(
      !voteOn(task.speculation, now).decided,
      "vote-in-time",
      () => `${describeTask(task)} could be decided`,
      aboutTask(task),
    );
  }
  model.toVoteOn.clear();
}

/** Nobody waits for it any more. */
export function isOfNoUse({ alternativeOf }: ModelTask): boolean {
  return alternativeOf !== undefined && alternativeOf.of.status !== "speculating";
}
