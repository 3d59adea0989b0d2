import { type Answer, type Attachment, Driver, Projection, type Recorder } from "../driver/index.ts";
import type { Block, LedgerEvent, SchedulerConfig } from "../ledger/index.ts";
import { nextWakeAt, type State, type Stimulus } from "../scheduler/index.ts";
import type { KeyedTask, RowChanges } from "../store/index.ts";
import type { Agenda } from "./agenda.ts";
import { type Checker, keyText } from "./checker.ts";
import type { ExpectedReply } from "./expectation.ts";
import type { Random } from "./random.ts";
import { type Disk, SimStore } from "./sim-store.ts";
import type { Tally } from "./tally.ts";
import { demand } from "./violation.ts";

export type OnAnswer = (answer: Answer) => void;

export interface LifeEvents {
  wallMs(): number;
  /** The only way out for what goes wrong: the driver would take an exception for the store's. */
  guard(act: () => void): void;
  onOpened(): void;
  /** Effects of a block that is stored. */
  onCommitted(events: readonly LedgerEvent[]): void;
  /** It can do no more; undefined: it was killed. */
  onEnded(error: Error | undefined): void;
}

interface Entry {
  readonly stimulus: Stimulus;
  readonly key: KeyedTask | undefined;
  readonly attached: Attachment | undefined;
  /** The turn that took it. */
  turn: LiveTurn | undefined;
  /** What the answer must be; known when its turn is stored, or has come to nothing. */
  expected: ExpectedReply | undefined;
}

interface LiveTurn {
  readonly now: number;
  readonly entries: readonly Entry[];
  phase: "taken" | "recorded" | "checked";
}

/**
 * One life of a server process: the real driver on the store, until it is killed or fails. Watches from outside
 * which stimuli a turn takes, and holds what is stored and answered against the model.
 */
export class ServerLife {
  readonly store: SimStore;
  /** A newer process has taken over; this one does not know. */
  superseded = false;
  #driver: Driver | undefined;
  #state: State | undefined;
  #dead = false;
  #waiting: Entry[] = [];
  /** Keys that came to this process. */
  readonly #ownKeys = new Set<string>();
  /** The tasks of keys that are decided and not stored. */
  readonly #decidedKeys = new Map<string, string>();
  /** Blocks that are stored and have not had their effects. */
  #withoutEffect = 0;
  #taken: Entry[] | undefined;
  /** The one that was taken last. */
  #turn: LiveTurn | undefined;
  /** Those that are decided and not stored, in their order; with those between them that recorded nothing. */
  #decided: LiveTurn[] = [];
  #wakeAt: number | undefined;
  #armed = false;
  /** How far the ledger's time was ahead of the clock when the driver looked at it first. */
  #aheadMs: number | undefined;
  readonly #agenda: Agenda;
  readonly #tally: Tally;
  readonly #checker: Checker;
  readonly #events: LifeEvents;
  readonly #config: SchedulerConfig;
  readonly #projection: Projection;

  constructor(
    disk: Disk,
    agenda: Agenda,
    random: Random,
    tally: Tally,
    checker: Checker,
    config: SchedulerConfig,
    events: LifeEvents,
  ) {
    this.#agenda = agenda;
    this.#tally = tally;
    this.#checker = checker;
    this.#events = events;
    this.#config = config;
    this.store = new SimStore(disk, agenda, random, tally, {
      onStored: (block, rows) => events.guard(() => this.#stored(block, rows)),
      onCrash: () => this.kill(),
    });
    this.#projection = new Projection(this.store);
    void this.#open(random);
  }

  get isOpen(): boolean {
    return this.#driver !== undefined && !this.#dead;
  }

  get isIdle(): boolean {
    return this.isOpen && !this.#isTurning && !this.store.isBusy;
  }

  /** A snapshot may be on its way to the store without it. */
  get #isTurning(): boolean {
    return this.#waiting.length > 0 || this.#taken !== undefined || this.#decided.length > 0;
  }

  /** To look at after a failure. */
  get state(): State | undefined {
    return this.#state;
  }

  /** What the ledger's time would be in a turn now. */
  get time(): number {
    return this.#events.wallMs() + (this.#aheadMs ?? 0);
  }

