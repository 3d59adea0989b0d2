import { hasBit } from "../core/index.ts";
import { Candidates, Demand, NO_RUN, nodeOfKey, runOfKey, type TaskKey } from "../placement/index.ts";
import { barriers, exceededOf } from "./admission.ts";
import type { WaitReason } from "./explain.ts";
import type { Group, Pool } from "./group.ts";
import type { Run } from "./run.ts";
import type { State } from "./state.ts";
import { Status } from "./status.ts";

export type WaitCode = WaitReason["code"];

/** What waits, in numbers. */
export interface Backlog {
  /** By the class that tasks start in. */
  readonly classes: readonly {
    /** Only what could start if there were room: not what waits for its time or for others. */
    readonly ready: number;
    readonly running: number;
    /** Of the oldest that is ready; -1 without one. */
    readonly oldestReadyAt: number;
  }[];
  /** All that waits, by the primary reason. */
  readonly byReason: Readonly<Record<WaitCode, number>>;
}

/** No worker is kept free for it. */
const NO_TASK: TaskKey = -1;

/**
 * Why what waits does not run, by groups: a whole group may start or none of it, so a million tasks of one agent cost
 * what one costs. A node that waits for others counts as such, whatever else stands in its way too.
 */
export function backlog(state: State, now: number, zone?: string): Backlog {
  const counts = new Counts();
  const lanes = countLanes(state, zone, counts);
  const placed = countPlaced(state, zone, counts);
  for (const pool of state.pools.values()) {
    if (zone !== undefined && pool.demand.needs.zone !== zone) continue;
    const outlook = outlookOf(state, pool);
    for (const group of pool.groups.values()) {
      const ofRuns = lanes.get(group) ?? NO_LANES;
      const offered = group.line.size - ofRuns.standing;
      const notDue = group.members - ofRuns.lanes - offered - (placed.get(group) ?? 0);
      const reason = reasonOf(state, group, outlook, now);
      counts.byReason[reason] += offered + ofRuns.nodes;
      counts.byReason[reason === "Unsatisfiable" || reason === "Held" ? reason : "NotDue"] += notDue;
      counts.stand(group.line.byClass, group.line.oldestByClass());
    }
  }
  return counts.backlog();
}

class Counts {
  readonly byReason: Record<WaitCode, number> = {
    Unsatisfiable: 0,
    Held: 0,
    NotDue: 0,
    Dependencies: 0,
    Admission: 0,
    Capacity: 0,
    Outranked: 0,
    Pending: 0,
  };
  readonly ready = [0, 0, 0];
  readonly running = [0, 0, 0];
  readonly oldest = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];

  stand(byClass: readonly number[], oldest: readonly number[]): void {
    for (let at = 0; at < 3; at++) {
      (this.ready[at] as number) += byClass[at] as number;
      this.oldest[at] = Math.min(this.oldest[at] as number, oldest[at] as number);
    }
  }

  backlog(): Backlog {
    return {
      byReason: this.byReason,
      classes: this.ready.map((ready, at) => {
        const oldest = this.oldest[at] as number;
        const oldestReadyAt = oldest === Number.POSITIVE_INFINITY ? -1 : oldest;
        return { ready, running: this.running[at] as number, oldestReadyAt };
      }),
    };
  }
}

interface Lanes {
  readonly lanes: number;
  /** Those that stand in their group's line. */
  readonly standing: number;
  /** What they stand for. */
  readonly nodes: number;
}

const NO_LANES: Lanes = { lanes: 0, standing: 0, nodes: 0 };

/** Counts what runs have waiting that stands in no line, and says what does. */
function countLanes(state: State, zone: string | undefined, counts: Counts): Map<Group, Lanes> {
  const byGroup = new Map<Group, Lanes>();
  for (const run of state.runs.values()) {
    if (run.outcome !== undefined || (zone !== undefined && run.zone !== zone)) continue;
    let ready = 0;
    for (const { group, size, byClass, class: at } of run.lanes()) {
      const known = byGroup.get(group) ?? NO_LANES;
      const stands = size > 0 ? 1 : 0;
      byGroup.set(group, {
        lanes: known.lanes + 1,
        standing: known.standing + stands,
        nodes: known.nodes + size,
      });
      for (const [start, nodes] of byClass.entries()) (counts.ready[start] as number) += nodes;
      // In its line it is one entry.
      (counts.ready[at] as number) -= stands;
      ready += size;
    }
    countRest(run, ready, counts);
  }
  return byGroup;
}

function countRest(run: Run, ready: number, { byReason }: Counts): void {
  const { waiting, held, delayed } = Status;
  byReason.Dependencies += run.count(waiting);
  byReason.Held += run.count(held);
  // Of the delayed, those that are due stand among the ready.
  byReason.NotDue += run.count(delayed) + run.count(Status.ready) - ready;
}

/** Tasks of no run that workers have, by group. */
function countPlaced(state: State, zone: string | undefined, counts: Counts): Map<Group, number> {
  const byGroup = new Map<Group, number>();
  for (const worker of state.fleet.workers) {
    for (const key of worker.held.keys()) {
      const node = nodeOfKey(key);
      const run = runOfKey(key);
      if (zone !== undefined && state.tasks(run).zoneOf(node) !== zone) continue;
      const at = run === NO_RUN ? state.singles.get(node).class : state.run(run).classOf(node);
      (counts.running[at] as number)++;
      if (run !== NO_RUN) continue;
      const { group } = state.singles.get(node);
      byGroup.set(group, (byGroup.get(group) ?? 0) + 1);
    }
  }
  return byGroup;
}

/** What the workers mean to a pool. */
type Outlook = "Unsatisfiable" | "Held" | "Capacity" | "Pending";

/** With a demand of its own: what the pool's knows of the workers tells decisions where to look again. */
function outlookOf({ fleet }: State, pool: Pool): Outlook {
  const demand = new Demand(pool.demand.needs);
  const candidates = new Candidates();
  candidates.find(fleet, demand, NO_TASK);
  if (candidates.count > 0) return "Pending";
  const { cpuMillicores, memoryBytes } = demand.needs;
  let outlook: Outlook = "Unsatisfiable";
  for (const [ordinal, { spec, status }] of fleet.sorted.entries()) {
    if (!hasBit(demand.serves, ordinal) || status === "Unreachable") continue;
    if (spec.cpuMillicores < cpuMillicores || spec.memoryBytes < memoryBytes) continue;
    if (status !== "Draining") return "Capacity";
    outlook = "Held";
  }
  return outlook;
}

function reasonOf(state: State, group: Group, outlook: Outlook, now: number): WaitCode {
  if (outlook === "Unsatisfiable") return outlook;
  const stopped = barriers(state, group, now);
  if (exceededOf(stopped)) return "Unsatisfiable";
  if (outlook === "Held") return outlook;
  if (stopped.some(({ by }) => by === "pause")) return "Held";
  return stopped.length > 0 ? "Admission" : outlook;
}
