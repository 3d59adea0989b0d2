import { randomBytes } from "node:crypto";
import { sha256Hex } from "../core/index.ts";
import { type AuditRow, newId, type TicketStore } from "../store/index.ts";
import { SCOPES } from "./api.ts";
import type { Keys } from "./keys.ts";

const TICKET_MS = 10 * 60_000;
const SESSION_MS = 12 * 3_600_000;
const TICKET_BYTES = 32;

export interface Session {
  readonly secret: string;
  readonly expiresAt: number;
}

interface TicketOptions {
  readonly keys: Keys;
  readonly store: TicketStore;
  /** Puts an entry into the audit. */
  readonly record: (entry: AuditRow) => Promise<void>;
  readonly now?: () => number;
}

/**
 * Links that let a browser in once, without anybody typing a key.
 *
 * A ticket is random. The store keeps its hash and the time at which it ends, as a row that is deleted when the ticket is
 * redeemed, so any server of the store can redeem it, once. Nothing but such a row makes a ticket valid: who can read the
 * store cannot make one.
 */
export class Tickets {
  readonly #options: TicketOptions;
  readonly #now: () => number;

  constructor(options: TicketOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  async issue(): Promise<string> {
    const { store } = this.#options;
    const ticket = randomBytes(TICKET_BYTES).toString("base64url");
    const now = this.#now();
    await this.#note("ticket.issue", "server", "server", { ends: new Date(now + TICKET_MS).toISOString() });
    await store.add(hashOf(ticket), now + TICKET_MS, now);
    return ticket;
  }

  /** Returns a new key for the first caller with this ticket, and undefined for all others. */
  async redeem(ticket: string): Promise<Session | undefined> {
    const { keys, store } = this.#options;
    const endsAt = await store.take(hashOf(ticket));
    const leftMs = (endsAt ?? 0) - this.#now();
    // A clock that was set back must not make a ticket last longer.
    if (leftMs <= 0 || leftMs > TICKET_MS) return undefined;
    const expiresAt = this.#now() + SESSION_MS;
    const id = newId();
    const name = `dashboard ${id.slice(-12)}`;
    await this.#note("session.create", id, name, { expires_at: new Date(expiresAt).toISOString() });
    const { secret } = await keys.create(
      { name, scopes: [...SCOPES], zones: ["*"], agents: ["*"], expiresAt },
      id,
    );
    return { secret, expiresAt };
  }

  /** Comes before what it tells of: nothing happens without an entry. */
  async #note(action: string, keyId: string, agent: string, detail: object): Promise<void> {
    await this.#options.record({
      id: newId(),
      at: this.#now(),
      zone: "",
      keyId,
      agent,
      action,
      target: "dashboard",
      before: "null",
      detail: JSON.stringify(detail),
      seq: -1,
    });
  }
}

function hashOf(ticket: string): string {
  return sha256Hex(`orrery ticket\n${ticket}`);
}
