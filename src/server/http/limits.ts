const MIB = 1024 * 1024;

/** Bounds on what callers can make the edge of the server hold or compute. All of them are settings in `server`. */
export interface EdgeLimits {
  /** Connections of clients with a valid key. */
  readonly connections: number;
  /** Connections of workers. They are counted apart, so that clients cannot lock workers out. */
  readonly workerConnections: number;
  /** Connections of one key, for clients and for workers each. */
  readonly connectionsPerKey: number;
  /** Connections that have not shown a valid key yet. */
  readonly unknownConnections: number;
  /** Connections of one address that have not shown a valid key yet. */
  readonly connectionsPerAddress: number;
  /** An answer of which the reader takes nothing for this long is cut off, in ms. */
  readonly stallMs: number;
  /** Bytes of answers that their readers have not taken yet. */
  readonly unreadBytes: number;
  readonly unreadBytesPerKey: number;
  /** Bytes of large request bodies that are received, parsed or carried out. */
  readonly bodyBytes: number;
  readonly bodyBytesPerKey: number;
  /** Large request bodies of one key at a time. */
  readonly largeBodiesPerKey: number;
  /** Time of the main thread that costly requests of one key may take, in ms per second. */
  readonly workMsPerKey: number;
  /** Bytes that one key may send and fetch, per second. */
  readonly bytesPerKey: number;
}

export const EDGE_LIMITS: EdgeLimits = {
  connections: 10_000,
  workerConnections: 5_000,
  connectionsPerKey: 2_500,
  unknownConnections: 2_000,
  connectionsPerAddress: 1_000,
  stallMs: 30_000,
  unreadBytes: 128 * MIB,
  unreadBytesPerKey: 32 * MIB,
  bodyBytes: 512 * MIB,
  bodyBytesPerKey: 128 * MIB,
  largeBodiesPerKey: 8,
  workMsPerKey: 500,
  bytesPerKey: 128 * MIB,
};

/** A body of at least this many bytes counts as large. Smaller ones are not worth the bookkeeping. */
export const LARGE_BODY = 64 * 1024;
