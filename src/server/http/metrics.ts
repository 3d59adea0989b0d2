import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { CLASS_NAMES } from "../../queue/index.ts";
import type { Levels } from "../levels.ts";
import { TalliedCounter, TalliedHistogram } from "./tallies.ts";

const HTTP_BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30, 60];
const COMMIT_BUCKETS_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
const DECISION_BUCKETS_S = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5];
const WAIT_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2.5, 5, 15, 60, 300, 1800, 7200, 43_200];
const RUN_BUCKETS_S = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400, 43_200];
/** How attempts end. */
const RUN_RESULTS = ["completed", "failed", "timed_out", "lost", "cancelled"] as const;
const BLOCK_BUCKETS = [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000];

export interface InstrumentsOptions {
  readonly version?: string;
  /** The state as it is now; undefined: there is none to look at, for instance because another server leads. */
  readonly levels?: () => Promise<Levels | undefined>;
}

/**
 * The server's instruments, in a registry of their own: two servers in one process do not mix. Labels have closed
 * sets of values: no task, agent or zone stands in one.
 */
export class Instruments {
  readonly registry: Registry = new Registry();
  /** Sources of what is held at the HTTP edge, by name. */
  readonly held: Set<() => Readonly<Record<string, number>>> = new Set();
  readonly #levels: () => Promise<Levels | undefined>;
  readonly #lag: IntervalHistogram = monitorEventLoopDelay({ resolution: 20 });
  readonly #http = this.#histogram("http_request_seconds", "Time to answer.", HTTP_BUCKETS_S, [
    "method",
    "route",
    "status",
  ]);
  readonly #commit = this.#histogram("commit_seconds", "Time to commit a block.", COMMIT_BUCKETS_S);
  readonly #decision = this.#histogram("decision_seconds", "Time to decide a turn.", DECISION_BUCKETS_S);
  readonly #block = this.#histogram("block_events", "Events in a block.", BLOCK_BUCKETS);
  readonly #wait = new TalliedHistogram(
    {
      name: "orrery_schedule_to_start_seconds",
      help: "Time from when a task could start to when it did, of first attempts.",
      label: "class",
    },
    WAIT_BUCKETS_S,
    CLASS_NAMES,
  );
  readonly #run = new TalliedHistogram(
    { name: "orrery_run_seconds", help: "Time that attempts ran.", label: "result" },
    RUN_BUCKETS_S,
    RUN_RESULTS,
  );
  readonly #submitted = this.#counter("tasks_submitted_total", "Tasks that were accepted.");
  readonly #ended = new TalliedCounter({
    name: "orrery_tasks_ended_total",
    help: "Tasks that ended.",
    label: "status",
  });
  readonly #refused = this.#counter("submissions_refused_total", "Submissions that were refused.", ["code"]);
  readonly #assigned = new TalliedCounter({
    name: "orrery_decisions_total",
    help: "Tasks that were given to a worker.",
    label: "reason",
  });
  readonly #rejected = new TalliedCounter({
    name: "orrery_rejections_total",
    help: "Workers that were passed over when a task was given out.",
    label: "reason",
  });
  readonly #limited = new TalliedCounter({
    name: "orrery_http_limited_total",
    help: "Requests refused, and connections closed, by the limit in `server` that they met.",
    label: "limit",
  });
  readonly #held = this.#gauge("http_held", "Held at the HTTP edge now: connections, and bytes.", ["what"]);
  readonly #events = this.#counter("ledger_events_total", "Events that were committed.");
  readonly #fenced = this.#counter("fenced_completions_total", "Reports that came too late or twice.");
  readonly #lost = this.#counter("workers_lost_total", "Workers that went: lease means by silence.", [
    "code",
  ]);
  readonly #expired = this.#counter("lease_expired_total", "Workers that were silent for a whole lease.");
  readonly #gauges = this.#makeGauges();

  constructor({ version = "", levels = async () => undefined }: InstrumentsOptions = {}) {
    this.#levels = levels;
    this.#lag.enable();
    this.#gauge("build_info", "Always 1.", ["version", "node"]).set(
      { version, node: process.versions.node },
      1,
    );
    for (const status of ["completed", "failed", "cancelled"]) this.#ended.add(status, 0);
  }

  /** All of them, in the text format of Prometheus. */
  async text(): Promise<string> {
    this.#showLevels(await this.#levels().catch(() => undefined));
    this.#showProcess();
    for (const held of this.held) {
      for (const [what, amount] of Object.entries(held())) this.#held.set({ what }, amount);
    }
    const tallied = [this.#limited, this.#wait, this.#run, this.#ended, this.#assigned, this.#rejected];
    return (await this.registry.metrics()) + tallied.map((one) => one.text()).join("");
  }

  answered(method: string, route: string, status: number, ms: number): void {
    this.#http.observe({ method, route, status: String(status) }, ms / 1000);
  }

  decided(ms: number): void {
    this.#decision.observe(ms / 1000);
  }

  committed(ms: number, events: number): void {
    this.#commit.observe(ms / 1000);
    this.#block.observe(events);
    this.#events.inc(events);
  }

  limited(limit: string): void {
    this.#limited.add(limit);
  }

  submitted(count: number): void {
    this.#submitted.inc(count);
  }

  refused(code: string, count: number): void {
    this.#refused.inc({ code }, count);
  }

  assigned(reason: string): void {
    this.#assigned.add(reason);
  }

  rejected(reason: string, count: number): void {
    this.#rejected.add(reason, count);
  }

  started(className: (typeof CLASS_NAMES)[number], waitMs: number): void {
    this.#wait.observe(className, waitMs / 1000);
  }

  ran(result: (typeof RUN_RESULTS)[number], ms: number): void {
    this.#run.observe(result, ms / 1000);
  }

  ended(status: "completed" | "failed" | "cancelled", count: number): void {
    this.#ended.add(status, count);
  }

  fenced(): void {
    this.#fenced.inc();
  }

  workerLost(code: string): void {
    this.#lost.inc({ code });
    if (code === "lease") this.#expired.inc();
  }

  inbox(waiting: number, refused: number): void {
    this.#gauges.inbox.set({ state: "waiting" }, waiting);
    this.#gauges.inbox.set({ state: "refused" }, refused);
  }

  close(): void {
    this.#lag.disable();
    this.registry.clear();
  }

  #makeGauges() {
    return {
      leader: this.#gauge("leader", "1 where this server decides, 0 where it does not."),
      queued: this.#gauge("tasks_queued", "Tasks that could start if there were room.", ["class"]),
      running: this.#gauge("tasks_running", "Tasks that workers have.", ["class"]),
      oldest: this.#gauge(
        "oldest_task_age_seconds",
        "How long the oldest task of a class has waited since it could start; 0 where none waits.",
        ["class"],
      ),
      unscheduled: this.#gauge("unscheduled_tasks", "Tasks that wait, by the first reason that applies.", [
        "reason",
      ]),
      workers: this.#gauge("workers", "Workers.", ["status"]),
      slots: this.#gauge("worker_slots", "What workers can run at once.", ["state"]),
      clockOffset: this.#gauge(
        "clock_offset_seconds",
        "Time of day minus the ledger's time: not 0 after a leader's clock was wrong or was set.",
      ),
      inbox: this.#gauge(
        "inbox_rows",
        "Submissions in transactions that wait, or were refused and are kept.",
        ["state"],
      ),
      lag: this.#gauge("event_loop_lag_seconds", "How late timers are, since the last time asked.", [
        // A label "quantile" is for summaries only.
        "percentile",
      ]),
      memory: this.#gauge("process_resident_memory_bytes", "Memory of the process."),
      heap: this.#gauge("process_heap_used_bytes", "Of it, objects, also those that are not yet collected."),
      heapTotal: this.#gauge("process_heap_total_bytes", "Of it, taken for objects."),
      external: this.#gauge("process_external_memory_bytes", "Of it, buffers outside of the heap."),
      started: this.#gauge("process_start_time_seconds", "When the process began, since 1970."),
      cpu: this.#counter("process_cpu_seconds_total", "Processor time of the process."),
    };
  }

  #showLevels(levels: Levels | undefined): void {
    const { leader, clockOffset, queued, running, oldest, unscheduled, workers, slots } = this.#gauges;
    leader.set(levels ? 1 : 0);
    clockOffset.set((levels?.clockOffsetMs ?? 0) / 1000);
    for (const gauge of [queued, running, oldest, unscheduled, workers, slots]) gauge.reset();
    if (!levels) return;
    for (const [at, name] of CLASS_NAMES.entries()) {
      const ofClass = levels.classes[at];
      queued.set({ class: name }, ofClass?.ready ?? 0);
      running.set({ class: name }, ofClass?.running ?? 0);
      const since = ofClass && ofClass.oldestReadyAt >= 0 ? ofClass.oldestReadyAt : levels.now;
      oldest.set({ class: name }, Math.max(0, levels.now - since) / 1000);
    }
    for (const [reason, count] of Object.entries(levels.byReason)) unscheduled.set({ reason }, count);
    for (const [status, count] of Object.entries(levels.workersByStatus)) workers.set({ status }, count);
    for (const state of ["busy", "free", "closed"] as const) slots.set({ state }, levels.slots[state]);
  }

  #showProcess(): void {
    const { lag, memory, heap, heapTotal, external, started, cpu } = this.#gauges;
    for (const percentile of [50, 99])
      lag.set({ percentile: String(percentile) }, this.#lag.percentile(percentile) / 1e9);
    lag.set({ percentile: "100" }, this.#lag.max / 1e9);
    this.#lag.reset();
    const used = process.memoryUsage();
    memory.set(used.rss);
    heap.set(used.heapUsed);
    heapTotal.set(used.heapTotal);
    external.set(used.external);
    started.set(performance.timeOrigin / 1000);
    const { user, system } = process.cpuUsage();
    cpu.reset();
    cpu.inc((user + system) / 1e6);
  }

  #histogram<Label extends string>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: Label[] = [],
  ): Histogram<Label> {
    return new Histogram({ name: `orrery_${name}`, help, buckets, labelNames, registers: [this.registry] });
  }

  #counter<Label extends string>(name: string, help: string, labelNames: Label[] = []): Counter<Label> {
    return new Counter({ name: `orrery_${name}`, help, labelNames, registers: [this.registry] });
  }

  #gauge<Label extends string>(name: string, help: string, labelNames: Label[] = []): Gauge<Label> {
    return new Gauge({ name: `orrery_${name}`, help, labelNames, registers: [this.registry] });
  }
}
