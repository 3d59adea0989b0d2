import {
  CANCEL,
  type Chance,
  COMMAND,
  LAUNCH,
  LENGTHS,
  LETTER,
  LOADED,
  MAIL,
  OUTSIDE,
  RAN,
  RECHARGE,
  REPORT,
  STOLE,
} from "./chance.ts";
import type { Stage } from "./player.ts";

const WORDS: Readonly<Record<number, string>> = {
  [LETTER]: "a letter",
  [MAIL]: "mail about a channel",
  [REPORT]: "the report of a fiber that was stolen from it",
  [COMMAND]: "a command for a fiber that it stole",
  [STOLE]: "a steal",
  [OUTSIDE]: "a promise that settled",
  [LOADED]: "a module that was imported",
  [LAUNCH]: "a root that was launched",
  [CANCEL]: "a root that was cancelled",
  [RECHARGE]: "a root that was recharged",
};

/** The log of a processor, while it is replayed. */
export class Script implements Chance {
  readonly #me: number;
  readonly #log: readonly number[];
  readonly #stage: Stage;
  /** What has come from outside, until it is its turn. */
  readonly #arrived = new Map<string, () => void>();
  #at = 0;
  nowUs = 0;
  steps = 0;

  constructor(me: number, log: readonly number[], stage: Stage) {
    this.#me = me;
    this.#log = log;
    this.#stage = stage;
  }

  get isOver(): boolean {
    return this.#at >= this.#log.length;
  }

  /** When its next step was. */
  get nextUs(): number {
    return this.#log[this.#at + 1] as number;
  }

  /** Whether what comes next comes from outside of the runtime. */
  get awaitsOutside(): boolean {
    return [OUTSIDE, LOADED, LAUNCH, CANCEL, RECHARGE].includes(this.#log[this.#at] as number);
  }

  /** What comes next, and is not to be had. */
  describe(): string {
    const kind = this.#log[this.#at] as number;
    return `processor ${this.#me} at step ${this.steps}: ${WORDS[kind] ?? "a step"} of the recording does not come`;
  }

  /** The next step: kind, time, and what belongs to it. */
  peek(): readonly number[] {
    return this.#log.slice(this.#at, this.#at + 5);
  }

  next(): void {
    const kind = this.#log[this.#at] as number;
    this.nowUs = this.#log[this.#at + 1] as number;
    this.#at += 2 + (LENGTHS[kind] ?? 0);
    this.steps++;
  }

  /** Whether the next step is what happens from outside; then it is done by who asked. */
  takeExternal(kind: number, root: number): boolean {
    if (this.#log[this.#at] !== kind || this.#log[this.#at + 2] !== root) return false;
    this.next();
    return true;
  }

  decide(kind: number, actual: () => number): number {
    if (this.#log[this.#at] === kind) {
      this.#at += 2;
      return this.#log[this.#at - 1] as number;
    }
    this.diverge("its deque is used otherwise than in the recording");
    return actual();
  }

  arrive(kind: number, a: number, b: number, act: () => void): void {
    this.#arrived.set(`${kind} ${a} ${b}`, act);
    this.#stage.poke();
  }

  arrival(kind: number, a: number, b: number): (() => void) | undefined {
    const key = `${kind} ${a} ${b}`;
    const act = this.#arrived.get(key);
    this.#arrived.delete(key);
    return act;
  }

  laid(record: number, serial: number): void {
    this.#stage.records[this.#me]?.set(serial, record);
  }

  /** Looks at what came of a slice. */
  compare(id: number, ops: number, state: number, digest: number): void {
    const [kind, wantedId, wantedOps, wantedState, wantedDigest] = this.peek();
    this.#at += 5;
    if (kind !== RAN) this.diverge("its deque is used otherwise than in the recording");
    else if (id !== wantedId) this.diverge(`fiber ${id} runs, where the recording has fiber ${wantedId}`);
    else if (ops !== wantedOps)
      this.diverge(`fiber ${id} spends ${ops} ops in a slice, where the recording has ${wantedOps}`);
    else if (state !== wantedState)
      this.diverge(`a slice of fiber ${id} ends otherwise than in the recording`);
    else if (digest !== wantedDigest)
      this.diverge(`fiber ${id} comes to something else than in the recording`);
  }

  diverge(words: string): void {
    this.#stage.diverge(`processor ${this.#me} at step ${this.steps}: ${words}`);
  }
}