  submit(stimulus: Stimulus, attached: Attachment | undefined, onAnswer: OnAnswer | undefined): void {
    if (!this.isOpen || !this.#driver) return;
    const key = attached?.type === "task" ? attached.key : undefined;
    const entry: Entry = { stimulus, key, attached, turn: undefined, expected: undefined };
    this.#waiting.push(entry);
    this.#driver.submit(stimulus, attached).then(
      (answer) => this.#events.guard(() => this.#answered(entry, answer, onAnswer)),
      () => {},
    );
  }

  /** Nobody sees what is not stored. */
  read(): void {
    this.#driver
      ?.read(({ seq }) => seq)
      .then(
        (seq) =>
          this.#events.guard(() =>
            demand(
              seq <= this.store.head.seq,
              "read-committed",
              () => `event ${seq} was seen, the ledger ends at ${this.store.head.seq}`,
            ),
          ),
        () => {},
      );
  }

  kill(): void {
    if (this.#dead) return;
    this.#dead = true;
    this.store.kill();
    this.#events.onEnded(undefined);
  }

  /** After everything of one moment has happened. */
  settle(): void {
    if (!this.isIdle || this.store.isStale) return;
    if (this.#turn?.phase === "taken") this.#check(this.#turn);
    demand(
      this.#armed || this.#wakeAt === undefined,
      "wakes-in-time",
      () => `something falls due at ${this.#wakeAt}, and the server will not wake`,
    );
  }

  async #open(random: Random): Promise<void> {
    try {
      const driver = await Driver.open({
        store: this.store,
        config: this.#config,
        clock: () => this.#clock(),
        wake: (delayMs, turn) => this.#wake(delayMs, turn),
        pause: () => Promise.resolve(),
        recorder: this.#recorder(),
        snapshotEvery: random.int(20, 300),
        // Some never decide ahead of a commit, some do as soon as there is something to decide.
        decideAheadFrom: random.chance(0.5) ? random.int(1, 4) : 1_000,
        onCommitted: (events) => this.#events.guard(() => this.#letOut(events)),
        onFailed: (error) => this.#fail(error),
      });
      this.#driver = driver;
      this.#state = driver.state;
      this.#wakeAt = nextWakeAt(driver.state, driver.state.now);
      this.#turn = { now: driver.state.now, entries: [], phase: "checked" };
      this.#events.guard(() => this.#events.onOpened());
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #fail(error: Error): void {
    if (this.#dead) return;
    this.#dead = true;
    this.store.kill();
    this.#events.onEnded(error);
  }

  /** The driver looks at the clock when it begins a turn; also before the first, and when it sets its timer. */
  #clock(): number {
    this.#aheadMs ??= Math.max(0, this.store.openedAt - this.#events.wallMs());
    const taken = this.#taken;
    if (taken) {
      if (this.#turn?.phase === "taken" && this.#decided.length > 0) this.#decided.push(this.#turn);
      const last = this.#driver ? this.#turn?.now : undefined;
      const now = Math.max(last ?? this.store.openedAt, this.time);
      this.#turn = { now, entries: taken, phase: "taken" };
      for (const entry of taken) entry.turn = this.#turn;
    }
    this.#taken = undefined;
    return this.#events.wallMs();
  }

  #wake(delayMs: number, turn: () => void): () => void {
    this.#armed = true;
    let cancelled = false;
    this.#events.guard(() => this.#checkDelay(delayMs));
    this.#agenda.in(delayMs, () => {
      if (cancelled) return;
      this.#armed = false;
      if (!this.#dead) turn();
    });
    return () => {
      if (!cancelled) this.#armed = false;
      cancelled = true;
    };
  }

  #checkDelay(delayMs: number): void {
    if (!this.#driver || this.store.isStale) return;
    if (this.#turn?.phase === "taken") this.#check(this.#turn);
    const due = this.#wakeAt === undefined ? Number.POSITIVE_INFINITY : this.#wakeAt - this.time;
    demand(
      delayMs <= Math.max(1, due),
      "wakes-in-time",
      () => `the server wakes in ${delayMs} ms, something falls due in ${due}`,
    );
  }

  #recorder(): Recorder {
    const projection = this.#projection;
    return {
      repeats: async (attached) => {
        const entries = this.#waiting.splice(0, attached.length);
        this.#taken = entries;
        try {
          const repeats = await projection.repeats(attached);
          this.#taken = this.#withoutRepeats(entries);
          return repeats;
        } catch (error) {
          this.#taken = entries.filter((entry) => entry.attached === undefined);
          throw error;
        }
      },
      note: (state, event, now, attached) => {
        this.#state = state;
        const key = (attached as Attachment | undefined)?.type === "task" ? keyOf(attached) : undefined;
        if (key) this.#decidedKeys.set(keyText(key), key.taskId);
        projection.note(state, event, now, attached);
      },
      take: () => {
        projection.takeFacts();
        if (this.#turn) {
          this.#turn.phase = "recorded";
          this.#decided.push(this.#turn);
          if (this.#decided.length > 1) this.#tally.count("turn decided ahead");
        }
        return projection.take();
      },
    };
  }

  /** What must be taken for a repetition, by the model. */
  #withoutRepeats(entries: readonly Entry[]): Entry[] {
    const firsts = new Map<string, Entry>();
    return entries.filter((entry) => {
      const { key } = entry;
      if (!key) return true;
      const text = keyText(key);
      const known = this.#checker.keys.get(text) ?? this.#decidedKeys.get(text);
      const first = firsts.get(text);
      if (known !== undefined) {
        if (!this.#ownKeys.has(text)) this.#tally.count("key repeated after a restart");
        entry.expected = { type: "repeats", taskId: known, first: undefined };
      } else if (first) entry.expected = { type: "repeats", taskId: first.key?.taskId ?? "", first };
      else firsts.set(text, entry);
      this.#ownKeys.add(text);
      return entry.expected === undefined;
    });
  }

  #stored(block: Block, rows: RowChanges | undefined): void {
    this.#withoutEffect++;
    this.#check(this.#decided.shift() ?? { now: this.time, entries: [], phase: "recorded" }, block, rows);
    for (let next = this.#decided[0]; next && next.phase !== "recorded"; next = this.#decided[0]) {
      if (next.phase === "taken") this.#check(next);
      this.#decided.shift();
    }
  }

  #check(turn: LiveTurn, block?: Block, rows?: RowChanges): void {
    const opening: Stimulus[] = this.#driver ? [] : [{ kind: "SchedulerConfigured", config: this.#config }];
    turn.phase = "checked";
    const expected = this.#checker.check(
      {
        now: turn.now,
        stimuli: [...opening, ...turn.entries.map(({ stimulus }) => stimulus)],
        keys: [...opening.map(() => undefined), ...turn.entries.map(({ key }) => key)],
        block,
        rows,
      },
      this.#state as State,
      turn === this.#turn || !this.#driver,
    );
    if (turn === this.#turn) this.#wakeAt = expected.wakeAt;
    for (const { key } of turn.entries) if (key) this.#decidedKeys.delete(keyText(key));
    for (const [at, entry] of turn.entries.entries()) entry.expected = expected.replies[at + opening.length];
  }

  #letOut(events: readonly LedgerEvent[]): void {
    demand(
      this.#withoutEffect-- > 0,
      "commit-before-effect",
      () => `${events.length} events were let out before they were stored`,
    );
    if (this.#driver && !this.superseded && !this.#dead) this.#events.onCommitted(events);
  }

  #answered(entry: Entry, answer: Answer, onAnswer: OnAnswer | undefined): void {
    if (this.#dead) return;
    if (!entry.expected) {
      demand(
        entry.turn?.phase !== "recorded",
        "commit-before-answer",
        () => `${entry.stimulus.kind} was answered before it was stored`,
      );
      if (this.store.isStale || !entry.turn) return;
      this.#check(entry.turn);
    }
    if (entry.expected) this.#checker.checkAnswer(entry.expected, answer);
    if (!this.superseded) onAnswer?.(answer);
  }
}

function keyOf(attached: unknown): KeyedTask | undefined {
  return (attached as Extract<Attachment, { type: "task" }>).key;
}
