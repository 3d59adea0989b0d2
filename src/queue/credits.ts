import { compareText, invariant } from "../core/index.ts";

interface Account {
  balance: number;
  reserved: number;
}

export interface CreditsSnapshot {
  readonly accounts: readonly (readonly [key: string, balance: number, reserved: number])[];
}

/**
 * What each agent can spend on boost, in micros. A boost is reserved when its task is submitted, charged when
 * it completes and released when it is cancelled, so nobody can promise the same credit twice.
 */
export class Credits {
  readonly #accounts = new Map<string, Account>();

  grant(key: string, micros: number): void {
    invariant(Number.isSafeInteger(micros) && micros >= 0, "a grant is an amount");
    this.#change(key, micros, 0);
  }

  /** All that the agent owns, reserved or not. */
  balance(key: string): number {
    return this.#accounts.get(key)?.balance ?? 0;
  }

  reserved(key: string): number {
    return this.#accounts.get(key)?.reserved ?? 0;
  }

  available(key: string): number {
    return this.balance(key) - this.reserved(key);
  }

  canReserve(key: string, micros: number): boolean {
    return micros <= this.available(key);
  }

  reserve(key: string, micros: number): void {
    invariant(this.canReserve(key, micros), "what is reserved is available");
    this.#change(key, 0, micros);
  }

  /** Takes what was reserved. */
  charge(key: string, micros: number): void {
    invariant(micros <= this.reserved(key), "what is charged was reserved");
    this.#change(key, -micros, -micros);
  }

  /** Gives back what was reserved. */
  release(key: string, micros: number): void {
    invariant(micros <= this.reserved(key), "what is released was reserved");
    this.#change(key, 0, -micros);
  }

  toSnapshot(): CreditsSnapshot {
    const accounts = [...this.#accounts].map(
      ([key, { balance, reserved }]) => [key, balance, reserved] as const,
    );
    return { accounts: accounts.sort(([a], [b]) => compareText(a, b)) };
  }

  static restore(snapshot: CreditsSnapshot): Credits {
    const credits = new Credits();
    for (const [key, balance, reserved] of snapshot.accounts) {
      credits.#accounts.set(key, { balance, reserved });
    }
    return credits;
  }

  #change(key: string, balance: number, reserved: number): void {
    const account = this.#accounts.get(key) ?? { balance: 0, reserved: 0 };
    account.balance += balance;
    account.reserved += reserved;
    invariant(Number.isSafeInteger(account.balance), "a balance can be counted in integers");
    // An empty account says nothing that a missing one does not, and agents come and go.
    if (account.balance === 0) this.#accounts.delete(key);
    else this.#accounts.set(key, account);
  }
}
