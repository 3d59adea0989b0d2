import type { Inbox } from "../contract.ts";
import type { InboxRow, RefusedRow } from "../rows.ts";
import type { Reader } from "./reader.ts";

interface InboxRecord {
  readonly number: number;
  readonly task_id: string;
  readonly zone: string;
  readonly agent: string;
  readonly body: string;
  readonly is_taken: boolean;
}

/** The table that `submit` in the schema writes to, in whoever's transaction. */
export class PostgresInbox implements Inbox {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  async waiting(
    without: readonly { readonly zone: string; readonly agent: string }[],
    maxRows: number,
    maxBytes: number,
  ): Promise<readonly InboxRow[]> {
    const zones = without.map(({ zone }) => zone);
    const agents = without.map(({ agent }) => agent);
    const records = await this.#reader.rows<InboxRecord>("inbox-waiting", [zones, agents, maxRows, maxBytes]);
    return records.map(({ task_id: taskId, is_taken: isTaken, ...rest }) => ({ ...rest, taskId, isTaken }));
  }

  async settle(taken: readonly number[], refused: readonly RefusedRow[]): Promise<void> {
    if (taken.length === 0 && refused.length === 0) return;
    const numbers = refused.map(({ number }) => number);
    const errors = refused.map(({ error }) => error);
    await this.#reader.rows("inbox-settle", [taken, numbers, errors]);
  }

  async levels(): Promise<{ readonly waiting: number; readonly refused: number }> {
    const [levels] = await this.#reader.rows<{ waiting: number; refused: number }>("inbox-levels", []);
    return levels ?? { waiting: 0, refused: 0 };
  }
}
