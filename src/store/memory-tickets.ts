import type { TicketStore } from "./contract.ts";

export class MemoryTickets implements TicketStore {
  readonly #ends = new Map<string, number>();

  async add(hash: string, expiresAt: number, now: number): Promise<void> {
    for (const [other, end] of this.#ends) if (end <= now) this.#ends.delete(other);
    this.#ends.set(hash, expiresAt);
  }

  async take(hash: string): Promise<number | undefined> {
    const end = this.#ends.get(hash);
    this.#ends.delete(hash);
    return end;
  }
}
