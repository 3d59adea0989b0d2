import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { FastifyBaseLogger } from "fastify";
import { type WebSocket, WebSocketServer } from "ws";
import { type Ack, MAX_REPORTS, type ServerMessage, WorkerMessage } from "../../protocol/api-schemas.ts";
import { assignText } from "../../protocol/index.ts";
import { newId } from "../../store/index.ts";
import type { WorkerGateway, WorkerSession, WorkerSink } from "../api.ts";
import { demandScope, type Identity, identify } from "./auth.ts";
import { recognize } from "./connection-table.ts";
import { refuseOnSocket } from "./connections.ts";
import { readJsonText } from "./json-body.ts";
import { invalid, Problem, problemOf, problemOfRefusal } from "./problems.ts";
import type { App, Edge } from "./route.ts";
import { answerWithoutUpgrade } from "./upgrades.ts";
import { checkOf } from "./validation.ts";
import { MAX_WORKER_MESSAGE } from "./worker-routes.ts";
import { checkRegistration, storableEntries, storableProgress, storableReport } from "./worker-texts.ts";

const PATH = "/worker/connect";
const PING_MS = 15_000;
const REGISTER_WITHIN_MS = 10_000;
/** A worker that leaves this much unread is as good as gone. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;

/** Beyond it pings are not answered: whoever sends them without end and reads nothing would fill our memory. */
const MAX_UNREAD_PONGS = 64 * 1024;

/** Refusals that end when other workers leave, or are lost. */
const MAY_PASS: ReadonlySet<string> = new Set(["worker-taken", "rate-limit", "backlog"]);

const checkMessage = checkOf(WorkerMessage, "body");

/** Takes the WebSockets of workers. A key is checked when they connect, and again with every ping. */
export function useWorkerSockets(app: App, edge: Edge): void {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_WORKER_MESSAGE,
    perMessageDeflate: false,
    autoPong: false,
  });
  sockets.on("wsClientError", ({ message }, socket) =>
    refuseOnSocket(socket as Socket, new Problem("malformed", `this is no WebSocket: ${message}`), newId()),
  );
  const connections = new Set<Connection>();
  app.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => socket.destroy());
    if (request.headers.upgrade?.toLowerCase() !== "websocket") {
      answerWithoutUpgrade(app.server, request, socket as Socket, head);
      return;
    }
    let identity: Identity;
    try {
      identity = admit(request, edge);
      const problem = recognize(request.socket, identity.key.id, "worker");
      if (problem) throw problem;
    } catch (error) {
      refuseOnSocket(socket as Socket, problemOf(error), newId());
      return;
    }
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      const connection = new Connection(webSocket, socket, identity, edge.gateway, app.log);
      connections.add(connection);
      webSocket.on("close", () => connections.delete(connection));
    });
  });
  const pings = setInterval(() => {
    for (const connection of connections) connection.ping(edge.keys.isStillValid(connection.keyId));
  }, PING_MS).unref();
  edge.closing.addEventListener("abort", () => {
    clearInterval(pings);
    for (const connection of connections) connection.goAway();
  });
}

function admit(request: IncomingMessage, { keys, closing }: Edge): Identity {
  if (closing.aborted) throw new Problem("unavailable", "the server is closing");
  if (request.url?.split("?")[0] !== PATH) throw new Problem("not-found", `WebSockets connect to ${PATH}`);
  if (request.method !== "GET")
    throw new Problem("method-not-allowed", "use GET", { headers: { allow: "GET" } });
  const identity = identify(keys, request);
  demandScope(identity.caller, ["work"]);
  return identity;
}

/**
 * One worker's WebSocket: a registration first, then messages in the order in which they came. A report is
 * answered when it is committed, which holds nothing else up.
 */
class Connection {
  readonly #socket: WebSocket;
  /** What it goes over. */
  readonly #line: Duplex;
  /** The address that the worker connects from. */
  readonly #peer: string | undefined;
  #isHeldBack = false;
  readonly #identity: Identity;
  readonly #gateway: WorkerGateway;
  readonly #log: FastifyBaseLogger;
  readonly #impatience: NodeJS.Timeout;
  #registered: Promise<WorkerSession | undefined> | undefined;
  #isClosing = false;
  #session: WorkerSession | undefined;
  #hasLeft = false;
  #isAnswering = true;

