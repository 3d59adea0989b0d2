import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { CLASS_NAMES } from "../../queue/index.ts";

/** What is counted when it is asked for, over all zones. */
export interface Levels {
  /** By class: interactive, batch, background. */
  readonly queued: readonly number[];
  readonly running: number;
  readonly workersByStatus: Readonly<Record<string, number>>;
}

const HTTP_BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30, 60];
const COMMIT_BUCKETS_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
const BLOCK_BUCKETS = [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000];

/** The server's instruments, in a registry of their own: two servers in one process do not mix. */
export class Instruments {
  readonly registry: Registry = new Registry();
  readonly #lag: IntervalHistogram = monitorEventLoopDelay({ resolution: 20 });
  readonly #http = this.#histogram("http_request_duration_seconds", "Time to answer.", HTTP_BUCKETS_S, [
    "method",
    "route",
    "status",
  ]);
  readonly #commit = this.#histogram("commit_duration_seconds", "Time to commit a block.", COMMIT_BUCKETS_S);
  readonly #block = this.#histogram("block_events", "Events in a block.", BLOCK_BUCKETS);
  readonly #submitted = this.#counter("tasks_submitted_total", "Tasks that were accepted.");
  readonly #ended = this.#counter("tasks_ended_total", "Tasks that ended.", ["status"]);
  readonly #refused = this.#counter("submissions_refused_total", "Submissions that were refused.", ["code"]);

  constructor(levels?: () => Levels) {
    this.#lag.enable();
    this.#processGauges();
    if (levels) this.#levelGauges(levels);
  }

  answered(method: string, route: string, status: number, ms: number): void {
    this.#http.observe({ method, route, status: String(status) }, ms / 1000);
  }

  committed(ms: number, events: number): void {
    this.#commit.observe(ms / 1000);
    this.#block.observe(events);
  }

  submitted(count: number): void {
    this.#submitted.inc(count);
  }

  ended(status: "completed" | "failed" | "cancelled", count = 1): void {
    this.#ended.inc({ status }, count);
  }

  refused(code: string): void {
    this.#refused.inc({ code });
  }

  close(): void {
    this.#lag.disable();
    this.registry.clear();
  }

  #levelGauges(levels: () => Levels): void {
    this.#gauge("tasks_queued", "Waiting tasks.", ["class"], (gauge) => {
      const { queued } = levels();
      for (const [number, name] of CLASS_NAMES.entries()) gauge.set({ class: name }, queued[number] ?? 0);
    });
    this.#gauge("tasks_running", "Tasks that workers have.", [], (gauge) => gauge.set(levels().running));
    this.#gauge("workers", "Workers.", ["status"], (gauge) => {
      gauge.reset();
      for (const [status, count] of Object.entries(levels().workersByStatus)) gauge.set({ status }, count);
    });
  }

  #processGauges(): void {
    this.#gauge(
      "event_loop_lag_seconds",
      "How late timers are, since the last time asked.",
      ["quantile"],
      (gauge) => {
        for (const quantile of [0.5, 0.99])
          gauge.set({ quantile: String(quantile) }, this.#lag.percentile(quantile * 100) / 1e9);
        gauge.set({ quantile: "1" }, this.#lag.max / 1e9);
        this.#lag.reset();
      },
    );
    this.#gauge("resident_memory_bytes", "Memory of the process.", [], (gauge) =>
      gauge.set(process.memoryUsage.rss()),
    );
    this.#gauge("cpu_seconds", "Processor time of the process.", [], (gauge) => {
      const { user, system } = process.cpuUsage();
      gauge.set((user + system) / 1e6);
    });
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

  #gauge<Label extends string>(
    name: string,
    help: string,
    labelNames: Label[],
    collect: (gauge: Gauge<Label>) => void,
  ): void {
    const gauge: Gauge<Label> = new Gauge({
      name: `orrery_${name}`,
      help,
      labelNames,
      registers: [this.registry],
      collect: () => collect(gauge),
    });
  }
}
