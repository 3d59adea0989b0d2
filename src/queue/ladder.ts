import { classAt, deadlineNearAt, isDeadlineNear } from "./classes.ts";
import type { QueueConfig } from "./config.ts";
import type { Entry } from "./entry.ts";
import { HrrnQueue } from "./hrrn-queue.ts";
import { OrderedQueue } from "./ordered-queue.ts";
import type { Rung } from "./rung.ts";

/**
 * How a line is divided in one order, so that on each rung a queue knows its first without asking for classes
 * and tiers. Time lifts entries from rung to rung.
 */
export interface Ladder {
  /** Made when they are first stood on: most lines use one or two. */
  readonly rungs: readonly (Rung | undefined)[];
  rungAt(entry: Entry, now: number): Rung;
  /** When its deadline lifts it, if that is still to come; else infinity. */
  nextLift(entry: Entry, now: number): number;
  /** Lifts whatever its wait alone lifts by now. */
  liftByWait(now: number): void;
  /** By class, when the oldest entry that stands there became ready; infinity without one. */
  oldestByClass(): number[];
}

export function makeLadder(config: QueueConfig): Ladder {
  switch (config.order) {
    case "graph":
      return new GraphLadder();
    case "hrrn":
      return new HrrnLadder(config);
    case "classic":
      return new ClassicLadder(config);
  }
}

const NEVER = Number.POSITIVE_INFINITY;

/** Rungs of HRRN order. The first is interactive whatever the agent cost, the second unless it cost too much. */
const LIFTED = 0;
const INTERACTIVE = 1;
const BATCH = 2;
const BACKGROUND = 3;

class HrrnLadder implements Ladder {
  readonly rungs: (HrrnQueue | undefined)[] = [];
  readonly #config: QueueConfig;

  constructor(config: QueueConfig) {
    this.#config = config;
  }

  rungAt(entry: Entry, now: number): HrrnQueue {
    const isLifted = classAt(entry, now, true, this.#config) === 0;
    return this.#rung(isLifted ? LIFTED : INTERACTIVE + classAt(entry, now, false, this.#config));
  }

  nextLift(entry: Entry, now: number): number {
    const at = deadlineNearAt(entry, this.#config);
    return at > now ? at : NEVER;
  }

  /** In this order, so that background that starves as batch too climbs both rungs at once. */
  liftByWait(now: number): void {
    const { starveBackgroundMs, starveBatchMs } = this.#config;
    this.#handOver(BACKGROUND, BATCH, now - starveBackgroundMs);
    if (starveBatchMs === null) return;
    this.#handOver(BATCH, LIFTED, now - starveBatchMs);
    this.#handOver(INTERACTIVE, LIFTED, now - starveBatchMs);
  }

  oldestByClass(): number[] {
    const [lifted = NEVER, interactive = NEVER, batch = NEVER, background = NEVER] = Array.from(
      this.rungs,
      (rung) => rung?.oldestReadyAt,
    );
    return [Math.min(lifted, interactive), batch, background];
  }

  #handOver(from: number, to: number, readyBefore: number): void {
    const rung = this.rungs[from];
    if (rung?.hasReadyBefore(readyBefore)) rung.handOver(readyBefore, this.#rung(to));
  }

  #rung(at: number): HrrnQueue {
    const rung = this.rungs[at] ?? new HrrnQueue();
    this.rungs[at] = rung;
    return rung;
  }
}

/**
 * In classic order rungs are start tiers, and once more those below HIGH whose deadline is near. On each the
 * oldest is first: ageing and the maximal wait never bring a younger one before an older one.
 */
class ClassicLadder implements Ladder {
  readonly rungs: (OrderedQueue | undefined)[] = [];
  readonly #config: QueueConfig;

  constructor(config: QueueConfig) {
    this.#config = config;
  }

  rungAt(entry: Entry, now: number): OrderedQueue {
    const isLifted = entry.tier > 1 && isDeadlineNear(entry, now, this.#config);
    const at = isLifted ? entry.tier + 3 : entry.tier;
    const rung = this.rungs[at] ?? new OrderedQueue(({ readyAt }) => [readyAt, 0]);
    this.rungs[at] = rung;
    return rung;
  }

  nextLift(entry: Entry, now: number): number {
    const at = entry.tier > 1 ? deadlineNearAt(entry, this.#config) : NEVER;
    return at > now ? at : NEVER;
  }

  liftByWait(): void {}

  oldestByClass(): number[] {
    return oldestOf(this.rungs.flatMap((rung) => rung?.first() ?? []));
  }
}

/** In graph order nothing moves. A line has one entry of each run and tier, so the other keys decide nothing. */
class GraphLadder implements Ladder {
  readonly #rung = new OrderedQueue(({ tier, seq }) => [tier, seq]);
  readonly rungs: readonly Rung[] = [this.#rung];

  rungAt(): Rung {
    return this.#rung;
  }

  nextLift(): number {
    return NEVER;
  }

  liftByWait(): void {}

  oldestByClass(): number[] {
    return oldestOf(this.#rung.entries());
  }
}

function oldestOf(entries: Iterable<Entry>): number[] {
  const oldest = [NEVER, NEVER, NEVER];
  for (const { class: at, readyAt } of entries) oldest[at] = Math.min(oldest[at] as number, readyAt);
  return oldest;
}
