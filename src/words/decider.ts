import type { TaskAssigned } from "../ledger/index.ts";
import type { CandidateRow, PlacementConfig } from "../placement/index.ts";
import type { Criterion, Decider } from "./sentences.ts";

/**
 * What set the first candidate apart from the second: the first criterion of the strategy in which they
 * differ. An id is a criterion only after all others were equal.
 */
export function decide(config: PlacementConfig, rows: readonly CandidateRow[]): Decider {
  const chosen = rows.find((row) => row.rank === 1);
  const runnerUp = rows.find((row) => row.rank === 2);
  if (!chosen || !runnerUp) {
    return { criterion: "only candidate", chosen: null, runnerUp: null, tiedOn: null };
  }
  let tied: Criterion | null = null;
  for (const criterion of criteriaOf(config)) {
    const [ours, theirs] = [valueIn(criterion, chosen), valueIn(criterion, runnerUp)];
    // Where inputs only have to be held, more of them is no advantage.
    const differ =
      criterion === "input data" && config.strategy !== "affinity"
        ? (ours ?? 0) > 0 !== (theirs ?? 0) > 0
        : ours !== theirs;
    if (differ || ours === null) return { criterion, chosen: ours, runnerUp: theirs, tiedOn: null };
    tied = criterion;
  }
  const value = tied === null ? null : valueIn(tied, chosen);
  return { criterion: "worker id", chosen: value, runnerUp: value, tiedOn: tied };
}

/** Where data decided, and not the strategy. */
export function decideFor(
  { reason }: Pick<TaskAssigned, "reason">,
  rows: readonly CandidateRow[],
): Decider | undefined {
  const [chosen, runnerUp] = [1, 2].map((rank) => rows.find((row) => row.rank === rank)?.data);
  if (reason.type === "DataAffinity")
    return {
      criterion: "where data is",
      chosen: chosen?.affinityMicros ?? null,
      runnerUp: runnerUp?.affinityMicros ?? null,
      tiedOn: null,
    };
  if (reason.type !== "Affinity" || (reason.because !== "Follows" && reason.because !== "SharedConsumer"))
    return undefined;
  const criterion = reason.because === "Follows" ? "making the input" : "making its like";
  return { criterion, chosen: null, runnerUp: null, tiedOn: null };
}

function criteriaOf({ strategy, preferLocality }: PlacementConfig): Criterion[] {
  const first: Criterion[] = preferLocality ? ["input data"] : [];
  switch (strategy) {
    case "least-loaded":
      return [...first, "queue depth"];
    case "random":
      return [...first, "score"];
    case "round-robin":
      return [...first, "turn"];
    case "affinity":
      return ["input data", "type completed before", "home zone", "queue depth"];
  }
}

/** Null for the turn, which no two workers share. */
function valueIn(criterion: Criterion, row: CandidateRow): number | null {
  switch (criterion) {
    case "input data":
      return row.locality;
    case "type completed before":
      return Number(row.executedBefore);
    case "home zone":
      return Number(row.sameZone);
    case "queue depth":
      return row.queueDepth;
    case "score":
      return row.score;
    default:
      return null;
  }
}
