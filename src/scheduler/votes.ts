import type { Score } from "../graph/index.ts";
import type { LedgerEvent, VoteTaken } from "../ledger/index.ts";
import { NO_RUN } from "../placement/index.ts";
import type { Run } from "./run.ts";
import type { AlternativeOf } from "./singles.ts";
import type { State } from "./state.ts";
import { Status } from "./status.ts";

/** Of which node the task that an event ends is an alternative. */
export function endedAlternative({ singles }: State, event: LedgerEvent): AlternativeOf | undefined {
  const { kind } = event;
  const ends = kind === "AttemptFinished" || kind === "TaskFailed" || kind === "TaskCancelled";
  return ends && event.run === NO_RUN ? singles.get(event.node).alternativeOf : undefined;
}

/** The vote on the alternatives of a node, where it can be decided now. */
export function voteOn(run: Run, node: number, now: number): VoteTaken | undefined {
  const speculated = run.statusOf(node) === Status.speculating ? run.speculations.get(node) : undefined;
  if (!speculated) return undefined;
  const { outcome, scores, decided } = speculated.voteAt(now);
  if (!decided) return undefined;
  const isWon = outcome.type === "won";
  return {
    kind: "VoteTaken",
    run: run.number,
    node,
    winner: isWon ? outcome.winner : -1,
    by: isWon ? outcome.by : "nobody",
    scores: scores.map((score) => (score ? pointsOf(score) : null)),
  };
}

function pointsOf({ verification, confidence, size, risk, speed }: Score): readonly number[] {
  return [verification, confidence, size, risk, speed];
}
