import { PassingMap } from "../core/index.ts";
import type { Ack, Report } from "../protocol/index.ts";
import type { Connection } from "./transport.ts";

/**
 * Reports, from the end of an attempt until the server has answered for it. What ends in one moment is sent
 * together, over the connection that there is, and when that ends before the answer, again over the next one.
 */
export class Outbox {
  readonly #reports = new PassingMap<string, Report>();
  readonly #onAnswered: (key: string, report: Report, ack: Ack | undefined) => void;
  #connection: Connection | undefined;
  #unsent: string[] = [];

  constructor(onAnswered: (key: string, report: Report, ack: Ack | undefined) => void) {
    this.#onAnswered = onAnswered;
  }

  get size(): number {
    return this.#reports.size;
  }

  has(key: string): boolean {
    return this.#reports.has(key);
  }

  add(key: string, report: Report): void {
    this.#reports.set(key, report);
    this.#unsent.push(key);
    if (this.#unsent.length === 1) process.nextTick(() => this.#send());
  }

  /** Undefined: there is none for now. */
  useConnection(connection: Connection | undefined): void {
    this.#connection = connection;
    this.#unsent = [...this.#reports.keys()];
    this.#send();
  }

  #send(): void {
    if (!this.#connection || this.#unsent.length === 0) return;
    const keys = this.#unsent;
    this.#unsent = [];
    const reports = keys.map((key) => this.#reports.get(key) as Report);
    this.#connection.report(reports).then(
      (acks) => {
        for (let at = 0; at < keys.length; at++) {
          const key = keys[at] as string;
          if (this.#reports.delete(key)) this.#onAnswered(key, reports[at] as Report, acks[at]);
        }
      },
      // The connection has ended, and the next one will carry them.
      () => {},
    );
  }
}
