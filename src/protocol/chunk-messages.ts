import { type Static, Type } from "typebox";

/** What workers and servers say about the results of nodes that other nodes get as inputs (docs/worker-protocol.md). */

const Bytes = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
/** An origin: a path, a query or a user in it would change which resource is asked for. */
const Url = Type.String({
  minLength: 8,
  maxLength: 2048,
  pattern: "^https?://([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?/?$",
  description: "Scheme, host and port, without path, query and user.",
  examples: ["http://10.0.0.7:4711"],
});

/** How the bytes of a result are to be read. */
export type ChunkKind = Static<typeof ChunkKind>;
const ChunkKind = Type.Enum(["json", "bytes", "text", "clone"]);

/** The result of one attempt: `<task>:<attempt>`. */
const ChunkId = Type.String({
  pattern: "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[1-9][0-9]{0,9}$",
  examples: ["0192f3a4-5b6c-7d8e-9f00-112233445566:1"],
});

const handle = {
  kind: ChunkKind,
  /** Of its encoded form, as is its hash. */
  bytes: Bytes,
  sha256: Type.String({
    pattern: "^[0-9a-f]{64}$",
    examples: ["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
  }),
};

export type ChunkHandle = Static<typeof ChunkHandle>;
export const ChunkHandle = Type.Object(handle);

const WorkerName = Type.String({ minLength: 1, maxLength: 256 });

/** The last time that a date can be: a later one could not be written out. */
export const MAX_INSTANT = 8.64e15;

/** Ids in one message. */
const MAX_CHUNKS = 1000;
export const ChunkIds = Type.Array(ChunkId, { maxItems: MAX_CHUNKS });

/** Of a worker, in bytes: chunks in memory and on disk now; fetched from others and freed since it started. */
export const ChunkMemory = Type.Object({ held: Bytes, spilled: Bytes, moved: Bytes, freed: Bytes });

/** Copies that could not be had: gone, or not what they should be. */
export const MissingChunks = Type.Array(Type.Object({ chunk: ChunkId, worker: WorkerName }), {
  maxItems: 10_000,
});

/** How an input came to the worker that needed it. */
export type Transfer = Static<typeof Transfer>;
const Transfer = Type.Object({
  chunk: ChunkId,
  /** The worker that gave it. */
  from: WorkerName,
  began_at: Type.Integer({ minimum: 0, maximum: MAX_INSTANT }),
  /** In microseconds. */
  took_us: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
});

/** Of an attempt; those beyond are not told of. */
export const Transfers = Type.Array(Transfer, { maxItems: 1000 });

/** Where others fetch a worker's chunks. */
export const DataUrl = Url;

/** A result that an attempt gets. Without value and holders it is made here, by an attempt that was assigned before. */
export type InputChunk = Static<typeof InputChunk>;
const InputChunk = Type.Object({
  chunk: ChunkId,
  node: Type.String(),
  /** A small result, as it was reported. */
  value: Type.Optional(Type.Unknown()),
  kind: Type.Optional(handle.kind),
  bytes: Type.Optional(handle.bytes),
  sha256: Type.Optional(handle.sha256),
  /** Of the run that it was made in, where that is another one. */
  token: Type.Optional(Type.String({ minLength: 1 })),
  /** Who has it, best first. */
  from: Type.Optional(Type.Array(Type.Object({ worker: Type.String(), url: Url }))),
});

/** What an attempt of a run with data gets beside its payload, in which `{"$input": 0}` stands for the first input. */
export type AssignedData = Static<typeof AssignedData>;
export const AssignedData = Type.Object({
  /** Of the run. Whoever shows it may fetch the run's chunks. */
  token: Type.String({ minLength: 1 }),
  inputs: Type.Array(InputChunk),
  /** It waits more than it computes, and takes no slot. */
  io: Type.Optional(Type.Literal(true)),
  processor: Type.Optional(Type.Enum(["main", "thread"])),
  /** It gets handles of its inputs, and not what they hold. */
  meta: Type.Optional(Type.Literal(true)),
});

/** What a meta node gets in place of an input's value. */
export interface ResultHandle {
  readonly chunk: string;
  /** Whose result it is. */
  readonly node: string;
  readonly kind: ChunkKind;
  /** Of its encoded form, as is its hash. */
  readonly bytes: number;
  readonly sha256: string;
  /** The workers that have it. */
  readonly holders: readonly string[];
  /** A small result is with its task, on no worker, and need not be brought. */
  readonly value?: unknown;
}
