import type { ClientRequest, IncomingMessage } from "node:http";
import type { WebSocket } from "ws";
import {
  type Ack,
  assignmentsIn,
  type LogEntry,
  type Progress,
  type Registration,
  type Report,
  type ServerMessage,
  type WorkerMessage,
} from "../protocol/index.ts";
import { connectOptions } from "../tls/index.ts";
import { ANSWER_LIMIT_MS, authorization, declined, type ServerAddress, workerUrl } from "./server-address.ts";
import {
  type Connection,
  ConnectionRefused,
  MAX_CHUNKS,
  type Transport,
  type WorkerHost,
} from "./transport.ts";

const LEAVE_LIMIT_MS = 2_000;
const MAX_MESSAGE_BYTES = 256 * 1024 * 1024;
/** What is read of the body of a refusal. */
const MAX_PROBLEM_BYTES = 16 * 1024;

export class WebSocketTransport implements Transport {
  readonly #address: ServerAddress;

  constructor(address: ServerAddress) {
    this.#address = address;
  }

  async connect(registration: Registration, host: WorkerHost): Promise<Connection> {
    const { WebSocket } = await import("ws");
    const url = workerUrl(this.#address, "connect");
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const answerLimitMs = this.#address.answerLimitMs ?? ANSWER_LIMIT_MS;
    const socket = new WebSocket(url, {
      headers: authorization(this.#address),
      ...connectOptions(),
      handshakeTimeout: answerLimitMs,
      maxPayload: MAX_MESSAGE_BYTES,
      perMessageDeflate: false,
    });
    return new WebSocketConnection(socket, host, answerLimitMs).register(registration);
  }
}

/** In one message; a server reads no more than this of one. */
const BATCH_CHARS = 512 * 1024;

interface Answer {
  readonly askedAt: number;
  resolve(acks: readonly Ack[]): void;
  reject(error: Error): void;
}

class WebSocketConnection implements Connection {
  worker = "";
  leaseMs = 0;
  readonly closed: Promise<Error | undefined>;
  readonly #socket: WebSocket;
  readonly #host: WorkerHost;
  readonly #answerLimitMs: number;
  readonly #answers = new Map<number, Answer>();
  #nextRef = 0;
  #maxReports = 1;
  #error: Error | undefined;
  #left = false;
  #heardAt = performance.now();
  #beat: NodeJS.Timeout | undefined;
  #registered: () => void = () => {};

  constructor(socket: WebSocket, host: WorkerHost, answerLimitMs: number) {
    this.#socket = socket;
    this.#host = host;
    this.#answerLimitMs = answerLimitMs;
    socket.on("message", (data: Buffer) => this.#receive(data.toString("utf8")));
    socket.on("pong", () => this.#heard());
    socket.on("unexpected-response", (request, response) => this.#declined(request, response));
    // What follows an error is always a close.
    socket.on("error", (error) => {
      this.#error ??= new Error(error.message || (error as NodeJS.ErrnoException).code, { cause: error });
    });
    this.closed = new Promise((resolve) => socket.once("close", () => resolve(this.#end())));
  }

  async register(registration: Registration): Promise<Connection> {
    const registered = new Promise<true>((resolve) => {
      this.#registered = () => resolve(true);
    });
    let limit: NodeJS.Timeout | undefined;
    this.#socket.once("open", () => {
      limit = setTimeout(() => this.#abandon("the server does not answer"), this.#answerLimitMs);
      this.#send({ type: "register", registration, heartbeat: this.#host.heartbeat() });
    });
    const outcome = await Promise.race([registered, this.closed]);
    clearTimeout(limit);
    if (outcome !== true) throw outcome ?? new Error("the connection was closed");
    return this;
  }

  async report(reports: readonly Report[]): Promise<readonly Ack[]> {
    const acks: Promise<readonly Ack[]>[] = [];
    let texts: string[] = [];
    let chars = 0;
    const flush = () => {
      if (texts.length > 0) acks.push(this.#ask(texts));
      texts = [];
      chars = 0;
    };
    for (const report of reports) {
      const text = JSON.stringify(report);
      if (texts.length === this.#maxReports || chars + text.length > BATCH_CHARS) flush();
      texts.push(text);
      chars += text.length;
    }
    flush();
    return (await Promise.all(acks)).flat();
  }

  #ask(reports: readonly string[]): Promise<readonly Ack[]> {
    return new Promise((resolve, reject) => {
      if (!this.#isOpen()) return reject(new Error("the connection is closed"));
      const ref = this.#nextRef++;
      this.#answers.set(ref, { askedAt: performance.now(), resolve, reject });
      this.#sendText(
        this.#maxReports > 1
          ? `{"type":"reports","ref":${ref},"reports":[${reports.join(",")}]}`
          : `{"type":"report","ref":${ref},"report":${reports.join("")}}`,
      );
    });
  }

  log(entries: readonly LogEntry[]): void {
    this.#send({ type: "log", entries: [...entries] });
  }

  progress(progress: Progress): void {
    this.#send({ type: "progress", progress });
  }

  beat(): void {
    this.#send({ type: "heartbeat", heartbeat: this.#host.heartbeat() });
  }

  chunks(ids: readonly string[]): void {
    for (let at = 0; at < ids.length; at += MAX_CHUNKS)
      this.#send({ type: "chunks", chunks: ids.slice(at, at + MAX_CHUNKS) });
  }

  drain(): void {
    this.#send({ type: "drain" });
    // At once: what it no longer lists can begin elsewhere.
    this.beat();
  }

  async leave(): Promise<void> {
    this.#left = true;
    this.#send({ type: "leave" });
    this.#socket.close(1000);
    const limit = setTimeout(() => this.#socket.terminate(), LEAVE_LIMIT_MS);
    await this.closed;
    clearTimeout(limit);
  }

  #isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  #send(message: WorkerMessage): void {
    // An error here comes as a close, too.
    this.#sendText(JSON.stringify(message));
  }

  #sendText(text: string): void {
    if (this.#isOpen()) this.#socket.send(text, () => {});
  }

  #heard(): void {
    this.#heardAt = performance.now();
  }

  #receive(text: string): void {
    this.#heard();
    const message = serverMessageIn(text);
    if (message) this.#take(message);
    else this.#abandon("the server sent something that is no message");
  }

  #take(message: ServerMessage): void {
    switch (message.type) {
      case "registered":
        this.#welcome(message);
        break;
      case "assign":
        this.#host.assign(assignmentsIn(message));
        break;
      case "recharge":
        this.#host.recharge(message.recharges);
        break;
      case "recall":
        this.#host.recall(message.attempts);
        break;
      case "cancel":
        this.#host.cancel(message.attempts);
        break;
      case "free":
        this.#host.free(message.chunks);
        break;
      case "drain":
        this.#host.drain();
        break;
      case "ack":
        this.#answer(message.ref, [message.ack]);
        break;
      case "acks":
        this.#answer(message.ref, message.acks);
        break;
      case "error":
        this.#error = message.retry
          ? new Error(message.message)
          : new ConnectionRefused(message.code, message.message);
        this.#socket.close();
        break;
      default:
      // A newer server may say more than we know.
    }
  }

  #answer(ref: number, acks: readonly Ack[]): void {
    this.#answers.get(ref)?.resolve(acks);
    this.#answers.delete(ref);
  }

  #welcome({
    worker,
    lease_ms,
    heartbeat_ms,
    max_reports = 1,
  }: Extract<ServerMessage, { type: "registered" }>): void {
    this.worker = worker;
    this.leaseMs = lease_ms;
    this.#maxReports = max_reports;
    this.#beat ??= setInterval(() => this.#keepAlive(), Math.max(heartbeat_ms, 1));
    this.#registered();
  }

  /** A peer that vanished without a word is noticed by its silence: it answers every ping. */
  #keepAlive(): void {
    const now = performance.now();
    // A map keeps its order, so the first has waited longest.
    const [oldest] = this.#answers.values();
    if (now - this.#heardAt > this.leaseMs) this.#abandon("the server is silent");
    if (now - (oldest?.askedAt ?? now) > this.#answerLimitMs) {
      this.#abandon("the server does not answer a report");
    }
    if (!this.#isOpen()) return;
    this.#send({ type: "heartbeat", heartbeat: this.#host.heartbeat() });
    this.#socket.ping(() => {});
  }

  #declined(request: ClientRequest, response: IncomingMessage): void {
    let body = "";
    response.setEncoding("utf8");
    response.on("data", (text: string) => {
      body = (body + text).slice(0, MAX_PROBLEM_BYTES);
    });
    response.once("close", () => {
      this.#error = declined(response.statusCode ?? 0, body);
      request.destroy();
      this.#socket.terminate();
    });
  }

  #abandon(why: string): void {
    this.#error ??= new Error(why);
    this.#socket.terminate();
  }

  #end(): Error | undefined {
    clearInterval(this.#beat);
    const error = this.#error ?? (this.#left ? undefined : new Error("the server closed the connection"));
    for (const { reject } of this.#answers.values()) reject(error ?? new Error("the worker left"));
    this.#answers.clear();
    return error;
  }
}

function serverMessageIn(text: string): ServerMessage | undefined {
  try {
    const message = JSON.parse(text) as ServerMessage | null;
    return typeof message?.type === "string" ? message : undefined;
  } catch {
    return undefined;
  }
}
