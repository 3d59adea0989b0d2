import type { Inquired, Inquiry, MainPost } from "./letters.ts";

/** What the main thread asks of all others. */
export class Inquiries {
  readonly #post: MainPost;
  readonly #processors: number;
  readonly #open = new Map<number, { readonly answers: Map<number, unknown>; readonly done: () => void }>();
  #number = 0;

  constructor(post: MainPost, processors: number) {
    this.#post = post;
    this.#processors = processors;
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

  #send(to: number, number: number, what: Inquiry): void {
    const value: Inquired = { number, what, from: 0 };
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
