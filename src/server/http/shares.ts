import type { ServerResponse } from "node:http";
import type { FastifyRequest } from "fastify";
import { invariant } from "../../core/index.ts";
import { formatBytes } from "../../words/index.ts";
import type { EdgeLimits } from "./limits.ts";
import { Problem, retryAfter } from "./problems.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The share of the caller's key; `null` on routes that need no key. */
    share: Share | null;
  }
}

/** Requests of one key that may wait for its turn to read the ledger. */
const MAX_WAITING_READERS = 8;
const PRUNE_MS = 60_000;
/** A bucket holds what flows in during this time, in seconds. */
const BURST_S = 4;

/** The connections, bytes and time that keys take at the HTTP edge, and their limits. */
export class Shares implements Disposable {
  readonly limits: EdgeLimits;
  bodyBytes = 0;
  unreadBytes = 0;
  readonly #onLimited: (limit: string) => void;
  readonly #shares = new Map<string, Share>();
  readonly #timer: NodeJS.Timeout;

  constructor(limits: EdgeLimits, onLimited: (limit: string) => void) {
    this.limits = limits;
    this.#onLimited = onLimited;
    this.#timer = setInterval(() => this.#prune(), PRUNE_MS).unref();
  }

  of(keyId: string): Share {
    let share = this.#shares.get(keyId);
    if (!share) {
      share = new Share(this, keyId);
      this.#shares.set(keyId, share);
    }
    share.isRecent = true;
    return share;
  }

  refusal(code: "rate-limit" | "backlog", limit: string, found: string, waitMs: number = 1000): Problem {
    this.#onLimited(limit);
    const detail = `${found}; the limit is server.${limit}`;
    return new Problem(code, detail, { headers: { "retry-after": retryAfter(waitMs) } });
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #prune(): void {
    for (const [keyId, share] of this.#shares) {
      if (!share.isRecent && share.isIdle) this.#shares.delete(keyId);
      share.isRecent = false;
    }
  }
}

/** The connections, bytes and time that one key takes at the HTTP edge. */
export class Share {
  readonly keyId: string;
  /** Time of the main thread, in ms. Only what is costly is charged. */
  readonly work: Bucket;
  /** Bytes of bodies and large answers. */
  readonly bytes: Bucket;
  isRecent = true;
  readonly #all: Shares;
  #bodies = 0;
  #bodyBytes = 0;
  #unreadBytes = 0;
  #isReading = false;
  readonly #waiting: (() => void)[] = [];

  constructor(all: Shares, keyId: string) {
    this.#all = all;
    this.keyId = keyId;
    this.work = new Bucket(all.limits.workMsPerKey);
    this.bytes = new Bucket(all.limits.bytesPerKey);
  }

  get isIdle(): boolean {
    return this.#bodies === 0 && this.#unreadBytes === 0 && !this.#isReading;
  }

