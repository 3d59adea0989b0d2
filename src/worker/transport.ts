import type {
  Ack,
  Assignment,
  Heartbeat,
  LogEntry,
  Progress,
  Recharge,
  Registration,
  Report,
} from "../protocol/index.ts";

/** A way to a server. There is one over WebSocket, one by plain HTTP, and one within a process. */
export interface Transport {
  /**
   * Registers the worker. Rejects with `ConnectionRefused` where trying again is of no use, with any other error
   * where it may be. What the server sends may reach the host before this resolves.
   */
  connect(registration: Registration, host: WorkerHost): Promise<Connection>;
}

/** The worker, as a transport sees it. */
export interface WorkerHost {
  /** As things stand now. Asked for when the worker registers, and then at least every `heartbeatMs`. */
  heartbeat(): Heartbeat;
  assign(assignments: readonly Assignment[]): void;
  cancel(attempts: readonly AttemptName[]): void;
  /** Others could begin these sooner: what has not begun here is reported as returned. */
  recall(attempts: readonly AttemptName[]): void;
  recharge(recharges: readonly Recharge[]): void;
  /** Nobody needs these chunks any more. */
  free(chunks: readonly string[]): void;
  /** The server wants the worker to finish what it runs, and to leave. */
  drain(): void;
}

/** After it is closed, its methods do nothing and `report` rejects. */
export interface Connection {
  /** The id under which the server knows this worker. */
  readonly worker: string;
  readonly leaseMs: number;
  /**
   * How attempts ended; the answers come in the same order. Rejects when the connection ends before them; the worker
   * then reports again over the next one. A connection on which the answer stays out for long ends for that reason.
   */
  report(reports: readonly Report[]): Promise<readonly Ack[]>;
  /** Logs and progress are let go where they cannot be sent. */
  log(entries: readonly LogEntry[]): void;
  progress(progress: Progress): void;
  /** Says how things stand before the next heartbeat would, where it can. */
  beat(): void;
  /** These are held here; those of them that nobody needs are freed in answer. */
  chunks(ids: readonly string[]): void;
  drain(): void;
  /** Resolves within a few seconds, whether or not the server heard it. */
  leave(): Promise<void>;
  /** Why it ended; undefined: the worker left. */
  readonly closed: Promise<Error | undefined>;
}

/** Ids of chunks in one message. */
export const MAX_CHUNKS = 1000;

export interface AttemptName {
  readonly task: string;
  readonly attempt: number;
}

/** The server refuses this worker, and would again: a wrong key, a wrong address, another protocol. */
export class ConnectionRefused extends Error {
  override readonly name: string = "ConnectionRefused";
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