  constructor(
    socket: WebSocket,
    line: Duplex,
    identity: Identity,
    gateway: WorkerGateway,
    log: FastifyBaseLogger,
  ) {
    this.#socket = socket;
    this.#line = line;
    this.#peer = (line as Socket).remoteAddress;
    this.#identity = identity;
    this.#gateway = gateway;
    this.#log = log;
    this.#impatience = setTimeout(
      () => this.#fail("request-timeout", "no registration came", true),
      REGISTER_WITHIN_MS,
    );
    socket.on("message", (data, isBinary) => this.#take(String(data), isBinary));
    socket.on("ping", (data) => {
      if (socket.bufferedAmount < MAX_UNREAD_PONGS) socket.pong(data);
    });
    socket.on("pong", () => {
      this.#isAnswering = true;
    });
    // A message that is too large closes the socket by itself; the close says the rest.
    socket.on("error", () => {});
    socket.on("close", () => this.#closed());
  }

  get keyId(): string {
    return this.#identity.key.id;
  }

  /** Cuts the line to whoever has not answered the last one. */
  ping(mayStay: boolean): void {
    if (!mayStay) this.#fail("unauthorized", "the API key is not valid any more", false);
    else if (!this.#isAnswering) this.#socket.terminate();
    else {
      this.#isAnswering = false;
      this.#socket.ping();
    }
  }

  goAway(): void {
    this.#isClosing = true;
    this.#socket.close(1001, "the server is closing");
  }

  #take(text: string, isBinary: boolean): void {
    try {
      const message = readMessage(text, isBinary);
      if (message.type === "register") this.#register(message);
      else this.#inOrder(message);
    } catch (error) {
      this.#failWith(error);
    }
  }

  /** What comes while the registration is being committed waits for it. */
  #inOrder(message: Exclude<WorkerMessage, { type: "register" }>): void {
    if (!this.#registered) throw new Problem("malformed", "the first message must be register");
    this.#registered
      .then(async (session) => {
        if (session) await this.#handle(session, message);
      })
      .catch((error: unknown) => this.#failWith(error));
  }

  #register({ registration, heartbeat }: WorkerMessage & { type: "register" }): void {
    if (this.#registered) throw new Problem("malformed", "a connection has one registration");
    clearTimeout(this.#impatience);
    // What there is to do may be known before the registration is answered, but is said after it.
    const early: string[] = [];
    const say = (text: string): void => void (this.#session ? this.#sendText(text) : early.push(text));
    const sink: WorkerSink = {
      assign: (given) => say(assignText(given)),
      send: (message) => say(JSON.stringify(message)),
      close: () => this.goAway(),
    };
    const admitted = async (): Promise<WorkerSession | undefined> => {
      checkRegistration(this.#identity, registration);
      const { caller } = this.#identity;
      const session = await this.#gateway.register(caller, registration, heartbeat, sink, this.#peer);
      if ("refused" in session) throw problemOfRefusal(session);
      this.#send({
        type: "registered",
        worker: registration.id,
        lease_ms: session.leaseMs,
        heartbeat_ms: session.heartbeatMs,
        max_reports: MAX_REPORTS,
      });
      for (const text of early) this.#sendText(text);
      this.#session = session;
      // It was gone before the registration was committed, and nobody would say so later.
      if (this.#socket.readyState !== this.#socket.OPEN) this.#closed();
      return session;
    };
    this.#registered = admitted().catch((error: unknown) => {
      this.#failWith(error);
      return undefined;
    });
  }

  async #handle(
    session: WorkerSession,
    message: Exclude<WorkerMessage, { type: "register" }>,
  ): Promise<void> {
    switch (message.type) {
      case "report": {
        const [ack] = await session.report([storableReport(message.report)]);
        this.#send({ type: "ack", ref: message.ref, ack: ack as Ack });
        break;
      }
      case "reports": {
        const acks = await session.report(message.reports.map(storableReport));
        this.#send({ type: "acks", ref: message.ref, acks: [...acks] });
        break;
      }
      case "heartbeat":
        session.heartbeat(message.heartbeat);
        break;
      case "log":
        session.log(storableEntries(message.entries));
        break;
      case "progress":
        session.progress(storableProgress(message.progress));
        break;
      case "chunks":
        session.chunks(message.chunks);
        break;
      case "drain":
        await session.drain();
        break;
      case "leave":
        this.#hasLeft = true;
        await session.leave();
        this.#socket.close(1000, "left");
        break;
    }
  }

  #send(message: ServerMessage): void {
    this.#sendText(JSON.stringify(message));
  }

  #sendText(text: string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#socket.bufferedAmount > MAX_UNREAD_BYTES) this.#socket.terminate();
    else {
      if (!this.#isHeldBack) this.#holdBack();
      this.#socket.send(text);
    }
  }

  /** What a turn assigns and what it answers to reports goes out together: when all that it led to has been done. */
  #holdBack(): void {
    this.#isHeldBack = true;
    this.#line.cork();
    const letGo = (): void => {
      this.#isHeldBack = false;
      this.#line.uncork();
    };
    // Within a microtask: only then all others come before the next tick.
    queueMicrotask(() => process.nextTick(letGo));
  }

  #failWith(error: unknown): void {
    const problem = problemOf(error);
    const mayPass = MAY_PASS.has(problem.code);
    const isOurs = problem.statusCode >= 500 && !mayPass;
    // What a worker says to a server that closes it says again to the next one.
    if (isOurs && !this.#isClosing)
      this.#log.error({ err: problem.cause ?? problem }, "a worker's message failed");
    this.#fail(problem.code, problem.message, isOurs || mayPass);
  }

  #fail(code: string, message: string, retry: boolean): void {
    this.#send({ type: "error", code, message, retry });
    this.#socket.close(retry ? 1011 : 1008, code);
  }

  #closed(): void {
    clearTimeout(this.#impatience);
    if (!this.#hasLeft) this.#session?.disconnected();
  }
}

function readMessage(text: string, isBinary: boolean): WorkerMessage {
  if (isBinary) throw new Problem("malformed", "a message is a text of JSON");
  const message = readJsonText(text, { mayRound: true, allowsPrototype: true });
  const errors = checkMessage(message);
  if (errors.length > 0) throw invalid(errors);
  return message as WorkerMessage;
}
