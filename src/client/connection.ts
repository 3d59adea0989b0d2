import { secureFetch } from "../tls/index.ts";
import { afterMs, backOffMs, pause } from "./back-off.ts";
import { OrreryError } from "./errors.ts";
import { type AnswerHead, type Exchange, exchange, type WholeAnswer } from "./exchange.ts";
import { brokenOff, problemOf, unreached } from "./problem.ts";
import { TimeLimit } from "./time-limit.ts";
import { traceHeaders } from "./trace-headers.ts";

export interface ConnectionOptions {
  /** Such as `http://127.0.0.1:2026`, with or without a path before ours. */
  readonly url: string;
  readonly key: string;
  /** By default that of the key. */
  readonly zone?: string | undefined;
  /** On whose behalf; needs a key that allows it. */
  readonly agent?: string | undefined;
  /** Sends the requests in place of what does by default. */
  readonly fetch?: typeof globalThis.fetch;
  /**
   * For how long a request is tried again when the server is busy or away. By default 30 s, and 5 s while there never was a server
   * at the URL, which may be a wrong one.
   */
  readonly retryForMs?: number;
  /** After how long without an answer a try is given up; 30 s by default. */
  readonly answerWithinMs?: number;
  /**
   * Told before each further try, also whether anything has ever answered at the URL. What it throws ends the request in place of
   * the failure.
   */
  readonly onRetry?: (failure: OrreryError, waitMs: number, isReached: boolean) => void;
}

export type Query = Readonly<
  Record<string, string | number | boolean | readonly string[] | null | undefined>
>;

export interface Request {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below the API's prefix. */
  readonly path: string;
  readonly query?: Query;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON, unless the headers name another type. */
  readonly body?: string;
  /** Whether it does no harm if it arrives twice. Otherwise it is sent again only where it surely did not arrive. */
  readonly isRepeatable: boolean;
  /** How much longer the answer may take, because it is asked to. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** An answer whose body comes bit by bit. Release the limit when it is read, or no longer wanted. */
export interface OpenAnswer {
  readonly response: Response;
  readonly limit: TimeLimit;
}

const PREFIX = "api/v2/scheduler";
const DEFAULT_MS = 30_000;
/** While nothing has ever answered. */
const FIRST_MS = 5_000;
/** What a header can carry, and what the server takes in one. */
const VISIBLE = /^[\x21-\x7e]+$/;
const REDIRECTIONS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** A server or a proxy that may do better in a moment. */
const MAY_PASS: ReadonlySet<number> = new Set([502, 503, 504]);

/** Sends requests until they are answered, as long as that does no harm. */
export class Connection {
  readonly #base: URL;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #fetch: typeof globalThis.fetch | undefined;
  readonly #retryForMs: number;
  readonly #reachWithinMs: number;
  readonly #answerWithinMs: number;
  readonly #onRetry: ConnectionOptions["onRetry"];
  /** Something has answered at the URL. */
  #isReached = false;

  constructor(options: ConnectionOptions) {
    const { url, key, zone, agent } = options;
    this.#base = baseOf(url);
    this.#headers = {
      authorization: `Bearer ${visible("key", key)}`,
      ...(zone === undefined ? {} : { "x-zone-id": visible("zone", zone) }),
      ...(agent === undefined ? {} : { "x-agent-id": visible("agent", agent) }),
    };
    this.#fetch = options.fetch;
    this.#retryForMs = options.retryForMs ?? DEFAULT_MS;
    this.#reachWithinMs = options.retryForMs ?? FIRST_MS;
    this.#answerWithinMs = options.answerWithinMs ?? DEFAULT_MS;
    this.#onRetry = options.onRetry;
  }

