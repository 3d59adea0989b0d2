import { timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createSecureServer, type Server as SecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ServerTls } from "../tls/index.ts";
import type { ChunkStore } from "./chunk-store.ts";
import { sha256Of } from "./encoding.ts";
import { Places } from "./places.ts";

export interface ChunkServerOptions {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  /** Plain HTTP without it. */
  readonly tls?: ServerTls | undefined;
  /** How many chunks are sent at once; 8 by default. */
  readonly maxOut?: number;
  /** How long others wait for that before they are told to come again; 5 s by default. */
  readonly waitMs?: number;
}

/** How many wait for that. Whoever comes then is told to come again at once. */
const MAX_WAITING = 256;
const DEFAULT_WAIT_MS = 5_000;
/** Who takes nothing for so long gives its place to others. */
const STALL_MS = 60_000;

/** Gives chunks to other workers: `GET /chunks/{id}`, with the token of the chunk's run. */
export class ChunkServer {
  readonly #store: ChunkStore;
  readonly #server: Server | SecureServer;
  readonly #places: Places;
  readonly #waitMs: number;
  readonly #closing = new AbortController();

  static async listen(store: ChunkStore, options: ChunkServerOptions): Promise<ChunkServer> {
    const { host, port } = options;
    const server = new ChunkServer(store, options);
    server.#server.listen({ host, port });
    await once(server.#server, "listening");
    return server;
  }

  private constructor(store: ChunkStore, { maxOut = 8, waitMs = DEFAULT_WAIT_MS, tls }: ChunkServerOptions) {
    this.#store = store;
    this.#waitMs = waitMs;
    this.#places = new Places(maxOut, MAX_WAITING);
    const answer: RequestListener = (request, response) => {
      // Whoever asked sees that it ends too early, and asks another one.
      this.#respond(request, response).catch(() => response.destroy());
      // Else a connection on which nothing more comes would hold up the end.
      response.once("close", () => {
        if (this.#closing.signal.aborted) setImmediate(() => this.#server.closeIdleConnections());
      });
    };
    this.#server = tls ? createSecureServer(tls, answer) : createServer(answer);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** New connections get this certificate. Open ones stay. */
  renew(tls: ServerTls): void {
    (this.#server as SecureServer).setSecureContext(tls);
  }

  /** Lets what is being sent end within the grace. */
  async close(graceMs: number): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const closed = once(this.#server, "close");
    this.#closing.abort();
    this.#server.close();
    this.#server.closeIdleConnections();
    const limit = setTimeout(() => this.#server.closeAllConnections(), graceMs);
    await closed;
    clearTimeout(limit);
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = idIn(request.url ?? "");
    if (id === undefined) return refuse(response, 404, "there is nothing but /chunks/{id}");
    if (request.method !== "GET") return refuse(response, 405, "chunks are only read");
    if (!this.#mayHave(request, id, response)) return;
    const leave = await this.#place();
    if (!leave) return refuse(response, 503, "too many ask at once; ask again");
    try {
      if (!response.closed) await this.#send(request, id, response);
    } finally {
      leave();
    }
  }

  /** Undefined: there is none soon. */
  async #place(): Promise<(() => void) | undefined> {
    if (this.#places.isFull) return undefined;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), this.#waitMs);
    const stop = (): void => late.abort();
    this.#closing.signal.addEventListener("abort", stop);
    try {
      return await this.#places.take(late.signal);
    } catch {
      return undefined;
    } finally {
      clearTimeout(timer);
      this.#closing.signal.removeEventListener("abort", stop);
    }
  }

  async #send(request: IncomingMessage, id: string, response: ServerResponse): Promise<void> {
    // It may have been freed while it waited.
    if (!this.#mayHave(request, id, response)) return;
    const chunk = this.#store.open(id);
    if (!chunk) return;
    const { kind, bytes, sha256 } = chunk.handle;
    const body = chunk.body();
    if (!Buffer.isBuffer(body) && !(await isOpen(body)))
      return refuse(response, 404, "the chunk is here no more");
    response.setTimeout(STALL_MS, () => response.destroy());
    response.writeHead(200, {
      "content-type": "application/octet-stream",
      "content-length": bytes,
      "x-orrery-kind": kind,
      "x-orrery-sha256": sha256,
    });
    if (!Buffer.isBuffer(body)) return pipeline(body, response);
    response.end(body);
    if (!response.closed) await once(response, "close");
  }

  /** Refuses whoever may not. */
  #mayHave(request: IncomingMessage, id: string, response: ServerResponse): boolean {
    const given = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
    const chunk = this.#store.open(id);
    if (given !== undefined && chunk && isSame(given, chunk.token)) return true;
    if (given === undefined || chunk) refuse(response, 401, "the token of the chunk's run is needed");
    else refuse(response, 404, "the chunk is not here");
    return false;
  }
}

function idIn(url: string): string | undefined {
  return /^\/chunks\/([0-9a-f-]{36}(?::|%3[Aa])\d{1,10})$/.exec(url)?.[1]?.replace(/%3a/i, ":");
}

/** In a time that says nothing about where they differ. */
function isSame(given: string, right: string): boolean {
  return timingSafeEqual(
    Buffer.from(sha256Of(Buffer.from(given))),
    Buffer.from(sha256Of(Buffer.from(right))),
  );
}

function refuse(response: ServerResponse, status: number, detail: string): void {
  response.writeHead(status, { "content-type": "application/problem+json" });
  response.end(JSON.stringify({ status, detail }));
}

/** False: somebody removed its file. */
async function isOpen(file: Readable): Promise<boolean> {
  try {
    await once(file, "open");
    return true;
  } catch (error) {
    // Anything else may pass.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return false;
  }
}
