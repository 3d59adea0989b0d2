import { createHmac, hash, randomBytes, timingSafeEqual } from "node:crypto";
import { derivedUuid } from "../core/index.ts";
import { type ApiKeyRow, newId } from "../store/index.ts";
import type { KeyStore, Scope } from "./api.ts";
import { Guesses } from "./guesses.ts";

const PREFIX = "sk-";
const SECRET_BYTES = 32;
const MIN_FIRST_KEY = 32;
/** A random key of that length has more; a word that is repeated, or a row of digits, has fewer. */
const MIN_DIFFERENT = 10;
const REFRESH_MS = 5000;
const MAX_REMEMBERED = 10_000;

export interface NewKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly zones: readonly string[];
  readonly agents: readonly string[];
  /** -1: never. */
  readonly expiresAt: number;
}

export interface KeysOptions {
  /** The key that an operator gave when the server started; it may do everything. */
  readonly firstKey?: string | undefined;
  /** It was not known, and is there from now on beside others. */
  readonly onAdded?: (others: number) => void;
  readonly now?: () => number;
  readonly refreshMs?: number;
  /** The store could not be asked; the keys stay as they were known last. */
  readonly onRefreshError?: (error: unknown) => void;
}

class KeyError extends Error {
  override readonly name = "KeyError";
  readonly code = "first-key-too-weak";
}

const WEAK_KEY =
  `ORRERY_API_KEY must have at least ${MIN_FIRST_KEY} characters that nobody can guess, ${MIN_DIFFERENT} of them different; ` +
  `make one with: echo "${PREFIX}$(openssl rand -base64 32)"`;

/** Whether a key that an operator chose could be guessed. */
function isWeakKey(key: string): boolean {
  return key.length < MIN_FIRST_KEY || new Set(key).size < MIN_DIFFERENT;
}

/**
 * The API keys, held in memory so that a request costs no query. The store keeps only an HMAC of each key. Its salt is in the
 * store too: keys have so much entropy that nobody can guess one from its HMAC. So keys do not depend on the secret of the
 * servers, and stay valid when it is lost or replaced.
 *
 * Another process may revoke a key, so they are read again every few seconds. What changes here counts at once.
 */
export class Keys {
  readonly #store: KeyStore;
  readonly #hmacSalt: string;
  readonly #now: () => number;
  readonly #onRefreshError: (error: unknown) => void;
  readonly #timer: NodeJS.Timeout;
  #byHmac = new Map<string, ApiKeyRow>();
  readonly #salt = randomBytes(SECRET_BYTES).toString("base64url");
  /** HMACs of secrets that were keys when they were shown, by a hash that is made faster. */
  readonly #hmacs = new Map<string, string>();
  readonly #guesses = new Guesses();
  /** Reads and changes of the store go one after the other, or a slow read would forget a new key. */
  #last: Promise<unknown> = Promise.resolve();

  static async open(store: KeyStore, options: KeysOptions = {}): Promise<Keys> {
    const { firstKey } = options;
    if (firstKey !== undefined && isWeakKey(firstKey)) throw new KeyError(WEAK_KEY);
    const hmacSalt = await store.setting("key-secret", () => randomBytes(SECRET_BYTES).toString("base64url"));
    const keys = new Keys(store, hmacSalt, options);
    try {
      await keys.refresh();
      if (firstKey !== undefined) await keys.#seed(firstKey, options.onAdded);
    } catch (error) {
      clearInterval(keys.#timer);
      throw error;
    }
    return keys;
  }

  private constructor(store: KeyStore, hmacSalt: string, options: KeysOptions) {
    this.#store = store;
    this.#hmacSalt = hmacSalt;
    this.#now = options.now ?? Date.now;
    this.#onRefreshError = options.onRefreshError ?? (() => {});
    this.#timer = setInterval(() => {
      this.refresh().catch(this.#onRefreshError);
    }, options.refreshMs ?? REFRESH_MS);
    this.#timer.unref();
  }