  /** The answer, which is taken to be what the server's document says. */
  async send<Answer>(request: Request, retryForMs: number = this.#retryForMs): Promise<Answer> {
    return await this.#untilAnswered(request, retryForMs, async () => {
      const limit = this.#limitOf(request);
      try {
        const answer = await this.#within(limit, request, this.#exchange(request, limit));
        this.#isReached = true;
        return this.#read(answer, answer.text) as Answer;
      } finally {
        limit.release();
      }
    });
  }

  async open(request: Request, retryForMs: number = this.#retryForMs): Promise<OpenAnswer> {
    return await this.#untilAnswered(request, retryForMs, async () => {
      const opened = await this.#fetchOnce(request);
      if (opened.response.ok) return opened;
      try {
        throw problemOf(opened.response, await this.#within(opened.limit, request, opened.response.text()));
      } finally {
        opened.limit.release();
      }
    });
  }

  /** Waits until a part that was refused may go better. False, at once: that is later than one tries that began then. */
  async waitsFor(refused: OrreryError, sinceMs: number, signal: AbortSignal | undefined): Promise<boolean> {
    const waitMs = afterMs(refused.retryAfterMs ?? 0);
    if (performance.now() - sinceMs + waitMs > this.#retryForMs) return false;
    this.#onRetry?.(refused, waitMs, this.#isReached);
    await pause(waitMs, signal);
    return true;
  }

  async #untilAnswered<Answer>(
    request: Request,
    retryForMs: number,
    attempt: () => Promise<Answer>,
  ): Promise<Answer> {
    const begun = performance.now();
    for (let failures = 0; ; failures++) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof OrreryError) || !mayRepeat(error, request.isRepeatable)) throw error;
        const waitMs = error.retryAfterMs === undefined ? backOffMs(failures) : afterMs(error.retryAfterMs);
        const triedMs = performance.now() - begun;
        const isMissing = error.code === "unreachable" && !this.#isReached;
        if (triedMs + waitMs > (isMissing ? Math.min(retryForMs, this.#reachWithinMs) : retryForMs))
          throw error.code === "unreachable" ? unreached(error, triedMs, this.#isReached) : error;
        this.#onRetry?.(error, waitMs, this.#isReached);
        await pause(waitMs, request.signal);
      }
    }
  }

  async #exchange(request: Request, limit: TimeLimit): Promise<WholeAnswer> {
    if (!this.#fetch) return await exchange(this.#urlOf(request), this.#exchangeOf(request), limit);
    const response = await this.#fetched(request, limit);
    const { status, ok, headers } = response;
    return { status, ok, headers, text: await response.text() };
  }

  #fetched(request: Request, limit: TimeLimit): Promise<Response> {
    const send = this.#fetch ?? secureFetch;
    return send(this.#urlOf(request), { ...this.#exchangeOf(request), signal: limit.signal() });
  }

  #limitOf({ waitMs = 0, signal }: Request): TimeLimit {
    return new TimeLimit(this.#answerWithinMs + waitMs, signal);
  }

  #exchangeOf({ method, body, headers }: Request): Exchange {
    return {
      method,
      headers: {
        ...this.#headers,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...traceHeaders(),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
    };
  }

  async #fetchOnce(request: Request): Promise<OpenAnswer> {
    const limit = this.#limitOf(request);
    try {
      const response = await this.#within(limit, request, this.#fetched(request, limit));
      this.#isReached = true;
      return { response, limit };
    } catch (error) {
      limit.release();
      throw error;
    }
  }

  /** What goes wrong with a connection, in our words. */
  async #within<Value>(limit: TimeLimit, { signal }: Request, promise: Promise<Value>): Promise<Value> {
    try {
      return await promise;
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (!limit.isOver) throw brokenOff(error, this.#base.origin);
      const detail = `${this.#base.origin} did not answer in time`;
      throw new OrreryError({ code: "no-answer", status: 0, detail, cause: error });
    }
  }

  #read(answer: AnswerHead, text: string): unknown {
    const { status, ok } = answer;
    const location = REDIRECTIONS.has(status) ? answer.headers.get("location") : null;
    if (location !== null) {
      const detail = `${this.#base.origin} sends requests on to ${location}; give the server's own URL`;
      throw new OrreryError({ code: "redirected", status, detail });
    }
    if (!ok) throw problemOf(answer, text);
    try {
      return JSON.parse(text) as unknown;
    } catch (cause) {
      const detail = `the answer is no JSON; is ${this.#base.origin} an Orrery server?`;
      throw new OrreryError({ code: "bad-answer", status, detail, cause });
    }
  }

  #urlOf({ path, query = {} }: Request): URL {
    const url = new URL(`${PREFIX}/${path}`, this.#base);
    for (const [name, value] of Object.entries(query)) {
      if (value === undefined || value === null) continue;
      for (const one of Array.isArray(value) ? (value as readonly string[]) : [value])
        url.searchParams.append(name, String(one));
    }
    return url;
  }
}

function mayRepeat({ code, status, retryAfterMs }: OrreryError, isRepeatable: boolean): boolean {
  if (code === "unreachable") return true;
  if (code === "untrusted") return false;
  if (status === 429) return retryAfterMs !== undefined;
  return isRepeatable && (status === 0 || MAY_PASS.has(status));
}

function baseOf(url: string): URL {
  const base = url.endsWith("/") ? url : `${url}/`;
  if (URL.canParse(base) && /^https?:$/.test(new URL(base).protocol)) {
    const parsed = new URL(base);
    if (parsed.username === "" && parsed.password === "") return parsed;
    throw new TypeError("the url must hold no name and password; the key goes apart from it");
  }
  throw new TypeError(`the url must be one such as http://127.0.0.1:2026; got ${JSON.stringify(url)}`);
}

function visible(name: string, value: string): string {
  if (VISIBLE.test(value)) return value;
  if (value === "" && name === "key")
    throw new TypeError("the key is empty; give the one that orrery serve printed, or an ORRERY_API_KEY");
  throw new TypeError(`the ${name} must consist of visible ASCII characters without spaces`);
}
