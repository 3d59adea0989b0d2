/** What happened lately in a zone: enough for a glance, and bounded whatever happens. */
export interface Activity {
  /** Per second, over the last ten. */
  readonly submittedPerSecond: number;
  readonly startedPerSecond: number;
  readonly endedPerSecond: number;
  /** How much happened in each second of the last minute, oldest first. */
  readonly lastMinute: Readonly<Record<Happening, readonly number[]>>;
  /** From ready to started, of those that started within the last minute; undefined: none did. */
  readonly waitMs: Quantiles | undefined;
}

export interface Quantiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

const SPAN_S = 10;
const KEPT_S = 60;
const LATELY_MS = 60_000;
const SAMPLES = 1_024;
/** Zones beyond these are forgotten, whoever was quiet longest first. */
const MAX_ZONES = 256;

export type Happening = "submitted" | "started" | "ended";

/**
 * Follows what happens, on a clock of its own that never jumps. What is noted happened when it was last told the time: to
 * ask the clock for each task would cost more than to count it.
 */
export class RecentActivity {
  readonly #clock: () => number;
  readonly #nowMs = () => this.#toldMs;
  #toldMs: number;
  readonly #zones = new Map<string, ZoneActivity>();
  readonly #commits: Samples;
  /** Most of what happens happens where the last thing did. */
  #last: { readonly name: string; readonly activity: ZoneActivity } | undefined;

  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
    this.#toldMs = clock();
    this.#commits = new Samples(this.#nowMs);
  }

  /** Tells it the time. */
  tick(): void {
    this.#toldMs = this.#clock();
  }

  note(zone: string, what: Happening, count = 1): void {
    this.#zone(zone).note(what, count);
  }

  waited(zone: string, waitMs: number): void {
    this.#zone(zone).waits.add(waitMs);
  }

  committed(ms: number): void {
    this.tick();
    this.#commits.add(ms);
  }

  of(zone: string): Activity {
    this.tick();
    return (this.#zones.get(zone) ?? new ZoneActivity(this.#nowMs)).toActivity();
  }

  /** Of all zones: they share the ledger. */
  commitMs(): Quantiles | undefined {
    this.tick();
    return this.#commits.quantiles();
  }

  #zone(name: string): ZoneActivity {
    if (this.#last?.name !== name) this.#last = { name, activity: this.#moved(name) };
    return this.#last.activity;
  }

  /** It is the last to be forgotten now. */
  #moved(name: string): ZoneActivity {
    const known = this.#zones.get(name);
    const zone = known ?? new ZoneActivity(this.#nowMs);
    if (known) this.#zones.delete(name);
    this.#zones.set(name, zone);
    if (this.#zones.size > MAX_ZONES) this.#zones.delete(this.#zones.keys().next().value as string);
    return zone;
  }
}

class ZoneActivity {
  readonly waits: Samples;
  readonly #nowMs: () => number;
  /** By second, newest first: the one that is not over does not count. */
  readonly #seconds: Record<Happening, number>[] = [];
  #second: number = Number.NEGATIVE_INFINITY;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.waits = new Samples(nowMs);
    this.#advance();
  }

  note(what: Happening, count: number): void {
    this.#advance();
    (this.#seconds[0] as Record<Happening, number>)[what] += count;
  }

  toActivity(): Activity {
    this.#advance();
    const rate = (what: Happening) =>
      this.#seconds.slice(1, 1 + SPAN_S).reduce((sum, second) => sum + second[what], 0) / SPAN_S;
    const series = (what: Happening) =>
      this.#seconds
        .slice(1)
        .map((second) => second[what])
        .reverse();
    return {
      lastMinute: { submitted: series("submitted"), started: series("started"), ended: series("ended") },
      submittedPerSecond: rate("submitted"),
      startedPerSecond: rate("started"),
      endedPerSecond: rate("ended"),
      waitMs: this.waits.quantiles(),
    };
  }

  #advance(): void {
    const second = Math.floor(this.#nowMs() / 1000);
    const passed = Math.min(second - this.#second, KEPT_S + 1);
    this.#second = second;
    for (let at = 0; at < passed; at++) this.#seconds.unshift({ submitted: 0, started: 0, ended: 0 });
    this.#seconds.length = Math.min(this.#seconds.length, KEPT_S + 1);
  }
}

/** The last values, and when each came. */
class Samples {
  readonly #nowMs: () => number;
  readonly #values = new Float64Array(SAMPLES);
  readonly #at = new Float64Array(SAMPLES).fill(Number.NEGATIVE_INFINITY);
  #next = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  add(value: number): void {
    this.#values[this.#next] = value;
    this.#at[this.#next] = this.#nowMs();
    this.#next = (this.#next + 1) % SAMPLES;
  }

  quantiles(): Quantiles | undefined {
    const since = this.#nowMs() - LATELY_MS;
    const lately = this.#values.filter((_, at) => (this.#at[at] as number) >= since).sort();
    if (lately.length === 0) return undefined;
    const at = (share: number) => lately[Math.ceil(share * lately.length) - 1] as number;
    return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
  }
}
