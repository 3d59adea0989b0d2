import { mix32 } from "../../core/index.ts";
import { type Waits, waitsOf } from "../deadlock.ts";
import { RuntimeError } from "../errors.ts";
import type { Kernel, KernelSettings } from "../kernel.ts";
import type { NurseryCore } from "../nursery-core.ts";
import type { Observer } from "../observer.ts";
import { PROFILES } from "../profiles.ts";
import { type KernelView, viewKernel } from "../snapshot.ts";
import { Directory } from "./directory.ts";
import { type Letter, type Passports, type Post, withPassages } from "./letters.ts";
import { type Counted, Memory, makeMemory } from "./memory.ts";
import { Player, type Stage } from "./player.ts";
import type { Recording } from "./recording.ts";
import { Script } from "./script.ts";
import { makeStation } from "./station.ts";

/** After so long on this thread Node's own loop has a turn. */
const TURN_MS = 20;

/** How much was replayed. */
export interface Replayed {
  readonly steps: number;
  readonly steals: number;
}

/**
 * A run with threads once more, on one: for each of them a kernel with all that it has there, which does what is in its log.
 * Of the steps that can be done the earliest goes next. Whatever comes out otherwise than it did is the end of it.
 */
export class Replay implements Stage {
  readonly letters = new Map<string, Letter>();
  readonly records: readonly Map<number, number>[];
  readonly memory: Memory;
  /** Of the main thread. */
  readonly kernel: Kernel;
  /** Rejects where the program does something else than in the recording. */
  readonly done: Promise<Replayed>;
  readonly #players: Player[] = [];
  readonly #kernels: readonly Kernel[];
  readonly #patienceMs: number;
  #resolve: (replayed: Replayed) => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;
  #diverged: Error | undefined;
  #scheduled = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(recording: Recording, observer: Observer, patienceMs: number) {
    const { settings, logs } = recording;
    this.#patienceMs = patienceMs;
    this.records = logs.map(() => new Map<number, number>());
    this.memory = new Memory(makeMemory(settings.processors, true));
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.done.catch(() => undefined);
    this.#kernels = logs.map((log, me) => this.#addPlayer(settings, log, me, observer));
    this.kernel = this.#kernels[0] as Kernel;
  }

  #addPlayer(
    { profile, seed, stealing, ...settings }: Recording["settings"],
    log: readonly number[],
    me: number,
    observer: Observer,
  ): Kernel {
    const script = new Script(me, log, this);
    const own: KernelSettings = {
      ...settings,
      profile: PROFILES[profile],
      processors: 1,
      seed: me === 0 ? seed : mix32(seed ^ mix32(me)),
      observer,
    };
    const station = {
      me,
      memory: this.memory,
      directory: new Directory(this.memory),
      post: new ReplayPost(this),
      settings: { seed, victims: "random", stealing },
      startedMs: 0,
      sleepsAsAWhole: false,
      shutDown: () => undefined,
      asked: () => undefined,
      idle: () => undefined,
      stalled: () => undefined,
      recorder: undefined,
      chance: script,
    } as const;
    return makeStation(own, station, (kernel, equipped) => {
      const player = new Player(kernel, equipped, script, this);
      this.#players.push(player);
      return player;
    });
  }

  waits(): readonly Waits[] {
    return this.#kernels.map(waitsOf);
  }

  /** What the processors other than the first have. */
  views(limit: number): readonly KernelView[] {
    return this.#kernels.slice(1).map((kernel) => viewKernel(kernel, kernel.tops[1] as NurseryCore, limit));
  }

  get settings(): KernelSettings {
    return this.kernel.settings;
  }

  counters(): readonly Readonly<Record<Counted, number>>[] {
    return this.#players.map(({ me }) => this.memory.counters(me));
  }

  deliver(letter: Letter): void {
    const { to, kind, record, serial, value } = letter;
    const from = kind === "mail" ? (value as { from: number }).from : this.memory.homeOf(record);
    this.letters.set(`${kind} ${to} ${from} ${serial}`, letter);
  }

  diverge(words: string): void {
    if (this.#diverged !== undefined) return;
    this.#diverged = new RuntimeError(
      "ReplayDiverged",
      `the program does not do what was recorded: ${words}`,
    );
    this.close();
    this.#reject(this.#diverged);
  }

  reach(script: Script, kind: number, root: number): void {
    for (;;) {
      if (this.#diverged !== undefined) throw this.#diverged;
      if (script.takeExternal(kind, root)) return;
      if (this.#advance()) continue;
      this.diverge(
        `something is done to root ${root} from outside that was not, or not yet, in the recording`,
      );
    }
  }

  poke(): void {
    if (this.#scheduled || this.#diverged !== undefined) return;
    this.#scheduled = true;
    setImmediate(() => this.#turn());
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #turn(): void {
    this.#scheduled = false;
    clearTimeout(this.#timer);
    const untilMs = performance.now() + TURN_MS;
    while (this.#diverged === undefined && performance.now() < untilMs)
      if (!this.#advance()) {
        this.#rest();
        return;
      }
    this.poke();
  }

  /** Does the earliest step that can be done. */
  #advance(): boolean {
    const waiting = this.#players.filter(({ script }) => !script.isOver);
    waiting.sort((a, b) => a.script.nextUs - b.script.nextUs || a.me - b.me);
    return this.#diverged === undefined && waiting.some((player) => player.step());
  }

  #rest(): void {
    const waiting = this.#players.flatMap(({ script }) => (script.isOver ? [] : [script]));
    const first = waiting.find(({ awaitsOutside }) => !awaitsOutside) ?? waiting[0];
    if (first === undefined) this.#resolve(this.#replayed());
    else if (!waiting.some(({ awaitsOutside }) => awaitsOutside)) this.diverge(first.describe());
    else this.#timer = setTimeout(() => this.diverge(first.describe()), this.#patienceMs);
  }

  #replayed(): Replayed {
    const steals = this.counters().reduce((sum, counted) => sum + counted.steals, 0);
    return { steps: this.#players.reduce((sum, player) => sum + player.script.steps, 0), steals };
  }
}

/** Letters lie with the replay until it is their turn. */
class ReplayPost implements Post {
  passports: Passports | undefined;
  readonly #replay: Replay;

  constructor(replay: Replay) {
    this.#replay = replay;
  }

  send(letter: Letter): boolean {
    const { value, ...sent } = withPassages(letter, this.passports);
    this.#replay.deliver({ ...sent, value: structuredClone(value) });
    return true;
  }

  receive(): void {}
}
