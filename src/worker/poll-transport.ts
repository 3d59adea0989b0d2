import type {
  Ack,
  Heartbeat,
  LogEntry,
  PollAnswer,
  Progress,
  Registration,
  Report,
} from "../protocol/index.ts";
import { ANSWER_LIMIT_MS, apiUrl, authorization, declined, type ServerAddress } from "./server-address.ts";
import { type Connection, ConnectionRefused, type Transport, type WorkerHost } from "./transport.ts";

const LEAVE_LIMIT_MS = 2_000;
/** What is gathered into one request; a single report may be larger. */
const MAX_BATCH_CHARS = 1024 * 1024;
const MAX_BATCH_REPORTS = 100;

/**
 * By plain HTTP requests, for networks that do not let WebSockets through. One request is always open, waiting
 * for work; a second one at a time carries what the worker has to say.
 */
export class PollTransport implements Transport {
  readonly #address: ServerAddress;

  constructor(address: ServerAddress) {
    this.#address = address;
  }

  async connect(registration: Registration, host: WorkerHost): Promise<Connection> {
    const body = JSON.stringify({ registration, heartbeat: host.heartbeat() });
    const path = "worker/register";
    const terms = await request<Terms>(this.#address, { path, body, limitMs: limitOf(this.#address) });
    return new PollConnection(this.#address, registration, terms, host);
  }
}

interface Terms {
  readonly worker: string;
  readonly lease_ms: number;
  readonly heartbeat_ms: number;
}

interface WaitingReport {
  readonly text: string;
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
  #reports: WaitingReport[] = [];
  /** Logs, progress and the like, in their order. They go before reports, so that a log is whole when its task ends. */
  #notes: { readonly path: string; readonly body: string }[] = [];
  #isSending = false;
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

  report(report: Report): Promise<Ack> {
    return new Promise((resolve, reject) => {
      if (this.#closing.signal.aborted) return reject(new Error("the connection is closed"));
      this.#reports.push({ text: JSON.stringify(report), resolve, reject });
      void this.#send();
    });
  }

  log(entries: readonly LogEntry[]): void {
    this.#note("log", { entries });
  }

  progress(progress: Progress): void {
    this.#note("progress", progress);
  }

  drain(): void {
    this.#note("drain", {});
  }

  async leave(): Promise<void> {
    // Nobody waits for the answers to what is still on its way.
    this.#end(undefined);
    const leaving = {
      path: this.#path("leave"),
      body: "{}",
      limitMs: LEAVE_LIMIT_MS,
      session: this.#session,
    };
    await request(this.#address, leaving).catch(() => {});
  }

  async #poll(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      try {
        const heartbeat: Heartbeat = this.#host.heartbeat();
        const path = `poll?wait=${this.#waitSeconds}`;
        const limitMs = this.#waitSeconds * 1_000 + limitOf(this.#address);
        this.#take(await this.#request<PollAnswer>(path, JSON.stringify(heartbeat), limitMs));
      } catch (error) {
        this.#end(error as Error);
      }
    }
  }

  #take({ assignments, cancel, drain }: PollAnswer): void {
    if (this.#closing.signal.aborted) return;
    if (assignments.length > 0) this.#host.assign(assignments);
    if (cancel.length > 0) this.#host.cancel(cancel);
    if (drain) this.#host.drain();
  }

  #note(path: string, content: unknown): void {
    if (this.#closing.signal.aborted) return;
    this.#notes.push({ path, body: JSON.stringify(content) });
    void this.#send();
  }

  /** One request after the other: what comes up meanwhile is gathered for the next. */
  async #send(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      while (!this.#closing.signal.aborted && this.#notes.length + this.#reports.length > 0) {
        const note = this.#notes.shift();
        if (note) await this.#request(note.path, note.body, limitOf(this.#address));
        else await this.#sendReports();
      }
    } catch (error) {
      this.#end(error as Error);
    } finally {
      this.#isSending = false;
    }
  }

  async #sendReports(): Promise<void> {
    const batch = this.#reports.slice(0, sizeOfBatch(this.#reports));
    const body = `{"reports":[${batch.map(({ text }) => text).join(",")}]}`;
    const { acks } = await this.#request<{ acks: Ack[] }>("report", body, limitOf(this.#address));
    if (acks.length !== batch.length) throw new Error("the server did not answer for all reports");
    // Only now: what is still in the list when the connection ends is rejected there.
    this.#reports = this.#reports.slice(batch.length);
    for (const [index, { resolve }] of batch.entries()) resolve(acks[index] as Ack);
  }

  #request<Answer>(path: string, body: string, limitMs: number): Promise<Answer> {
    const { signal } = this.#closing;
    return request(this.#address, { path: this.#path(path), body, limitMs, signal, session: this.#session });
  }

  #path(action: string): string {
    return `worker/${encodeURIComponent(this.worker)}/${action}`;
  }

  #end(error: Error | undefined): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    for (const { reject } of this.#reports) reject(error ?? new Error("the worker left"));
    this.#close(error);
  }
}

function sizeOfBatch(reports: readonly WaitingReport[]): number {
  let chars = 0;
  const end = reports.findIndex(({ text }, index) => {
    chars += text.length;
    return index > 0 && (chars > MAX_BATCH_CHARS || index === MAX_BATCH_REPORTS);
  });
  return end === -1 ? reports.length : end;
}

function limitOf({ answerLimitMs = ANSWER_LIMIT_MS }: ServerAddress): number {
  return answerLimitMs;
}

interface Request {
  readonly path: string;
  readonly body: string;
  readonly limitMs: number;
  readonly signal?: AbortSignal;
  readonly session?: string;
}

async function request<Answer>(address: ServerAddress, request: Request): Promise<Answer> {
  const { path, body, limitMs, signal, session } = request;
  const limit = AbortSignal.timeout(limitMs);
  let response: Response;
  let text: string;
  try {
    response = await fetch(apiUrl(address, path), {
      method: "POST",
      headers: {
        ...authorization(address),
        "content-type": "application/json",
        ...(session === undefined ? {} : { "x-worker-session": session }),
      },
      body,
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
    text = await response.text();
  } catch (error) {
    throw unreachable(error as Error);
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
  if (error.name === "TimeoutError") return new Error("the server does not answer", { cause: error });
  const cause = error.cause as (Error & { readonly code?: string }) | undefined;
  return new Error(cause?.message || cause?.code || error.message, { cause: error });
}
