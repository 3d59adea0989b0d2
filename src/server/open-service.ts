import { getHeapStatistics } from "node:v8";
import { HolderAddresses } from "../chunks/index.ts";
import type { Term } from "../cluster/index.ts";
import type { Fact } from "../driver/index.ts";
import { ClockWatch, Driver, steadyClock } from "../driver/index.ts";
import type { SchedulerConfig } from "../ledger/index.ts";
import { DEFAULT_CONFIG } from "../scheduler/index.ts";
import { isAway, type Retention, type ServiceStore } from "../store/index.ts";
import { addSpan } from "../telemetry/index.ts";
import { type WebhookSettings, Webhooks } from "../webhooks/index.ts";
import type { Api } from "./api.ts";
import { DataTerms } from "./data-terms.ts";
import { EventStream } from "./event-stream.ts";
import { LastAssignments } from "./explanation.ts";
import { Gateway } from "./gateway.ts";
import type { Instruments } from "./http/metrics.ts";
import { Intake } from "./intake.ts";
import { Keys } from "./keys.ts";
import { MeteredProjection } from "./meter.ts";
import { Past } from "./past/past.ts";
import { Payloads } from "./payloads.ts";
import { RecentActivity } from "./recent-activity.ts";
import { RecentAttempts } from "./recent-attempts.ts";
import { Results } from "./results.ts";
import { Schedules } from "./schedules/schedules.ts";
import { ServerSecret } from "./secret.ts";
import { Service } from "./service.ts";
import { Standstill } from "./standstill.ts";
import { StreamIds } from "./stream-ids.ts";
import { Traces } from "./traces.ts";
import { noteEnds, webhookData } from "./webhook-data.ts";
import { WORKER_LIMITS, type WorkerLimits } from "./worker-limits.ts";

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
  readonly workers: WorkerLimits;
  /** What waits is looked at again at least so often. */
  readonly lookEveryMs: number;
  readonly webhooks: Partial<WebhookSettings>;
  /** Networks from which results of workers may be fetched although their addresses are loopback or link-local. */
  readonly dataAllow: readonly string[];
  /** How many of the latest events, and of the tasks placed last, are kept at hand; up to twice as many take memory. */
  readonly remembered: number;
}

const DAY_MS = 86_400_000;

export const STANDARD_SETTINGS: ServiceSettings = {
  config: {},
  leaseMs: 15_000,
  graceMs: 30_000,
  maxResultBytes: 1024 * 1024,
  maxLogBytes: 1024 * 1024,
  retention: { endedTasksMs: null, logsMs: 7 * DAY_MS, idempotencyMs: DAY_MS },
  workers: WORKER_LIMITS,
  lookEveryMs: 30_000,
  webhooks: {},
  dataAllow: [],
  remembered: 50_000,
};

/** How a service decides where it is not told otherwise. */
export const SERVICE_CONFIG: SchedulerConfig = {
  ...DEFAULT_CONFIG,
  order: "hrrn",
  fairShare: 10,
  // What waits at a worker is out of reach: for what is more urgent, for other workers, for its deadline.
  maxQueuePerWorker: 0,
  jitterPermille: 250,
  cacheBytes: 256 * 2 ** 20,
  backlogLimit: 2_000_000,
  backlogBytes: null,
  zoneShare: 800,
  agentShare: 800,
};

/**
 * The part of the heap that open work may take by default. Ended runs take up to a quarter of that besides, a snapshot that is
 * written or read takes some two thirds for a moment, and the process itself up to 100 MiB.
 */
const BACKLOG_PART = 1 / 3;
/** The part of `backlogBytes` that registrations of workers may take besides by default. */
const REGISTRATIONS_PART = 1 / 4;
/** The part of that which registrations of lost workers may take besides. */
const LOST_PART = 1 / 4;

/** Fills in what depends on this process. The scheduler itself asks nobody, so the result is recorded with the configuration. */
function limitsFor({ config, workers }: ServiceSettings) {
  const byHeap = Math.floor(getHeapStatistics().heap_size_limit * BACKLOG_PART);
  const backlogBytes = config.backlogBytes ?? byHeap;
  const registrationBytes = workers.registrationBytes ?? Math.floor(backlogBytes * REGISTRATIONS_PART);
  const keepLostBytes = Math.floor(registrationBytes * LOST_PART);
  return {
    config: { ...SERVICE_CONFIG, ...config, backlogBytes, keepLostBytes },
    workers: { ...workers, registrationBytes },
  };
}

export interface OpenServiceOptions {
  readonly store: ServiceStore;
  /** What this process leads with; by default a new epoch, of a store that nobody leads. */
  readonly term?: Pick<Term, "epoch" | "follower">;
  readonly settings?: Partial<ServiceSettings>;
  /** What the servers of the store share; by default one of this process alone. */
  readonly secret?: ServerSecret;
  readonly instruments?: Instruments;
  /** The keys of the store; by default they are opened and closed with the service. */
  readonly keys?: Keys;
  readonly warn: (message: string) => void;
  /** Nothing can be committed any more: another process leads, or the store is broken. */
  readonly onFailed: (error: Error) => void;
}

export interface OpenService extends AsyncDisposable {
  readonly api: Api;
  readonly gateway: Gateway;
  readonly driver: Driver;
  readonly webhooks: Webhooks;
  readonly schedules: Schedules;
  readonly past: Past;
}