  /**
   * The key with this secret, if it is valid now. Only its HMAC is remembered, which is the same forever: whether
   * there is such a key, and whether it is valid, is looked up each time. Under a salt that nobody knows, how long
   * that takes says as little about a secret as under the HMAC.
   */
  find(secret: string): ApiKeyRow | undefined {
    const digest = hash("sha256", this.#salt + secret, "base64");
    const hmac = this.#hmacs.get(digest);
    const key = hmac === undefined ? this.#findAnew(secret, digest) : this.#byHmac.get(hmac);
    return key && isValid(key, this.#now()) ? key : undefined;
  }

  /**
   * Returns the valid key with this secret, for a caller at an address. Addresses that have sent too many wrong keys get
   * "too-many" for keys that were not used here before; all others go on.
   */
  findFrom(address: string, secret: string): ApiKeyRow | "too-many" | undefined {
    const now = this.#now();
    const isFamiliar = this.#hmacs.has(hash("sha256", this.#salt + secret, "base64"));
    if (!isFamiliar && !this.#guesses.mayTry(address, now)) return "too-many";
    const key = this.find(secret);
    if (!key) this.#guesses.failed(address, now);
    return key;
  }

  /** For connections that outlive a request. */
  isStillValid(id: string): boolean {
    const key = this.byId(id);
    return key !== undefined && isValid(key, this.#now());
  }

  byId(id: string): ApiKeyRow | undefined {
    return this.all().find((key) => key.id === id);
  }

  all(): readonly ApiKeyRow[] {
    return [...this.#byHmac.values()];
  }

  /** The secret is told once, here. */
  async create(key: NewKey, id?: string): Promise<{ readonly key: ApiKeyRow; readonly secret: string }> {
    const secret = PREFIX + randomBytes(SECRET_BYTES).toString("base64url");
    return { key: await this.#add(key, secret, id), secret };
  }

  async revoke(id: string): Promise<ApiKeyRow | undefined> {
    const key = this.byId(id);
    if (!key || key.revokedAt !== -1) return key;
    return await this.#save({ ...key, revokedAt: this.#now() });
  }

  /** A key like the old one with a secret of its own; the old one ends after the overlap. */
  async rotate(
    id: string,
    overlapMs: number,
    newId?: string,
  ): Promise<{ readonly key: ApiKeyRow; readonly secret: string } | undefined> {
    const old = this.byId(id);
    if (!old || !isValid(old, this.#now())) return undefined;
    const made = await this.create({ ...old, scopes: old.scopes as Scope[] }, newId);
    const end = this.#now() + overlapMs;
    await this.#save({ ...old, expiresAt: old.expiresAt === -1 ? end : Math.min(old.expiresAt, end) });
    return made;
  }

  async refresh(): Promise<void> {
    await this.#inTurn(async () => {
      const rows = await this.#store.apiKeys();
      this.#byHmac = new Map(rows.map((key) => [key.hmac, key]));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#last;
  }

  #findAnew(secret: string, digest: string): ApiKeyRow | undefined {
    const hmac = this.#hmac(secret);
    const key = this.#byHmac.get(hmac);
    // Under an HMAC, how long the look-up takes says nothing about the secret; this is the second lock.
    if (!key || !timingSafeEqual(Buffer.from(key.hmac), Buffer.from(hmac))) return undefined;
    if (this.#hmacs.size >= MAX_REMEMBERED) this.#hmacs.clear();
    this.#hmacs.set(digest, hmac);
    return key;
  }

  /** A first key that was revoked stays so: it is known, and not made again. */
  async #seed(secret: string, onAdded: (others: number) => void = () => {}): Promise<void> {
    if (this.#byHmac.has(this.#hmac(secret))) return;
    const scopes: Scope[] = ["submit", "read", "work", "admin", "operator"];
    // Servers that start together make the same one: a second would stay valid when the first is revoked.
    const id = derivedUuid(`orrery first key\n${this.#hmac(secret)}`);
    const others = this.all().filter((key) => isValid(key, this.#now())).length;
    await this.#add({ name: "admin", scopes, zones: ["*"], agents: ["*"], expiresAt: -1 }, secret, id);
    if (others > 0) onAdded(others);
  }

  async #add(
    { name, scopes, zones, agents, expiresAt }: NewKey,
    secret: string,
    id = newId(),
  ): Promise<ApiKeyRow> {
    const hmac = this.#hmac(secret);
    const createdAt = this.#now();
    return await this.#save({ id, name, hmac, scopes, zones, agents, createdAt, expiresAt, revokedAt: -1 });
  }

  async #save(key: ApiKeyRow): Promise<ApiKeyRow> {
    await this.#inTurn(async () => {
      await this.#store.saveApiKey(key);
      this.#byHmac.set(key.hmac, key);
    });
    return key;
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  #hmac(secret: string): string {
    return createHmac("sha256", this.#hmacSalt).update(secret).digest("hex");
  }
}

function isValid(key: ApiKeyRow, now: number): boolean {
  return key.revokedAt === -1 && (key.expiresAt === -1 || now < key.expiresAt);
}
