import type { Inquired, Inquiry, Letter, MainPost } from "./letters.ts";
import type { Memory } from "./memory.ts";

/** How long the main thread looks for something before it sleeps until a thread has sent something. */
const NAP_MS = 2;

/** What the main thread asks of all others. */
export class Inquiries {
  readonly #post: MainPost;
  readonly #memory: Memory;
  readonly #processors: number;
  readonly #open = new Map<number, { readonly answers: Map<number, unknown>; readonly done: () => void }>();
  #number = 0;

  constructor(post: MainPost, memory: Memory) {
    this.#post = post;
    this.#memory = memory;
    this.#processors = memory.shared.processors;
  }

  /** What each has answered, in order. One that dies meanwhile answers nothing. */
  async ask(what: Inquiry): Promise<unknown[]> {
    const number = ++this.#number;
    const answers = new Map<number, unknown>();
    // Threads and their ports do not keep the process alive.
    const alive = setInterval(() => undefined, 1_000);
    await new Promise<void>((resolve) => {
      this.#open.set(number, { answers, done: resolve });
      for (let to = 1; to < this.#processors; to++) this.#send(to, number, what);
      this.#endIfAll(number);
    });
    clearInterval(alive);
    return Array.from({ length: this.#processors - 1 }, (_, at) => answers.get(at + 1));
  }

  /**
   * The same, but at once: this thread waits for the answers, and hands on whatever else the others tell of themselves. Who has
   * not answered after so long is missing.
   */
  askNow(
    what: Inquiry,
    limit: number,
    patienceMs: number,
    take: (letter: Letter) => void,
  ): Map<number, unknown> {
    const number = ++this.#number;
    const answers = new Map<number, unknown>();
    this.#open.set(number, { answers, done: () => undefined });
    for (let to = 1; to < this.#processors; to++) this.#send(to, number, what, limit);
    const untilMs = performance.now() + patienceMs;
    const { words } = this.#memory;
    const bell = this.#memory.bellAt(0);
    while (answers.size < this.#processors - 1 && performance.now() < untilMs) {
      const heard = Atomics.load(words, bell);
      this.#post.receiveNews(take);
      if (answers.size < this.#processors - 1) this.#nap(bell, heard);
    }
    this.#open.delete(number);
    return answers;
  }

  #nap(bell: number, heard: number): void {
    this.#memory.sleeps(0);
    Atomics.wait(this.#memory.words, bell, heard, NAP_MS);
    this.#memory.isAwake(0);
  }

  #send(to: number, number: number, what: Inquiry, limit = 0): void {
    const value: Inquired = { number, what, from: 0, limit };
    const sent = this.#post.send({ to, kind: "inquiry", record: -1, serial: 0, value });
    if (!sent) this.#open.get(number)?.answers.set(to, undefined);
  }

  answered({ number, from, answer }: Inquired): void {
    this.#open.get(number)?.answers.set(from, answer);
    this.#endIfAll(number);
  }

  gone(dead: number): void {
    for (const [number, { answers }] of this.#open) {
      if (!answers.has(dead)) answers.set(dead, undefined);
      this.#endIfAll(number);
    }
  }

  #endIfAll(number: number): void {
    const open = this.#open.get(number);
    if (open === undefined || open.answers.size < this.#processors - 1) return;
    this.#open.delete(number);
    open.done();
  }
}