const PRUNE_EVERY_MS = 60_000;

/** A scheduler on its store: everything but the wire. */
export async function openService(options: OpenServiceOptions): Promise<OpenService> {
  const { store, term, warn, onFailed, instruments, secret = ServerSecret.random() } = options;
  const settings = { ...STANDARD_SETTINGS, ...options.settings };
  const { leaseMs, graceMs, maxResultBytes, maxLogBytes, retention, remembered } = settings;
  const { config, workers } = limitsFor(settings);
  const recent = new RecentActivity();
  const traces = new Traces();
  const payloads = new Payloads(store, (id, settings) => traces.keepFrom(id, settings));
  const results = new Results(store);
  const projection = new MeteredProjection(
    store,
    (task, payload) => payloads.keep(task, payload),
    (task, result) => results.keep(task, result),
    instruments,
    recent,
  );
  /** Of the turns that are decided and not yet committed. */
  const decided: (readonly Fact[])[] = [];
  const effects: ((facts: readonly Fact[]) => void)[] = [];
  const driver = await Driver.open({
    store,
    ...(term && { epoch: term.epoch, follower: term.follower }),
    config,
    lookEveryMs: settings.lookEveryMs,
    clock: steadyClock(),
    recorder: projection,
    onFailed,
    onDecided: () => {
      const facts = projection.takeFacts();
      payloads.prepare(facts);
      decided.push(facts);
    },
    onCommitted: () => {
      const facts = decided.shift() ?? [];
      for (const effect of effects) effect(facts);
    },
    onUndone: () => {
      decided.length = 0;
      payloads.reset();
      results.reset();
    },
    onContentRefused: warn,
    onStep: (ms) => instruments?.decided(ms),
    onCommit: (ms, events) => {
      instruments?.committed(ms, events);
      recent.committed(ms);
      addSpan("commit", ms, { "orrery.commit.events": events });
    },
  });
  const clockWatch = await ClockWatch.open({ driver, warn });
  const streamKey = secret.derive("stream ids");
  const stream = new EventStream(new StreamIds(streamKey), driver.state.seq, driver, remembered);
  const onFenced = () => instruments?.fenced();
  const terms = { leaseMs, graceMs, maxResultBytes, maxLogBytes };
  const data = new DataTerms(secret.derive("chunk tokens"), new HolderAddresses(settings.dataAllow));
  const gateway = new Gateway({
    driver,
    store,
    payloads,
    results,
    data,
    limits: workers,
    ...terms,
    warn,
    onFenced,
    traces,
  });
  const assignments = new LastAssignments(remembered);
  const attempts = new RecentAttempts(driver, remembered);
  const keys = options.keys ?? (await Keys.open(store));
  // A server that led before may have revoked one a moment ago.
  if (options.keys) await keys.refresh();
  const whyEnded = (keyId: string) => keys.whyEnded(keyId);
  const webhooks = await Webhooks.open({
    store: store.webhooks,
    settings: settings.webhooks,
    describe: (ended, withResult) => webhookData(ended, withResult, driver.state.config),
    now: () => driver.timeOfDay(),
    whyEnded,
    warn,
  });
  const service = new Service({
    driver,
    store,
    gateway,
    stream,
    assignments,
    recent,
    attempts,
    webhooks,
    traces,
    data,
  });
  effects.push(
    // What is to start is let out first; nobody waits for what is remembered of it.
    (facts) => gateway.letOut(facts),
    (facts) => assignments.follow(facts),
    (facts) => attempts.follow(facts),
    (facts) => traces.follow(facts),
    (facts) => service.letOut(facts),
    (facts) => stream.publish(facts),
    (facts) => noteEnds(webhooks, facts),
  );
  const pruning = setInterval(() => {
    prune(store, webhooks, driver.timeOfDay(), retention).catch((error: unknown) => {
      if (!isAway(error)) warn(`pruning: ${(error as Error).message}`);
    });
  }, PRUNE_EVERY_MS);
  const schedules = await Schedules.open({ store: store.schedules, driver, api: service, whyEnded, warn });
  const standstill = new Standstill({ keys, schedules, webhooks, warn });
  const onInbox = (waiting: number, refused: number) => instruments?.inbox(waiting, refused);
  const past = new Past({ driver, store, streamKey });
  const intake = store.inbox && new Intake({ inbox: store.inbox, driver, warn, onCounted: onInbox });
  return {
    api: service,
    gateway,
    driver,
    webhooks,
    schedules,
    past,
    async [Symbol.asyncDispose]() {
      clearInterval(pruning);
      standstill[Symbol.dispose]();
      clockWatch[Symbol.dispose]();
      await past[Symbol.asyncDispose]();
      await schedules[Symbol.asyncDispose]();
      await intake?.[Symbol.asyncDispose]();
      await webhooks[Symbol.asyncDispose]();
      if (!options.keys) await keys[Symbol.asyncDispose]();
      await gateway[Symbol.asyncDispose]();
      await driver[Symbol.asyncDispose]();
    },
  };
}

/** What is dropped can no longer be told of, so that is done first. */
async function prune(
  store: ServiceStore,
  webhooks: Webhooks,
  now: number,
  retention: Retention,
): Promise<void> {
  await webhooks.follow();
  await store.prune(now, retention);
  await store.audit.prune();
  await webhooks.prune();
}
