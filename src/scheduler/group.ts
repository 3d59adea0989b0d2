import type { TaskSpec } from "../graph/index.ts";
import { Demand, type Needs } from "../placement/index.ts";
import { type Limit, Line, type QueueConfig } from "../queue/index.ts";
import type { Account } from "./accounts.ts";
import { groupBytes } from "./weights.ts";

/**
 * Waiting tasks with the same needs: a worker that can take one can take any of them, so either the first has a
 * candidate or none has.
 */
export class Pool {
  /** Its needs, as a text to tell them apart by. */
  readonly key: string;
  /** Its executor and zone: there is one reservation for each. */
  readonly place: string;
  readonly demand: Demand;
  readonly groups: Map<string, Group> = new Map();
  /** The fleet's count of relief when no worker could take the first; -1 when one could. */
  blockedAt = -1;
  /** The fleet's count of memberships then: somebody who came since may take it. */
  blockedAmong = -1;

  constructor(needs: Needs) {
    this.place = placeKey(needs.zone, needs.executor);
    const { cpuMillicores, memoryBytes, capabilities, io } = needs;
    this.key = JSON.stringify([this.place, cpuMillicores, memoryBytes, capabilities, ...(io ? ["io"] : [])]);
    this.demand = new Demand(needs);
  }
}

export function placeKey(zone: string, executor: string): string {
  return JSON.stringify([zone, executor]);
}

/** Names an agent of a zone, or a limit of a zone. */
export function zonedKey(zone: string, name: string): string {
  if (zone !== last.zone || name !== last.name) last = { zone, name, key: JSON.stringify([zone, name]) };
  return last.key;
}

/** Whoever comes often comes several times in a row. */
let last = { zone: "", name: "", key: JSON.stringify(["", ""]) };

/** The tasks of a pool that one agent submitted under the same limits: either all may start, or none. */
export class Group {
  readonly key: string;
  readonly pool: Pool;
  readonly agent: string;
  readonly shareKey: string;
  readonly limitNames: readonly string[];
  /** The limit of each name. All names that nobody configured share one limit, which never binds. */
  readonly limits: Limit[];
  /** What each of its tasks counts towards each of the limits. */
  readonly amounts: readonly number[];
  /** What may be given out: tasks, and for each run the first of its ready nodes. */
  line: Line;
  /** Lanes, and tasks of no run that have not ended. A group without any is forgotten. */
  members = 0;
  isForgotten = false;
  /** Its agent's. */
  readonly account: Account;
  /** Estimated heap of the group itself. */
  readonly bytes: number;

  constructor(
    pool: Pool,
    agent: string,
    task: TaskSpec,
    limits: Limit[],
    accountOf: (zone: string, key: string) => Account,
    config: QueueConfig,
  ) {
    const { limits: limitNames, amounts } = task;
    this.key = groupKey(agent, limitNames, amounts);
    this.pool = pool;
    this.agent = agent;
    this.shareKey = zonedKey(pool.demand.needs.zone, agent);
    this.limitNames = limitNames;
    this.limits = limits;
    this.amounts = amounts.length > 0 ? amounts : limits.map(() => 1);
    this.line = new Line(config);
    this.account = accountOf(this.zone, this.shareKey);
    this.bytes = groupBytes(task);
  }

  get zone(): string {
    return this.pool.demand.needs.zone;
  }
}

export function groupKey(agent: string, limits: readonly string[], amounts: readonly number[]): string {
  return JSON.stringify([agent, limits, amounts]);
}
