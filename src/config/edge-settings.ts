import { setting } from "./setting.ts";
import { duration, SIZE, whole } from "./value-type.ts";

const readers = ["serve"] as const;
const MIB = 1024 * 1024;
const MOST = 1_000_000;

/** Limits on what callers can make the HTTP edge hold or compute. */
export const EDGE = {
  connections: setting({
    key: "connections",
    type: whole(1, MOST),
    default: 10_000,
    about: "Maximum number of connections of clients that have shown a valid key",
    readers,
  }),
  workerConnections: setting({
    key: "worker_connections",
    type: whole(1, MOST),
    default: 5_000,
    about: "Maximum number of connections of workers; counted apart, so that clients cannot lock workers out",
    readers,
  }),
  connectionsPerKey: setting({
    key: "connections_per_key",
    type: whole(1, MOST),
    default: 2_500,
    about: "Maximum number of connections of one key, for clients and for workers each",
    readers,
  }),
  unknownConnections: setting({
    key: "unknown_connections",
    type: whole(1, MOST),
    default: 2_000,
    about: "Maximum number of connections without a valid key; the oldest idle one is closed for a new one",
    readers,
  }),
  connectionsPerAddress: setting({
    key: "connections_per_address",
    type: whole(1, MOST),
    default: 1_000,
    about:
      "The same for one address; connections that have shown a valid key do not count, so a proxy needs no more",
    readers,
  }),
  stallMs: setting({
    key: "stall",
    type: duration({ leastMs: 100, mostMs: 3_600_000 }),
    default: 30_000,
    about: "A connection is closed when its reader takes nothing of an answer for this long",
    readers,
  }),
  unreadBytes: setting({
    key: "unread",
    type: SIZE,
    default: 128 * MIB,
    about: "Maximum size of all answers that their readers have not taken yet",
    readers,
  }),
  unreadBytesPerKey: setting({
    key: "unread_per_key",
    type: SIZE,
    default: 32 * MIB,
    about: "Maximum size of the answers to one key that have not been taken yet",
    readers,
  }),
  bodyBytes: setting({
    key: "bodies",
    type: SIZE,
    default: 512 * MIB,
    about: "Maximum size of all large request bodies (from 64 KiB) in progress; they lie outside of the heap",
    readers,
  }),
  bodyBytesPerKey: setting({
    key: "bodies_per_key",
    type: SIZE,
    default: 128 * MIB,
    about: "Maximum size of the large request bodies of one key in progress",
    readers,
  }),
  largeBodiesPerKey: setting({
    key: "large_bodies_per_key",
    type: whole(1, MOST),
    default: 8,
    about: "Maximum number of large request bodies of one key in progress",
    readers,
  }),
  workMsPerKey: setting({
    key: "work_per_key",
    type: whole(1, 1000),
    default: 500,
    about: "Milliseconds of the main thread that costly requests of one key may take per second",
    readers,
  }),
  bytesPerKey: setting({
    key: "bytes_per_key",
    type: SIZE,
    default: 128 * MIB,
    about: "Bytes that one key may send and fetch per second",
    readers,
  }),
};
