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
  /** Id of the key that makes it and that it ends with. Without one it belongs to no key. */
  readonly keyId?: string;
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
 *
 * Keys, schedules and webhooks name the key that made them, and end with it. A key that is rotated or revoked can name another
 * key in `handedTo`, to which everything belongs from then on that it made. So a hand-over is one write of one row, and no
 * other row is touched. What never changes: a key that others were handed to has not been handed over itself at that moment,
 * and no key belongs to a key that it made. So neither chain has a cycle; walks have a bound nevertheless, because rows can
 * be changed in the database.
 */
export class Keys {
  readonly #store: KeyStore;
  readonly #hmacSalt: string;
  readonly #now: () => number;
  readonly #onRefreshError: (error: unknown) => void;
  readonly #timer: NodeJS.Timeout;
  #byHmac = new Map<string, ApiKeyRow>();
  #byId = new Map<string, ApiKeyRow>();
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
    return key && this.isValid(key) ? key : undefined;
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
    return key !== undefined && this.isValid(key);
  }

  /** Whether a key can be used now: neither it nor any key that it belongs to has ended. */
  isValid(key: ApiKeyRow): boolean {
    const now = this.#now();
    let one: ApiKeyRow | undefined = key;
    for (let left = this.#byId.size; left >= 0; left--) {
      if (!one || !isOpen(one, now)) return false;
      if (one.keyId === "") return true;
      one = this.byId(this.ownerOf(one.keyId));
    }
    return false;
  }

  /** Returns the id of the key that everything belongs to now that a key made. */
  ownerOf(keyId: string): string {
    let id = keyId;
    for (let left = this.#byId.size; left > 0; left--) {
      const to = this.byId(id)?.handedTo ?? "";
      if (to === "") return id;
      id = to;
    }
    return id;
  }

  /** Returns why everything stands still that a key made; undefined if it goes on. */
  whyEnded(keyId: string): string | undefined {
    if (keyId === "") return undefined;
    const owner = this.byId(this.ownerOf(keyId));
    if (!owner) return "its key does not exist";
    if (this.isValid(owner)) return undefined;
    if (owner.revokedAt !== -1) return "its key was revoked";
    return isOpen(owner, this.#now()) ? "the key that made its key has ended" : "its key has expired";
  }

  /**
   * Returns the keys that a key made, the keys that those made, and so on. Keys that ended before it did, for reasons of their
   * own, are left out.
   */
  descendantsOf({ id, revokedAt }: ApiKeyRow): ApiKeyRow[] {
    const now = this.#now();
    const found = new Map<string, ApiKeyRow>();
    const counts = (key: ApiKeyRow) =>
      isOpen({ ...key, revokedAt: -1 }, now) &&
      (key.revokedAt === -1 || (revokedAt !== -1 && key.revokedAt >= revokedAt));
    const makers = [id];
    for (let maker = makers.pop(); maker !== undefined; maker = makers.pop()) {
      for (const key of this.#byId.values()) {
        if (key.id === id || found.has(key.id) || key.keyId === "" || !counts(key)) continue;
        if (this.ownerOf(key.keyId) !== maker) continue;
        found.set(key.id, key);
        makers.push(key.id);
      }
    }
    return [...found.values()];
  }

  byId(id: string): ApiKeyRow | undefined {
    return this.#byId.get(id);
  }

  all(): readonly ApiKeyRow[] {
    return [...this.#byHmac.values()];
  }

  /** The secret is told once, here. */
  async create(key: NewKey, id?: string): Promise<{ readonly key: ApiKeyRow; readonly secret: string }> {
    const secret = PREFIX + randomBytes(SECRET_BYTES).toString("base64url");
    return { key: await this.#add(key, secret, id), secret };
  }

  /**
   * Ends a key and, for good, the keys that it made, unless another key takes over everything that it made. A key that was
   * revoked before hands over its schedules and webhooks only: its keys stay revoked.
   */
  async revoke(id: string, handOverTo?: ApiKeyRow): Promise<ApiKeyRow | undefined> {
    const key = this.byId(id);
    if (!key) return undefined;
    const isFirst = key.revokedAt === -1;
    const revokedAt = isFirst ? this.#now() : key.revokedAt;
    const descendants = this.descendantsOf(key);
    if (handOverTo && isFirst) {
      // A key does not belong to a key that it made: it takes the place of the one that ends.
      if (descendants.some((one) => one.id === handOverTo.id))
        await this.#save({ ...handOverTo, keyId: key.keyId });
      return await this.#save({ ...key, revokedAt, handedTo: handOverTo.id });
    }
    const revoked = isFirst ? await this.#save({ ...key, revokedAt }) : key;
    for (const one of descendants) if (one.revokedAt === -1) await this.#save({ ...one, revokedAt });
    return handOverTo ? await this.#save({ ...revoked, handedTo: handOverTo.id }) : revoked;
  }

  /**
   * A key like the old one with a secret of its own; the old one ends after the overlap. Everything that the old one made belongs
   * to the new one, and the new one to the key that asks.
   */
  async rotate(
    id: string,
    overlapMs: number,
    by = "",
    newId?: string,
  ): Promise<{ readonly key: ApiKeyRow; readonly secret: string } | undefined> {
    const old = this.byId(id);
    if (!old || !this.isValid(old)) return undefined;
    // A key that asks for its own successor, or for that of a key above it, would become the owner of its own owner.
    const isWithin = by === id || this.descendantsOf(old).some((one) => one.id === by);
    const keyId = isWithin ? old.keyId : by;
    const made = await this.create({ ...old, scopes: old.scopes as Scope[], keyId }, newId);
    const end = this.#now() + overlapMs;
    const expiresAt = old.expiresAt === -1 ? end : Math.min(old.expiresAt, end);
    await this.#save({ ...old, expiresAt, handedTo: made.key.id });
    return made;
  }

  async refresh(): Promise<void> {
    await this.#inTurn(async () => {
      const rows = await this.#store.apiKeys();
      this.#byHmac = new Map(rows.map((key) => [key.hmac, key]));
      this.#byId = new Map(rows.map((key) => [key.id, key]));
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
    const others = this.all().filter((key) => this.isValid(key)).length;
    await this.#add({ name: "admin", scopes, zones: ["*"], agents: ["*"], expiresAt: -1 }, secret, id);
    if (others > 0) onAdded(others);
  }

  async #add(
    { name, scopes, zones, agents, expiresAt, keyId = "" }: NewKey,
    secret: string,
    id = newId(),
  ): Promise<ApiKeyRow> {
    const hmac = this.#hmac(secret);
    const createdAt = this.#now();
    const rights = { scopes, zones, agents };
    const state = { createdAt, expiresAt, revokedAt: -1, keyId, handedTo: "" };
    return await this.#save({ id, name, hmac, ...rights, ...state });
  }

  async #save(key: ApiKeyRow): Promise<ApiKeyRow> {
    await this.#inTurn(async () => {
      await this.#store.saveApiKey(key);
      this.#byHmac.set(key.hmac, key);
      this.#byId.set(key.id, key);
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

/** Whether a key has not ended by itself. */
function isOpen(key: ApiKeyRow, now: number): boolean {
  return key.revokedAt === -1 && (key.expiresAt === -1 || now < key.expiresAt);
}
