import { setTimeout as sleep } from "node:timers/promises";
import type { Ack, LogEntry, PollAnswer, Progress, Registration, Report } from "../protocol/index.ts";
import { secureFetch } from "../tls/index.ts";
import { ANSWER_LIMIT_MS, authorization, declined, type ServerAddress, workerUrl } from "./server-address.ts";
import {
  type Connection,
  ConnectionRefused,
  MAX_CHUNKS,
  type Transport,
  type WorkerHost,
} from "./transport.ts";

const LEAVE_LIMIT_MS = 2_000;
/** How many reports are on their way at once: a server commits together what comes together. */
const MAX_LANES = 8;
/** By these a server finds fault with a report itself. It would say so again, and means nothing else by it. */
const UNFIT: ReadonlySet<string> = new Set(["malformed", "invalid", "too-large"]);

/**
 * By plain HTTP requests, for networks that do not let WebSockets through. One request is always open, waiting
 * for work, while others carry what the worker has to say.
 */
export class PollTransport implements Transport {
  readonly #address: ServerAddress;

  constructor(address: ServerAddress) {
    this.#address = address;
  }

  async connect(registration: Registration, host: WorkerHost): Promise<Connection> {
    const body = { registration, heartbeat: host.heartbeat() };
    const limitMs = this.#address.answerLimitMs ?? ANSWER_LIMIT_MS;
    const terms = await request<Terms>(this.#address, { path: "register", body, limitMs });
    return new PollConnection(this.#address, registration, terms, host);
  }
}

interface Terms {
  readonly worker: string;
  readonly lease_ms: number;
  readonly heartbeat_ms: number;
}

interface WaitingReport {
  readonly report: Report;
  resolve(ack: Ack): void;
  reject(error: Error): void;
}

class PollConnection implements Connection {
  readonly worker: string;
  readonly leaseMs: number;
  readonly closed: Promise<Error | undefined>;
  readonly #address: ServerAddress;
  readonly #session: string;
  readonly #host: WorkerHost;
  readonly #waitSeconds: number;
  readonly #closing = new AbortController();
  readonly #reports: WaitingReport[] = [];
  /** To be said with the next polls. */
  readonly #chunks: string[] = [];
  #lanes = 0;
  /** Logs, progress and the like, one after the other. */
  #notes: Promise<void> = Promise.resolve();
  #close: (error: Error | undefined) => void = () => {};

  constructor(address: ServerAddress, { session }: Registration, terms: Terms, host: WorkerHost) {
    this.#address = address;
    this.#session = session;
    this.#host = host;
    this.worker = terms.worker;
    this.leaseMs = terms.lease_ms;
    // A poll is a heartbeat, so they follow each other as heartbeats do.
    this.#waitSeconds = Math.max(1, Math.floor(terms.heartbeat_ms / 1_000));
    this.closed = new Promise((resolve) => {
      this.#close = resolve;
    });
    void this.#poll();
  }

  report(reports: readonly Report[]): Promise<readonly Ack[]> {
    return Promise.all(reports.map((report) => this.#report(report)));
  }

  #report(report: Report): Promise<Ack> {
    return new Promise((resolve, reject) => {
      if (this.#closing.signal.aborted) return reject(new Error("the connection is closed"));
      this.#reports.push({ report, resolve, reject });
      if (this.#lanes < MAX_LANES) void this.#sendReports();
    });
  }

  log(entries: readonly LogEntry[]): void {
    this.#note("log", { entries });
  }

  progress(progress: Progress): void {
    this.#note("progress", { progress });
  }

  /** The next poll says it. */
  beat(): void {}

  /** The next poll says it. */
  chunks(ids: readonly string[]): void {
    for (const id of ids) this.#chunks.push(id);
  }

  drain(): void {
    this.#note("drain", {});
  }

  async leave(): Promise<void> {
    await Promise.race([this.#notes, sleep(LEAVE_LIMIT_MS, undefined, { ref: false })]);
    this.#end(undefined);
    const body = { session: this.#session };
    const leaving = request(this.#address, { path: this.#path("leave"), body, limitMs: LEAVE_LIMIT_MS });
    await leaving.catch(() => {});
  }

  async #poll(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      try {
        const chunks = this.#chunks.splice(0, MAX_CHUNKS);
        const body = { heartbeat: this.#host.heartbeat(), ...(chunks.length > 0 && { chunks }) };
        const waitSeconds = this.#chunks.length > 0 ? 0 : this.#waitSeconds;
        const answer = await this.#request<PollAnswer>(`poll?wait=${waitSeconds}`, body, waitSeconds);
        this.#take(answer);
        // A server may say it with every answer, and then answers at once each time.
        if (answer.drain) await this.#pause();
      } catch (error) {
        this.#end(error as Error);
      }
    }
  }

  #take({ assignments, cancel, recall = [], recharge = [], free = [], drain }: PollAnswer): void {
    if (this.#closing.signal.aborted) return;
    if (assignments.length > 0) this.#host.assign(assignments);
    if (cancel.length > 0) this.#host.cancel(cancel);
    if (recall.length > 0) this.#host.recall(recall);
    if (recharge.length > 0) this.#host.recharge(recharge);
    if (free.length > 0) this.#host.free(free);
    if (drain) this.#host.drain();
  }

  async #pause(): Promise<void> {
    await sleep(this.#waitSeconds * 1_000, undefined, { signal: this.#closing.signal }).catch(() => {});
  }

  #note(path: string, content: object): void {
    this.#notes = this.#notes
      .then(async () => {
        if (!this.#closing.signal.aborted) await this.#request(path, content);
      })
      .catch((error: unknown) => this.#end(error as Error));
  }

  async #sendReports(): Promise<void> {
    this.#lanes++;
    for (let next = this.#reports.shift(); next; next = this.#reports.shift()) {
      // What was said before the report arrives before it, so that a log is whole when its task ends.
      await this.#notes;
      try {
        next.resolve(await this.#request<Ack>("report", { report: next.report }));
      } catch (error) {
        this.#reportFailed(next, error as Error);
      }
    }
    this.#lanes--;
  }

  #reportFailed({ resolve, reject }: WaitingReport, error: Error): void {
    if (error instanceof ConnectionRefused && UNFIT.has(error.code)) {
      resolve({ accepted: false, code: error.code });
      return;
    }
    reject(error);
    this.#end(error);
  }

  #request<Answer>(path: string, content: object, waitSeconds = 0): Promise<Answer> {
    return request(this.#address, {
      path: this.#path(path),
      body: { session: this.#session, ...content },
      limitMs: waitSeconds * 1_000 + (this.#address.answerLimitMs ?? ANSWER_LIMIT_MS),
      signal: this.#closing.signal,
    });
  }

  #path(action: string): string {
    return `${encodeURIComponent(this.worker)}/${action}`;
  }

  #end(error: Error | undefined): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    for (const { reject } of this.#reports.splice(0)) reject(error ?? new Error("the worker left"));
    this.#close(error);
  }
}

interface Request {
  readonly path: string;
  readonly body: unknown;
  readonly limitMs: number;
  readonly signal?: AbortSignal;
}

async function request<Answer>(address: ServerAddress, request: Request): Promise<Answer> {
  const { path, body, limitMs, signal } = request;
  // Not `AbortSignal.any`: on Node 20 what is made from a signal that lives long is kept as long as that.
  const ending = new AbortController();
  const end = () => ending.abort(signal?.reason);
  const timer = setTimeout(() => ending.abort(new Error("the server does not answer")), limitMs);
  signal?.addEventListener("abort", end);
  let response: Response;
  let text: string;
  try {
    response = await secureFetch(workerUrl(address, path), {
      method: "POST",
      headers: { ...authorization(address), "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: ending.signal,
    });
    text = await response.text();
  } catch (error) {
    throw unreachable(error as Error);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
  }
  if (!response.ok) throw declined(response.status, text);
  return answerIn(text);
}

function answerIn<Answer>(text: string): Answer {
  try {
    return JSON.parse(text === "" ? "{}" : text) as Answer;
  } catch {
    throw new ConnectionRefused("not-json", "the server's answer is not JSON: is the URL right?");
  }
}

/** `fetch` says only that it failed, and its cause why. */
function unreachable(error: Error): Error {
  const cause = error.cause as (Error & { readonly code?: string }) | undefined;
  return new Error(cause?.message || cause?.code || error.message, { cause: error });
}
