import type { Fact } from "../driver/index.ts";
import { Driver, Projection, steadyClock } from "../driver/index.ts";
import type { SchedulerConfig } from "../ledger/index.ts";
import { census, DEFAULT_CONFIG, type State } from "../scheduler/index.ts";
import type { Retention, ServiceStore } from "../store/index.ts";
import type { Api } from "./api.ts";
import { EventStream } from "./event-stream.ts";
import { LastAssignments } from "./explanation.ts";
import { Gateway } from "./gateway.ts";
import type { Instruments, Levels } from "./http/metrics.ts";
import { Service } from "./service.ts";
import { StreamIds } from "./stream-ids.ts";

export interface ServiceSettings {
  readonly config: Partial<SchedulerConfig>;
  /** A worker that is silent for this long is lost. */
  readonly leaseMs: number;
  /** What a worker may take beyond a time-out, or to confirm that it cancelled. */
  readonly graceMs: number;
  readonly maxResultBytes: number;
  /** Per attempt. */
  readonly maxLogBytes: number;
  readonly retention: Retention;
}

const DAY_MS = 86_400_000;

const STANDARD_SETTINGS: ServiceSettings = {
  config: {},
  leaseMs: 15_000,
  graceMs: 30_000,
  maxResultBytes: 1024 * 1024,
  maxLogBytes: 1024 * 1024,
  retention: { endedTasksMs: null, logsMs: 7 * DAY_MS, idempotencyMs: DAY_MS },
};

/** How a service decides where it is not told otherwise. */
const SERVICE_CONFIG: SchedulerConfig = {
  ...DEFAULT_CONFIG,
  order: "hrrn",
  fairShare: 10,
  // What waits at a worker is out of reach: for what is more urgent, for other workers, for its deadline.
  maxQueuePerWorker: 0,
  jitterPermille: 250,
};

export interface OpenServiceOptions {
  readonly store: ServiceStore;
  readonly settings?: Partial<ServiceSettings>;
  readonly instruments?: Instruments;
  readonly warn: (message: string) => void;
  /** Nothing can be committed any more: another process leads, or the store is broken. */
  readonly onFailed: (error: Error) => void;
}

export interface OpenService extends AsyncDisposable {
  readonly api: Api;
  readonly gateway: Gateway;
  readonly driver: Driver;
}

const PRUNE_EVERY_MS = 60_000;

/** A scheduler on its store: everything but the wire. */
export async function openService(options: OpenServiceOptions): Promise<OpenService> {
  const { store, warn, onFailed, instruments } = options;
  const settings = { ...STANDARD_SETTINGS, ...options.settings };
  const { leaseMs, graceMs, maxResultBytes, maxLogBytes, retention } = settings;
  const projection = new Projection(store);
  const effects: ((facts: readonly Fact[], state: State) => void)[] = [];
  const clock = steadyClock();
  const driver = await Driver.open({
    store,
    config: { ...SERVICE_CONFIG, ...settings.config },
    clock,
    recorder: projection,
    onFailed,
    onCommitted: () => {
      const facts = projection.takeFacts();
      for (const effect of effects) effect(facts, driver.state);
    },
    ...(instruments && { onCommit: (ms: number, events: number) => instruments.committed(ms, events) }),
  });
  const secret = await store.setting("stream-secret", () => crypto.randomUUID());
  const stream = new EventStream(new StreamIds(secret), driver.state.seq);
  const gateway = new Gateway({ driver, store, clock, leaseMs, graceMs, maxResultBytes, maxLogBytes, warn });
  const assignments = new LastAssignments();
  const service = new Service({ driver, store, gateway, stream, assignments });
  effects.push(
    (facts) => assignments.follow(facts),
    (facts) => gateway.letOut(facts),
    (facts) => service.letOut(facts),
    (facts, state) => stream.publish(facts, state),
  );
  if (instruments) effects.push((facts) => count(instruments, facts));
  const pruning = setInterval(() => {
    store.prune(clock(), retention).catch((error: unknown) => warn(`pruning: ${(error as Error).message}`));
  }, PRUNE_EVERY_MS);
  return {
    api: service,
    gateway,
    driver,
    async [Symbol.asyncDispose]() {
      clearInterval(pruning);
      await gateway[Symbol.asyncDispose]();
      await driver[Symbol.asyncDispose]();
    },
  };
}

/** What the instruments show of a state, over all zones. */
export function levelsOf(state: State, now: number): Levels {
  const zones = new Set([...state.pools.values()].map(({ demand }) => demand.needs.zone));
  const queued = [0, 0, 0];
  for (const zone of zones) {
    for (const [at, { count }] of census(state, zone, now).classes.entries())
      queued[at] = (queued[at] ?? 0) + count;
  }
  const workersByStatus: Record<string, number> = {};
  for (const { status } of state.fleet.present())
    workersByStatus[status] = (workersByStatus[status] ?? 0) + 1;
  return { queued, running: state.fleet.heldTotal, workersByStatus };
}

function count(instruments: Instruments, facts: readonly Fact[]): void {
  for (const { event } of facts) {
    switch (event.kind) {
      case "TaskSubmitted":
        instruments.submitted(1);
        break;
      case "RunSubmitted":
        instruments.submitted(event.graph.ids.length);
        break;
      case "AttemptFinished":
        instruments.ended("completed");
        break;
      case "TaskFailed":
        instruments.ended("failed");
        break;
      case "TaskCancelled":
        instruments.ended("cancelled");
        break;
      case "TasksSkipped":
        instruments.ended("cancelled", event.nodes.length);
        break;
      case "SubmissionsRefused":
        for (let at = 0; at < event.count; at++) instruments.refused(event.code);
        break;
      default:
    }
  }
}
