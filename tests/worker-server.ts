// The server's side of the worker protocol, as little of it as workers need to be tested: it schedules nothing,
// hands out what a test tells it to, and keeps all that it hears.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import type {
  Ack,
  Assignment,
  Heartbeat,
  PollAnswer,
  Registration,
  Report,
  ServerMessage,
  WorkerMessage,
} from "../src/protocol/worker-messages.ts";

export type Heard = WorkerMessage;
export type HeardType = Heard["type"];
type HeardOf<Type extends HeardType> = Extract<Heard, { type: Type }>;

export interface TestServerOptions {
  readonly port?: number;
  readonly key?: string;
  readonly heartbeatMs?: number;
  readonly leaseMs?: number;
  readonly onHeard?: (message: Heard) => void;
}

const API = "/worker";

export class TestServer {
  readonly heard: Heard[] = [];
  /** What a report is answered with; undefined: nothing. */
  answer: (report: Report) => Ack | undefined = () => ({ accepted: true });
  readonly #options: TestServerOptions;
  readonly #http: Server;
  readonly #sockets = new Set<Socket>();
  readonly #waiting = new Set<() => void>();
  #link: WebSocket | undefined;
  #worker = "";
  #session = "";
  #parcel: PollAnswer = { assignments: [], cancel: [], drain: false };
  #poll: (() => void) | undefined;

  static async start(options: TestServerOptions = {}): Promise<TestServer> {
    const server = new TestServer(options);
    await new Promise<void>((resolve, reject) => {
      server.#http.once("error", reject);
      server.#http.listen(options.port ?? 0, "127.0.0.1", resolve);
    });
    return server;
  }

