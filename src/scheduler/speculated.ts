import {
  type Alternative,
  type EndedAlternative,
  type Risk,
  type SpeculationCause,
  speculationOf,
  type Vote,
  vote,
} from "../graph/index.ts";
import type { AttemptFinished, VoteTaken } from "../ledger/index.ts";
import { type Needs, takesNoSlot, taskKey, type Worker } from "../placement/index.ts";
import type { Limit } from "../queue/index.ts";
import type { Group } from "./group.ts";
import { keptOf } from "./room.ts";
import type { Run } from "./run.ts";
import type { State } from "./state.ts";

/** How sure one may be of a result that its worker says nothing about. So one alone is enough, whatever its risk. */
export const UNASSESSED_PERMILLE = 800;

/** What an alternative came to, and where. */
export interface AlternativeEnd extends EndedAlternative {
  readonly resultBytes: number;
  /** The number of its last worker; -1 where it never had one. */
  readonly worker: number;
  /** The event of its end. */
  readonly seq: number;
}

/** A node that is tried in several alternatives. They begin together, so all are timed from there. */
export class Speculated {
  readonly because: SpeculationCause;
  /** The number of the first alternative among the tasks of no run; the others follow. */
  readonly first: number;
  readonly since: number;
  readonly ends: (AlternativeEnd | undefined)[];
  outcome: Pick<VoteTaken, "winner" | "by" | "scores"> | undefined;

  constructor(because: SpeculationCause, first: number, count: number, since: number) {
    this.because = because;
    this.first = first;
    this.since = since;
    this.ends = new Array<undefined>(count).fill(undefined);
  }

  /** Without a result it is out. What nobody assessed is taken to be as risky as what was asked for, and likely right. */
  end(
    at: number,
    { risk, worker, seq, now }: { risk: Risk; worker: number; seq: number; now: number },
    finished?: AttemptFinished,
  ): void {
    const assessment = {
      verified: true,
      confidencePermille: UNASSESSED_PERMILLE,
      lines: 0,
      risk,
      ...finished?.assessment,
    };
    this.ends[at] = {
      is: "ended",
      ...assessment,
      verified: finished !== undefined && assessment.verified,
      hash: finished?.resultHash ?? "",
      resultBytes: finished?.resultBytes ?? 0,
      worker,
      seq,
      durationMs: now - this.since,
    };
  }

  voteAt(now: number): Vote {
    const durationMs = now - this.since;
    return vote(this.ends.map((end): Alternative => end ?? { is: "running", durationMs }));
  }

  /** The numbers of the alternatives that have not ended. */
  open(): number[] {
    return this.ends.flatMap((end, at) => (end ? [] : [this.first + at]));
  }
}

/** In how many alternatives a node that may start now does, and why; undefined: it runs once. */
export function speculationFor(
  state: State,
  run: Run,
  node: number,
  now: number,
): { readonly count: number; readonly because: SpeculationCause } | undefined {
  const settings = state.config.speculation;
  const { risk, speculate } = run.taskOf(node);
  // An alternative's result would be where no node that gets it looks for it.
  if (!settings?.enabled || run.data) return undefined;
  // Most nodes neither ask nor are risky, and what is free need not be counted for them.
  if (!speculate && !settings.forceSpeculate && !settings.autoTriggerRiskLevels.includes(risk))
    return undefined;
  const key = taskKey(run.number, node);
  const group = run.groupOf(node);
  // What has waited so long that a worker or room is kept for it is not to wait for more of it.
  if (state.fleet.reservations.has(key) || state.roomFor.get(group.zone) === key) return undefined;
  const { tokens, spareTokens, others } = limitsLeft(state, group, now);
  const spare = { slots: spareSlots(state, group, key), tokens: spareTokens };
  const candidate = { speculate, risk, critical: run.isCritical(node), slots: 1, tokens };
  const decision = speculationOf(candidate, settings, spare);
  const count = Math.min(decision.alternatives, others);
  return count > 1 && "because" in decision ? { count, because: decision.because } : undefined;
}

/** How many such tasks the workers that could take one could begin at once, and the share of their agent allows. */
function spareSlots(state: State, group: Group, key: number): number {
  const { fleet, candidates, shares } = state;
  candidates.find(fleet, group.pool.demand, key, true);
  let slots = 0;
  candidates.forEach((ordinal) => {
    slots += timesIn(fleet.sorted[ordinal] as Worker, group.pool.demand.needs);
  });
  const max = shares.maxOf(group.zone, group.shareKey);
  return max === null ? slots : Math.min(slots, max - shares.running(group.shareKey));
}

function timesIn(worker: Worker, needs: Needs): number {
  const { spec, inSlots, io, freeCpu, freeMemory } = worker;
  const { cpuMillicores: cpu, memoryBytes: memory } = needs;
  return Math.min(
    Math.max(0, takesNoSlot(worker, needs) ? (spec.ioSlots ?? 0) - io : spec.slots - inSlots),
    cpu === 0 ? Number.POSITIVE_INFINITY : Math.floor(freeCpu / cpu),
    memory === 0 ? Number.POSITIVE_INFINITY : Math.floor(freeMemory / memory),
  );
}

const TOKENS = "tokens";

/** What of its limits is left for the group: of tokens the amount, of the others how many of its tasks may start. */
function limitsLeft(
  state: State,
  group: Group,
  now: number,
): { readonly tokens: number; readonly spareTokens: number; readonly others: number } {
  let tokens = 0;
  let spareTokens = Number.POSITIVE_INFINITY;
  let others = Number.POSITIVE_INFINITY;
  for (let at = 0; at < group.limits.length; at++) {
    const limit = group.limits[at] as Limit;
    const amount = group.amounts[at] as number;
    const left = limit.startsLeft(now, amount, keptOf(state, group, limit, undefined));
    if (group.limitNames[at] !== TOKENS) others = Math.min(others, left);
    else {
      tokens = amount;
      spareTokens = left * amount;
    }
  }
  return { tokens, spareTokens, others };
}
