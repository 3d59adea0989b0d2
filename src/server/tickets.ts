import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { SCOPES } from "./api.ts";
import type { Keys } from "./keys.ts";

const TICKET_MS = 10 * 60_000;
const SESSION_MS = 12 * 3_600_000;
const NONCE_BYTES = 16;

export interface Session {
  readonly secret: string;
  readonly expiresAt: number;
}

/**
 * Links that let a browser in once, without anybody typing a key. A ticket is signed, so that whichever server of a
 * cluster is shown it knows it; that it was used is known by the key that was made for it.
 */
export class Tickets {
  readonly #keys: Keys;
  readonly #secret: Buffer;
  readonly #now: () => number;
  readonly #taken = new Set<string>();

  constructor(keys: Keys, now: () => number = Date.now) {
    this.#keys = keys;
    this.#secret = keys.derive("tickets");
    this.#now = now;
  }

  issue(): string {
    const claim = `${this.#now() + TICKET_MS}.${randomBytes(NONCE_BYTES).toString("base64url")}`;
    return `${claim}.${this.#sign(claim).toString("base64url")}`;
  }

  /** A key of its own for whoever shows a ticket first; undefined for all others. */
  async redeem(ticket: string): Promise<Session | undefined> {
    const [until = "", nonce = "", signature = ""] = ticket.split(".");
    const given = Buffer.from(signature, "base64url");
    const expected = this.#sign(`${until}.${nonce}`);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    const name = `dashboard ${nonce}`;
    const isUsed = this.#taken.has(name) || this.#keys.all().some((key) => key.name === name);
    if (isUsed || Number(until) < this.#now()) return undefined;
    this.#taken.add(name);
    const expiresAt = this.#now() + SESSION_MS;
    const { secret } = await this.#keys.create({
      name,
      scopes: [...SCOPES],
      zones: ["*"],
      agents: ["*"],
      expiresAt,
    });
    return { secret, expiresAt };
  }

  #sign(claim: string): Buffer {
    return createHmac("sha256", this.#secret).update(claim).digest();
  }
}
