import type { SchedulerConfig } from "../ledger/index.ts";

/** Tasks and bytes that the work of a zone holds in the state. */
export interface ZoneAccount {
  readonly zone: string;
  /** Tasks that have neither ended nor been given to a worker. */
  waiting: number;
  /** Estimated bytes of what has not ended, waiting or running. */
  bytes: number;
}

/** Tasks and bytes that the work of one agent of a zone holds in the state. */
export interface Account extends Omit<ZoneAccount, "zone"> {
  /** See `zonedKey`. */
  readonly key: string;
  readonly zone: ZoneAccount;
}

/** A limit that a submission would exceed. */
export interface Excess {
  readonly whose: "agent" | "zone" | "server";
  readonly unit: "tasks" | "bytes";
  readonly held: number;
  readonly asked: number;
  readonly most: number;
}

/**
 * Counts what work holds in the state, by agent, zone and server, and compares it with the limits of the backlog.
 *
 * What always holds:
 * - The numbers are sums over the tasks, runs and groups in the state. They change only with these, are in no snapshot,
 *   and are the same after a replay or a restore. `recount.ts` counts them again from scratch.
 * - An account without anything in it is deleted, so that names that come and go leave nothing.
 */
export class Accounts {
  waiting = 0;
  bytes = 0;
  /** Estimated bytes of the ended runs that are remembered. They belong to nobody: the oldest give way to new ones. */
  endedBytes = 0;
  readonly byKey: Map<string, Account> = new Map();
  readonly zones: Map<string, ZoneAccount> = new Map();
  #most: Readonly<Record<Excess["unit"], Readonly<Record<Excess["whose"], number>>>> = mostOf({});

  configure(config: Pick<SchedulerConfig, "backlogLimit" | LimitName>): void {
    this.#most = mostOf(config);
  }

  /** The most that ended runs may hold. */
  get mostEndedBytes(): number {
    return this.#most.bytes.server / ENDED_PART;
  }

  of(zone: string, key: string): Account {
    let account = this.byKey.get(key);
    if (!account) {
      let ofZone = this.zones.get(zone);
      if (!ofZone) {
        ofZone = { zone, waiting: 0, bytes: 0 };
        this.zones.set(zone, ofZone);
      }
      account = { key, zone: ofZone, waiting: 0, bytes: 0 };
      this.byKey.set(key, account);
    }
    return account;
  }

  wait(account: Account, tasks: number): void {
    this.waiting += tasks;
    account.waiting += tasks;
    account.zone.waiting += tasks;
  }

  hold(account: Account, bytes: number): void {
    this.bytes += bytes;
    account.bytes += bytes;
    account.zone.bytes += bytes;
  }

  release(account: Account, bytes: number): void {
    this.hold(account, -bytes);
    if (account.bytes > 0) return;
    this.byKey.delete(account.key);
    if (account.zone.bytes === 0) this.zones.delete(account.zone.zone);
  }

  /** Returns true if this much more work is within the limits of every agent and zone, so that no look-up is needed. */
  hasAmpleRoom(tasks: number, bytes: number): boolean {
    const { tasks: mostTasks, bytes: mostBytes } = this.#most;
    return this.waiting + tasks <= mostTasks.agent && this.bytes + bytes <= mostBytes.agent;
  }

  /** Returns the first limit that so much more would exceed. */
  excess(zone: string, key: string, tasks: number, bytes: number): Excess | undefined {
    const ofAgent = this.byKey.get(key) ?? NOTHING;
    const ofZone = this.zones.get(zone) ?? NOTHING;
    for (const [whose, { waiting, bytes: held }] of [
      ["server", this],
      ["zone", ofZone],
      ["agent", ofAgent],
    ] as const) {
      const most = { tasks: this.#most.tasks[whose], bytes: this.#most.bytes[whose] };
      if (waiting + tasks > most.tasks)
        return { whose, unit: "tasks", held: waiting, asked: tasks, most: most.tasks };
      if (held + bytes > most.bytes) return { whose, unit: "bytes", held, asked: bytes, most: most.bytes };
    }
    return undefined;
  }
}

const NOTHING = { waiting: 0, bytes: 0 };

/** Ended runs hold at most this part of what open work may hold. */
const ENDED_PART = 4;

type LimitName = "backlogBytes" | "zoneShare" | "agentShare";

/** A ledger from before there were shares allows everybody everything. */
function mostOf({
  backlogLimit = Number.POSITIVE_INFINITY,
  backlogBytes,
  zoneShare = 1000,
  agentShare = 1000,
}: Partial<Pick<SchedulerConfig, "backlogLimit" | LimitName>>) {
  const shared = (server: number) => {
    const zone = Math.ceil((server * zoneShare) / 1000);
    return { server, zone, agent: Math.ceil((zone * agentShare) / 1000) };
  };
  return { tasks: shared(backlogLimit), bytes: shared(backlogBytes ?? Number.POSITIVE_INFINITY) };
}
