import type { TicketStore } from "../contract.ts";
import type { Reader } from "./reader.ts";

export class PostgresTickets implements TicketStore {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  async add(hash: string, expiresAt: number, now: number): Promise<void> {
    await this.#reader.rows("add-ticket", [hash, expiresAt, now]);
  }

  async take(hash: string): Promise<number | undefined> {
    const [taken] = await this.#reader.rows<{ expires_at: number }>("take-ticket", [hash]);
    return taken?.expires_at;
  }
}
