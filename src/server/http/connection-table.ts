import type { Server, ServerResponse } from "node:http";
import { isIPv6, type Socket } from "node:net";
import type { EdgeLimits } from "./limits.ts";
import { Problem } from "./problems.ts";

/** Interval, in ms, between two searches for stalled readers, unless the stall limit is shorter. */
const LOOK_MS = 1000;

/** A connection is unknown until a request on it has shown a valid key. */
type Kind = "unknown" | "client" | "worker";

interface Connection {
  readonly table: ConnectionTable;
  /** With TLS, the socket of the handshake at first, then the one that requests come from. */
  socket: Socket;
  readonly address: string;
  kind: Kind;
  keyId: string;
  /** Bytes that the reader had taken at the last look. */
  takenBytes: number;
  /** Since when the reader takes nothing although an answer is waiting (`performance.now()`); -1 if it does take it. */
  stalledAtMs: number;
}

/** The fields of Node's socket handle that its own socket time-out looks at. */
interface Handle {
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
}

const connections = new WeakMap<Socket, Connection>();

/**
 * The open connections of a server, bounded in three groups. A new connection is unknown. Its first request with a valid
 * key makes it a client's or a worker's:
 *
 *     unknown ─── valid key ──► client   at most `connections`, and `connectionsPerKey`
 *                           └─► worker   at most `workerConnections`, and `connectionsPerKey`
 *
 * What always holds:
 * - A new connection finds room. If there are too many unknown ones, in all or from its address, the oldest of them is
 *   closed, if possible one without a whole request: a flood of connections without a key only closes its own.
 * - Connections with a key are never closed for others.
 * - A connection whose reader takes nothing of an answer for `stallMs` is closed.
 */
export class ConnectionTable implements Disposable {
  /** Told which limit has closed or refused a connection. */
  onLimited: (limit: string) => void = () => {};
  readonly #limits: EdgeLimits;
  readonly #open = new Set<Connection>();
  /** Oldest first. */
  readonly #unknown = new Set<Connection>();
  readonly #unknownOf = new Map<string, Set<Connection>>();
  readonly #counts: Record<Kind, number> = { unknown: 0, client: 0, worker: 0 };
  readonly #ofKey = { client: new Map<string, number>(), worker: new Map<string, number>() };
  readonly #timer: NodeJS.Timeout;

  constructor(limits: EdgeLimits) {
    this.#limits = limits;
    this.#timer = setInterval(() => this.#cutStalled(), Math.min(LOOK_MS, limits.stallMs / 2)).unref();
  }

  /** Number of open connections by kind. */
  get counts(): Readonly<Record<Kind, number>> {
    return this.#counts;
  }

