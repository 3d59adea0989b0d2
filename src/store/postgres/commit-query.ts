import pg from "pg";
import { messageOf } from "./commit-message.ts";
import type { Query } from "./commits.ts";

const MOVED = "SELECT 1";

/**
 * A commit on the wire. Its answer is whether it found its head, so nothing has to be asked of what its rows look like,
 * and none have to be read: the driver's own query does both, which is a good part of what a small commit costs. It is
 * one of those all the same, because no others may be sent before the one before them is answered.
 */
export class CommitQuery extends pg.Query {
  readonly name: string;
  readonly text: string;
  /** Whether the head was moved. */
  readonly moved: Promise<boolean>;
  /** The driver puts its time limit around it. */
  callback: (error: Error | null) => void = () => {};
  readonly #values: Query["values"];
  readonly #prepared: Set<string>;
  #hasMoved = false;

  /** The statements that its connection has prepared. */
  constructor({ name, text, values }: Query, prepared: Set<string>) {
    super({ name, text });
    this.name = name;
    this.text = text;
    this.#values = values;
    this.#prepared = prepared;
    this.moved = new Promise((resolve, reject) => {
      this.callback = (error) => (error ? reject(error) : resolve(this.#hasMoved));
    });
  }

  override readonly submit = (connection: pg.Connection): void => {
    if (!this.#prepared.has(this.name)) {
      connection.parse({ name: this.name, text: this.text, types: [] }, true);
      this.#prepared.add(this.name);
    }
    if (connection.stream.writable) connection.stream.write(messageOf(this.name, this.#values));
  };

  handleDataRow(): void {}

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#hasMoved = text === MOVED;
  }

  handleReadyForQuery(): void {
    this.callback(null);
  }

  /** Also when the connection ends, or the time is over. */
  handleError(error: Error): void {
    this.callback(error);
  }
}