  private constructor(options: TestServerOptions) {
    this.#options = options;
    this.#http = createServer((request, response) => void this.#respond(request, response));
    this.#http.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    const sockets = new WebSocketServer({ noServer: true });
    this.#http.on("upgrade", (request, socket, head) => {
      if (!this.#mayEnter(request)) {
        socket.end(`HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n${REFUSAL}`);
        return;
      }
      sockets.handleUpgrade(request, socket, head, (link) => this.#accept(link));
    });
  }

  get port(): number {
    return (this.#http.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  assign(...assignments: readonly Assignment[]): void {
    this.#parcel.assignments.push(...assignments);
    this.#hand({ type: "assign", assignments: [...assignments] });
  }

  cancel(...attempts: readonly { readonly task: string; readonly attempt: number }[]): void {
    const cancel = attempts.map(({ task, attempt }) => ({ task, attempt }));
    this.#parcel.cancel.push(...cancel);
    this.#hand({ type: "cancel", attempts: cancel });
  }

  recall(...attempts: readonly { readonly task: string; readonly attempt: number }[]): void {
    const recall = attempts.map(({ task, attempt }) => ({ task, attempt }));
    this.#parcel = { ...this.#parcel, recall };
    this.#hand({ type: "recall", attempts: recall });
  }

  free(...chunks: readonly string[]): void {
    this.#parcel.free = [...(this.#parcel.free ?? []), ...chunks];
    this.#hand({ type: "free", chunks: [...chunks] });
  }

  drain(): void {
    this.#parcel.drain = true;
    this.#hand({ type: "drain" });
  }

  refuse(code: string, message: string, retry: boolean): void {
    this.#hand({ type: "error", code, message, retry });
    this.#link?.close();
  }

  /** All of this type that was heard so far. */
  all<Type extends HeardType>(type: Type): HeardOf<Type>[] {
    return this.heard.filter((message): message is HeardOf<Type> => message.type === type);
  }

  /** The first message of this type that fits, as soon as it was heard. */
  async hears<Type extends HeardType>(
    type: Type,
    fits: (message: HeardOf<Type>) => boolean = () => true,
  ): Promise<HeardOf<Type>> {
    for (;;) {
      const found = this.all(type).find(fits);
      if (found) return found;
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  async report(task: string): Promise<Report> {
    return (await this.hears("report", ({ report }) => report.task === task)).report;
  }

  /** As when its process dies: every connection breaks, and nobody answers any more. */
  async crash(): Promise<void> {
    const closed = new Promise((resolve) => this.#http.close(resolve));
    for (const socket of this.#sockets) socket.resetAndDestroy();
    await closed;
  }

  #note(message: Heard): void {
    this.heard.push(message);
    this.#options.onHeard?.(message);
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }

  #hand(message: ServerMessage): void {
    if (this.#link) this.#link.send(JSON.stringify(message));
    this.#poll?.();
  }

  #mayEnter({ headers }: IncomingMessage): boolean {
    return headers.authorization === `Bearer ${this.#options.key ?? "key"}`;
  }

  get #terms(): { worker: string; lease_ms: number; heartbeat_ms: number } {
    const { leaseMs = 5_000, heartbeatMs = 1_000 } = this.#options;
    return { worker: this.#worker, lease_ms: leaseMs, heartbeat_ms: heartbeatMs };
  }

  #accept(link: WebSocket): void {
    link.on("error", () => {});
    link.on("message", (data: Buffer) => {
      const message = JSON.parse(data.toString("utf8")) as WorkerMessage;
      if (message.type === "register") {
        this.#worker = message.registration.id;
        this.#link = link;
        link.send(JSON.stringify({ type: "registered", ...this.#terms } satisfies ServerMessage));
        this.#forget();
      }
      if (message.type === "report") {
        const ack = this.answer(message.report);
        if (ack) link.send(JSON.stringify({ type: "ack", ref: message.ref, ack } satisfies ServerMessage));
      }
      this.#note(message);
    });
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!this.#mayEnter(request)) return send(response, 401, REFUSAL);
    const url = new URL(request.url ?? "", "http://server");
    const body = await bodyOf(request);
    const path = url.pathname.slice(API.length);
    if (path === "/register") return this.#register(body as Registered, response);
    const [, worker, action = ""] = path.split("/");
    const { session } = body as { session: string };
    if (worker !== encodeURIComponent(this.#worker) || session !== this.#session) {
      return send(response, 409, SESSION_ENDED);
    }
    if (action === "poll") {
      const { heartbeat, chunks } = body as HeardOf<"heartbeat"> & Partial<HeardOf<"chunks">>;
      if (chunks) this.#note({ type: "chunks", chunks });
      return this.#answerPoll(heartbeat, url, response);
    }
    if (action === "report") return this.#answerReport((body as HeardOf<"report">).report, response);
    this.#note(messageOf(action, body));
    send(response, 200, "{}");
  }

  #register({ registration, heartbeat }: Registered, response: ServerResponse): void {
    this.#worker = registration.id;
    this.#session = registration.session;
    this.#forget();
    send(response, 200, JSON.stringify(this.#terms));
    this.#note({ type: "register", registration, heartbeat });
  }

  #answerPoll(heartbeat: Heartbeat, url: URL, response: ServerResponse): void {
    const answer = (): void => {
      clearTimeout(timer);
      this.#poll = undefined;
      send(response, 200, JSON.stringify(this.#parcel));
      // Said with every answer, as a server may.
      this.#parcel = { assignments: [], cancel: [], drain: this.#parcel.drain };
    };
    const timer = setTimeout(answer, Number(url.searchParams.get("wait")) * 1_000);
    response.once("close", () => clearTimeout(timer));
    this.#poll = answer;
    const { assignments, cancel, recall = [], free = [], drain } = this.#parcel;
    if ([assignments, cancel, recall, free].some(({ length }) => length > 0) || drain) answer();
    this.#note({ type: "heartbeat", heartbeat });
  }

  #answerReport(report: Report, response: ServerResponse): void {
    const ack = this.answer(report);
    if (ack) send(response, 200, JSON.stringify(ack));
    this.#note({ type: "report", ref: 0, report });
  }

  #forget(): void {
    this.#parcel = { assignments: [], cancel: [], drain: false };
  }
}

interface Registered {
  readonly registration: Registration;
  readonly heartbeat: Heartbeat;
}

const REFUSAL = JSON.stringify({
  title: "Unauthorized",
  status: 401,
  detail: "the key is wrong",
  code: "bad-key",
});
const SESSION_ENDED = JSON.stringify({ title: "Conflict", status: 409, code: "session-ended" });

function messageOf(action: string, body: unknown): Heard {
  if (action === "log") return { type: "log", entries: (body as HeardOf<"log">).entries };
  if (action === "progress") return { type: "progress", progress: (body as HeardOf<"progress">).progress };
  return { type: action as "drain" | "leave" };
}

function send(response: ServerResponse, status: number, body: string): void {
  const type = status === 200 ? "application/json" : "application/problem+json";
  response.writeHead(status, { "content-type": type }).end(body);
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk as string;
  return text === "" ? undefined : JSON.parse(text);
}