  watch(server: Server): void {
    const { connections: clients, workerConnections: workers, unknownConnections: unknown } = this.#limits;
    // The last resort. One more than the sum, because a connection is accepted before another one is closed for it.
    server.maxConnections = clients + workers + unknown + 1;
    server.on("connection", (socket: Socket) => this.#add(socket));
    server.on("secureConnection", (socket: Socket) => this.#secure(socket));
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** Counts the connection for this key from now on. Returns the problem if the key, or the group, has its share. */
  assign(connection: Connection, keyId: string, kind: "client" | "worker"): Problem | undefined {
    const { connectionsPerKey, connections: clients, workerConnections: workers } = this.#limits;
    const ofKey = this.#ofKey[kind].get(keyId) ?? 0;
    if (ofKey >= connectionsPerKey)
      return this.#refusal("rate-limit", "connections_per_key", `this key has ${ofKey} connections`);
    const count = this.#counts[kind];
    if (connection.kind !== kind && count >= (kind === "worker" ? workers : clients)) {
      const limit = kind === "worker" ? "worker_connections" : "connections";
      return this.#refusal("backlog", limit, `there are ${count} connections of ${kind}s`);
    }
    this.#leave(connection);
    connection.kind = kind;
    connection.keyId = keyId;
    this.#counts[kind]++;
    this.#ofKey[kind].set(keyId, ofKey + 1);
    return undefined;
  }

  #refusal(code: "rate-limit" | "backlog", limit: string, found: string): Problem {
    this.onLimited(limit);
    const detail = `${found}, and server.${limit} allows no more; close some, or send more requests over each`;
    return new Problem(code, detail, { headers: { "retry-after": "1", connection: "close" } });
  }

  #add(socket: Socket): void {
    const address = networkOf(socket.remoteAddress ?? "");
    const connection: Connection = {
      table: this,
      socket,
      address,
      kind: "unknown",
      keyId: "",
      takenBytes: 0,
      stalledAtMs: -1,
    };
    const ofAddress = this.#unknownOf.get(address);
    const { unknownConnections, connectionsPerAddress } = this.#limits;
    if (ofAddress) this.#makeRoom(ofAddress, connectionsPerAddress, "connections_per_address");
    this.#makeRoom(this.#unknown, unknownConnections, "unknown_connections");
    connections.set(socket, connection);
    this.#open.add(connection);
    this.#unknown.add(connection);
    this.#counts.unknown++;
    const same = this.#unknownOf.get(address);
    if (same) same.add(connection);
    else this.#unknownOf.set(address, new Set([connection]));
    socket.once("close", () => this.#remove(connection));
  }

  #secure(socket: Socket): void {
    // Where Node keeps the socket of the handshake.
    const { _parent: plain } = socket as { readonly _parent?: Socket };
    const connection = plain && connections.get(plain);
    if (!connection) return;
    connection.socket = socket;
    connections.set(socket, connection);
  }

  /** If there are too many, closes the oldest connection without a whole request, or else the oldest one. */
  #makeRoom(among: ReadonlySet<Connection>, most: number, limit: string): void {
    if (among.size < most) return;
    this.onLimited(limit);
    let oldest: Connection | undefined;
    for (const connection of among) {
      oldest ??= connection;
      if (!isIdle(connection)) continue;
      oldest = connection;
      break;
    }
    if (!oldest) return;
    this.#remove(oldest);
    oldest.socket.destroy();
  }

  #remove(connection: Connection): void {
    if (!this.#open.delete(connection)) return;
    connections.delete(connection.socket);
    this.#leave(connection);
  }

  #leave(connection: Connection): void {
    const { kind, keyId, address } = connection;
    this.#counts[kind]--;
    if (kind === "unknown") {
      this.#unknown.delete(connection);
      const same = this.#unknownOf.get(address);
      same?.delete(connection);
      if (same?.size === 0) this.#unknownOf.delete(address);
      return;
    }
    const left = (this.#ofKey[kind].get(keyId) ?? 1) - 1;
    if (left === 0) this.#ofKey[kind].delete(keyId);
    else this.#ofKey[kind].set(keyId, left);
  }

  #cutStalled(): void {
    const nowMs = performance.now();
    for (const connection of this.#open) {
      const { socket } = connection;
      const handle = (socket as unknown as { readonly _handle: Handle | null })._handle;
      if (!handle || socket.writableLength === 0) {
        connection.stalledAtMs = -1;
        continue;
      }
      const taken = handle.bytesWritten - handle.writeQueueSize;
      if (connection.stalledAtMs < 0 || taken !== connection.takenBytes) {
        connection.takenBytes = taken;
        connection.stalledAtMs = nowMs;
      } else if (nowMs - connection.stalledAtMs >= this.#limits.stallMs) {
        this.onLimited("stall");
        socket.destroy();
      }
    }
  }
}

/** Counts the connection for this key. Returns the problem if the key, or the group, has its share of connections. */
export function recognize(socket: Socket, keyId: string, kind: "client" | "worker"): Problem | undefined {
  const connection = connections.get(socket);
  if (!connection || (connection.keyId === keyId && connection.kind === kind)) return undefined;
  return connection.table.assign(connection, keyId, kind);
}

function isIdle({ socket }: Connection): boolean {
  // Node keeps the answer that is being made there.
  const { _httpMessage } = socket as { readonly _httpMessage?: ServerResponse | null };
  return !_httpMessage?.req.complete;
}

/** The address, or for IPv6 its network of 64 bits, which is the least that one user gets. */
function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = "", tail] = (address.split("%", 1)[0] ?? "").split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros =
    tail === undefined ? [] : Array<string>(Math.max(0, 8 - before.length - after.length)).fill("0");
  return [...before, ...zeros, ...after].slice(0, 4).join(":");
}
