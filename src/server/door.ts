import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createSecureServer, type Server as SecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { HealthAnswer } from "../protocol/api-schemas.ts";
import { newId } from "../store/index.ts";
import type { ServerTls } from "../tls/index.ts";
import { ConnectionTable } from "./http/connection-table.ts";
import {
  CONNECTION_OPTIONS,
  limitConnections,
  refuseOddRequests,
  refuseOnSocket,
} from "./http/connections.ts";
import { refuseWith } from "./http/errors.ts";
import { misframed } from "./http/framing.ts";
import type { EdgeLimits } from "./http/limits.ts";
import { Problem } from "./http/problems.ts";
import { answerWithoutUpgrade } from "./http/upgrades.ts";

/** Who answers what comes in at the door. */
export interface Doorkeeper {
  answer(request: IncomingMessage, response: ServerResponse): void;
  /** A WebSocket; nothing else is spoken here. */
  connect(request: IncomingMessage, socket: Socket, head: Buffer): void;
}

export interface Address {
  readonly host: string;
  readonly port: number;
  /** Fail when the port is taken, instead of taking the next free one. */
  readonly strictPort: boolean;
}

/** The server cannot start as asked; the message says what to change. */
export class StartError extends Error {
  override readonly name = "StartError";
}

/** Time limit of a TLS handshake, in ms. */
const HANDSHAKE_MS = 10_000;

/** How many ports are tried. */
const PORTS_TRIED = 20;

/** The listening socket, from the first moment on, whoever answers behind it. */
export class Door {
  keeper: Doorkeeper = STARTING;
  readonly connections: ConnectionTable;
  readonly #server: Server | SecureServer;

  /** With `tls` it speaks nothing but TLS. */
  constructor(limits: EdgeLimits, tls?: ServerTls) {
    this.connections = new ConnectionTable(limits);
    const answer: RequestListener = (request, response) => {
      const problem = misframed(request);
      if (problem) refuseAndClose(request, response, problem);
      else this.keeper.answer(request, response);
    };
    this.#server = tls
      ? createSecureServer({ ...CONNECTION_OPTIONS, ...tls, handshakeTimeout: HANDSHAKE_MS }, answer)
      : createServer(CONNECTION_OPTIONS, answer);
    this.#server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
      socket.on("error", () => socket.destroy());
      const problem = misframed(request);
      if (problem) refuseOnSocket(socket, problem, newId());
      else if (request.headers.upgrade?.toLowerCase() === "websocket")
        this.keeper.connect(request, socket, head);
      else answerWithoutUpgrade(this.#server, request, socket, head);
    });
    refuseOddRequests(this.#server);
    limitConnections(this.#server);
    this.connections.watch(this.#server);
  }

  /** The port asked for, or the next one that is free. */
  async listen({ host, port, strictPort }: Address): Promise<number> {
    for (let tried = port; ; tried++) {
      try {
        return await this.#listenOn(host, tried);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        const mayTryNext =
          code === "EADDRINUSE" && !strictPort && port !== 0 && tried + 1 < port + PORTS_TRIED;
        if (!mayTryNext) throw new StartError(whyNot(code, host, tried));
      }
    }
  }

  /** New connections get this certificate. Open ones stay. */
  renew(tls: ServerTls): void {
    (this.#server as SecureServer).setSecureContext(tls);
  }

  close(): Promise<void> {
    this.connections[Symbol.dispose]();
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  #listenOn(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const server = this.#server;
      server.once("error", reject);
      server.listen(port, host, () => {
        server.off("error", reject);
        resolve((server.address() as AddressInfo).port);
      });
    });
  }
}

const STARTING: Doorkeeper = {
  answer(request, response) {
    const path = request.url?.split("?")[0];
    if (path === "/livez") answerHealth(response, 200, "ok");
    else if (path === "/readyz" || path === "/health") answerHealth(response, 503, "starting");
    else refuseWith(response, starting(), newId());
  },
  connect: (_, socket) => refuseOnSocket(socket, starting(), newId()),
};

function answerHealth(response: ServerResponse, code: number, status: HealthAnswer["status"]): void {
  response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify({ status }));
}

function refuseAndClose(request: IncomingMessage, response: ServerResponse, problem: Problem): void {
  request.resume();
  response.shouldKeepAlive = false;
  refuseWith(response, problem, newId());
}

function starting(): Problem {
  const detail = "the server opens its store and recovers; try again in a moment";
  return new Problem("unavailable", detail, { headers: { "retry-after": "1" } });
}

function whyNot(code: string | undefined, host: string, port: number): string {
  if (code === "EADDRINUSE") return `port ${port} is taken; choose another with --port`;
  if (code === "EACCES")
    return `port ${port} may not be used by this user; choose one above 1023 with --port`;
  return `cannot listen on ${host} port ${port}: ${code}`;
}
