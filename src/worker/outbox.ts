import type { Report } from "../protocol/index.ts";
import type { Connection } from "./transport.ts";

/**
 * Reports, from the end of an attempt until the server has answered for it. A report is sent over the connection
 * that there is, and when that ends before the answer, again over the next one.
 */
export class Outbox {
  readonly #reports = new Map<string, Report>();
  readonly #onAnswered: (key: string) => void;
  #connection: Connection | undefined;

  constructor(onAnswered: (key: string) => void) {
    this.#onAnswered = onAnswered;
  }

  get size(): number {
    return this.#reports.size;
  }

  add(key: string, report: Report): void {
    this.#reports.set(key, report);
    if (this.#connection) this.#deliver(key, report, this.#connection);
  }

  /** Undefined: there is none for now. */
  useConnection(connection: Connection | undefined): void {
    this.#connection = connection;
    if (connection) for (const [key, report] of this.#reports) this.#deliver(key, report, connection);
  }

  #deliver(key: string, report: Report, connection: Connection): void {
    connection.report(report).then(
      () => {
        if (this.#reports.delete(key)) this.#onAnswered(key);
      },
      // The connection has ended, and the next one will carry it.
      () => {},
    );
  }
}