  /** Returns why a request of this key is refused before its body is read. */
  refusal(): Problem | undefined {
    const all = this.#all;
    const { workMsPerKey, unreadBytesPerKey, bytesPerKey } = all.limits;
    if (this.work.isEmpty) {
      const found = `costly requests of this key have taken more than ${workMsPerKey} ms per second`;
      return all.refusal("rate-limit", "work_per_key", found, this.work.waitMs);
    }
    if (this.bytes.isEmpty) {
      const found = `this key has sent and fetched more than ${formatBytes(bytesPerKey)} per second`;
      return all.refusal("rate-limit", "bytes_per_key", found, this.bytes.waitMs);
    }
    if (this.#unreadBytes < unreadBytesPerKey) return undefined;
    return this.#refusedAnswer("rate-limit", "unread_per_key");
  }

  /** Counts a large body until its request is answered. Returns why it is refused. */
  holdBody(bytes: number, response: ServerResponse): Problem | undefined {
    const all = this.#all;
    const { largeBodiesPerKey, bodyBytesPerKey, bodyBytes } = all.limits;
    if (this.#bodies >= largeBodiesPerKey) {
      const found = `this key has ${this.#bodies} large bodies in progress`;
      return all.refusal("rate-limit", "large_bodies_per_key", found);
    }
    if (this.#bodies > 0 && this.#bodyBytes + bytes > bodyBytesPerKey) {
      const found = `this key has bodies of ${formatBytes(this.#bodyBytes)} in progress`;
      return all.refusal("rate-limit", "bodies_per_key", found);
    }
    if (all.bodyBytes > 0 && all.bodyBytes + bytes > bodyBytes) {
      const found = `the server has bodies of ${formatBytes(all.bodyBytes)} in progress`;
      return all.refusal("backlog", "bodies", found);
    }
    this.#bodies++;
    this.#bodyBytes += bytes;
    all.bodyBytes += bytes;
    response.once("close", () => {
      this.#bodies--;
      this.#bodyBytes -= bytes;
      all.bodyBytes -= bytes;
    });
    return undefined;
  }

  /** Counts a large answer until the connection has taken it. Returns why it is refused. */
  holdAnswer(bytes: number, response: ServerResponse): Problem | undefined {
    const all = this.#all;
    const { unreadBytesPerKey, unreadBytes } = all.limits;
    // A single answer may be larger than the limit.
    if (this.#unreadBytes > 0 && this.#unreadBytes + bytes > unreadBytesPerKey)
      return this.#refusedAnswer("rate-limit", "unread_per_key");
    if (this.#unreadBytes > 0 && all.unreadBytes + bytes > unreadBytes)
      return this.#refusedAnswer("backlog", "unread");
    this.#unreadBytes += bytes;
    all.unreadBytes += bytes;
    response.once("close", () => {
      this.#unreadBytes -= bytes;
      all.unreadBytes -= bytes;
    });
    return undefined;
  }

  /**
   * Waits until no other request of this key reads the ledger, and counts this one as reading until it is answered. Throws if
   * too many wait already.
   */
  async turnToRead(response: ServerResponse): Promise<void> {
    if (this.#isReading) {
      if (this.#waiting.length >= MAX_WAITING_READERS) {
        const found = `${this.#waiting.length} requests of this key wait to read the ledger, one at a time`;
        throw new Problem("rate-limit", found, { headers: { "retry-after": "1" } });
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#isReading = true;
    const leave = (): void => {
      this.#isReading = false;
      this.#waiting.shift()?.();
    };
    if (response.closed) leave();
    else response.once("close", leave);
  }

  #refusedAnswer(code: "rate-limit" | "backlog", limit: string): Problem {
    const found = `answers of ${formatBytes(this.#unreadBytes)} to this key were not read yet; read them first`;
    return this.#all.refusal(code, limit, found);
  }
}

/**
 * A token bucket that may be overdrawn: costs are known only afterwards. It looks at the clock only when it seems empty,
 * so that a request costs a subtraction.
 */
class Bucket {
  readonly #perSecond: number;
  #left: number;
  #filledAtMs = performance.now();

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#left = perSecond * BURST_S;
  }

  take(amount: number): void {
    this.#left -= amount;
  }

  get isEmpty(): boolean {
    if (this.#left > 0) return false;
    const nowMs = performance.now();
    const gained = ((nowMs - this.#filledAtMs) / 1000) * this.#perSecond;
    this.#left = Math.min(this.#left + gained, this.#perSecond * BURST_S);
    this.#filledAtMs = nowMs;
    return this.#left <= 0;
  }

  /** Time until the bucket is not empty. */
  get waitMs(): number {
    return (Math.max(0, -this.#left) / this.#perSecond) * 1000;
  }
}

export function shareOf(request: FastifyRequest): Share {
  invariant(request.share !== null, "a route that uses the caller's share needs a key");
  return request.share;
}
