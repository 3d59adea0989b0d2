import type { Attachment } from "../driver/index.ts";
import type { LedgerEvent, SchedulerConfig } from "../ledger/index.ts";
import type { State, Stimulus } from "../scheduler/index.ts";
import type { Agenda } from "./agenda.ts";
import type { Checker } from "./checker.ts";
import type { Random } from "./random.ts";
import { type OnAnswer, ServerLife } from "./server-life.ts";
import { Disk, type Fate } from "./sim-store.ts";
import type { Tally } from "./tally.ts";
import { Violation } from "./violation.ts";

export interface HostEvents {
  /** Effects of a block that is stored. */
  onEffects(events: readonly LedgerEvent[]): void;
  /** A process has taken up what is stored. */
  onOpened(): void;
}

/** A process that was superseded and does not notice is stopped after this long. */
const ZOMBIE_MS = 8_000;

/**
 * Where server processes live and die, one after the other, and sometimes two at once: a wall clock that can be set,
 * and a disk that outlives them.
 */
export class Host {
  readonly disk: Disk = new Disk();
  /** The first thing that went wrong. */
  failure: Error | undefined;
  #wallOffsetMs = 0;
  #life: ServerLife | undefined;
  #config: SchedulerConfig;
  readonly #agenda: Agenda;
  readonly #random: Random;
  readonly #tally: Tally;
  readonly #checker: Checker;
  readonly #events: HostEvents;

  constructor(
    agenda: Agenda,
    random: Random,
    tally: Tally,
    checker: Checker,
    config: SchedulerConfig,
    events: HostEvents,
  ) {
    this.#agenda = agenda;
    this.#random = random;
    this.#tally = tally;
    this.#checker = checker;
    this.#config = config;
    this.#events = events;
    this.#start();
  }

  wallMs(): number {
    return this.#agenda.nowMs + this.#wallOffsetMs;
  }

  /** How long the clock that decisions see stands still, because the wall clock was set back. */
  get clockLagMs(): number {
    return Math.max(0, this.#checker.model.now - (this.#life?.time ?? this.wallMs()));
  }

  get isIdle(): boolean {
    return this.#life?.isIdle === true;
  }

  get state(): State | undefined {
    return this.#life?.state;
  }

  jumpClock(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  /** Lost where there is no server to hear it. */
  receive(stimulus: Stimulus, onAnswer?: OnAnswer, attached?: Attachment): void {
    if (stimulus.kind === "SchedulerConfigured") this.#config = stimulus.config;
    this.#life?.submit(stimulus, attached, onAnswer);
  }

  hasRun(id: string): boolean {
    return this.#checker.rows.runs.has(id);
  }

  read(): void {
    this.#life?.read();
  }

  crash(fate: Fate | undefined): void {
    if (!this.#life) return;
    if (fate) this.#life.store.fate = fate;
    else this.#life.kill();
  }

  /** Another process takes over while this one still runs: it finds out when it commits, unless it is faster. */
  takeOver(): void {
    const old = this.#life;
    if (!old?.isOpen) return;
    this.#tally.count("server superseded");
    old.superseded = true;
    this.#start();
    this.#agenda.in(ZOMBIE_MS, () => old.kill());
  }

  /** For a while nobody can find out which keys were used. */
  loseKeys(forMs: number): void {
    const { store } = this.#life ?? {};
    if (!store) return;
    store.unavailable = true;
    this.#agenda.in(forMs, () => {
      store.unavailable = false;
    });
  }

  settle(): void {
    this.guard(() => this.#life?.settle());
    if (this.failure !== undefined) throw this.failure;
  }

  guard(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.failure ??= error as Error;
    }
  }

  #start(): void {
    const life: ServerLife = new ServerLife(
      this.disk,
      this.#agenda,
      this.#random,
      this.#tally,
      this.#checker,
      this.#config,
      {
        wallMs: () => this.wallMs(),
        guard: (act) => this.guard(act),
        onOpened: () => {
          if (life === this.#life) this.#events.onOpened();
        },
        onCommitted: (events) => this.#events.onEffects(events),
        onEnded: (error) => this.#ended(life, error),
      },
    );
    this.#life = life;
  }

  #ended(life: ServerLife, error: Error | undefined): void {
    if (error && !life.store.hasFailed) {
      this.failure ??= error.name === "StoreError" ? new Violation("store-misused", error.message) : error;
    }
    if (life !== this.#life) return;
    this.#tally.count("server restarted");
    this.#agenda.in(this.#random.int(0, 400), () => {
      if (life === this.#life) this.#start();
    });
  }
}
