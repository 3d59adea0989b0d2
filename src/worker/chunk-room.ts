import { hostname, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import {
  addressesOf,
  type ByteStream,
  type ChunkOwner,
  ChunkServer,
  ChunkStore,
  checkedPieces,
  type Encoded,
  encode,
  Fetcher,
  HolderAddresses,
  inlineOf,
  isByteStream,
  isLoopback,
} from "../chunks/index.ts";
import type { ChunkHandle, Heartbeat } from "../protocol/index.ts";
import type { ServerTls } from "../tls/index.ts";
import { EncodedResult } from "./encoded-result.ts";

/** How a worker takes part in runs with data. */
export interface DataOptions {
  /** Where it serves its chunks; 127.0.0.1 by default. */
  readonly host?: string;
  /** 0, any that is free, by default. */
  readonly port?: number;
  /** The certificate for those who fetch. Plain HTTP without it. */
  readonly tls?: ServerTls;
  /** How others reach that; by default made of host and port. */
  readonly url?: string;
  /** Networks that results may be fetched from although their addresses are loopback or link-local. */
  readonly allow?: readonly string[];
  /** What chunks may take of the memory; 1 GiB by default. */
  readonly memoryBytes?: number;
  /** The share of that from which on they spill to disk. */
  readonly highWater?: number;
  readonly spillDirectory?: string;
  /** Results up to so many bytes go with the report; 16 KiB by default. */
  readonly inlineBytes?: number;
  /** Transfers at once, each way; 8 by default. */
  readonly maxTransfers?: number;
}

/** A result that has become a chunk: as it goes with the report where it is small, or else the handle of what stays here. */
export interface KeptResult {
  readonly inline?: { readonly value: unknown };
  readonly chunk?: ChunkHandle;
}

/** More than any worker is given ahead. */
const MAX_SMALL = 1000;
const DEFAULT_MEMORY_BYTES = 1024 ** 3;
/** How long transfers that are under way may take when the worker has left. */
const CLOSE_GRACE_MS = 5_000;

/** The chunks of a worker: what its tasks made, what it fetched for them, and the door at which others fetch theirs. */
export class ChunkRoom {
  readonly store: ChunkStore;
  readonly fetcher: Fetcher;
  /** Undefined: nobody can fetch from here. */
  readonly url: string | undefined;
  readonly #server: ChunkServer | undefined;
  readonly #inlineBytes: number;
  /** Results that went with their reports, in a ring: only tasks that were given ahead look for them here. */
  readonly #small: string[] = [];
  #smallKept = 0;

  static async open(options: DataOptions): Promise<ChunkRoom> {
    const store = storeOf(options);
    const { host = "127.0.0.1", port = 0, maxTransfers: maxOut = 8, tls } = options;
    const server = await ChunkServer.listen(store, { host, port, maxOut, tls });
    const scheme = tls ? "https" : "http";
    const url = options.url ?? `${scheme}://${authorityOf(host, server.port)}`;
    const isLocal = (await addressesOf(url)).some(isLoopback);
    return new ChunkRoom(store, options, server, url, isLocal);
  }

  /** Without a door. */
  static closed(): ChunkRoom {
    return new ChunkRoom(storeOf({}), {}, undefined, undefined, false);
  }

  private constructor(
    store: ChunkStore,
    { inlineBytes = 16 * 1024, maxTransfers, allow }: DataOptions,
    server: ChunkServer | undefined,
    url: string | undefined,
    /** Whether others reach this worker by loopback. Only then the server names holders with such addresses in good faith. */
    isLocal: boolean,
  ) {
    this.store = store;
    const addresses = new HolderAddresses(allow);
    const permits = (address: string) => addresses.permits(address, isLocal ? undefined : "");
    this.fetcher = new Fetcher(store, maxTransfers, undefined, permits);
    this.#server = server;
    this.#inlineBytes = inlineBytes;
    this.url = url;
  }

  get memory(): NonNullable<Heartbeat["memory"]> {
    return { ...this.store.counters, moved: this.fetcher.moved };
  }

  /** At once where it is small: most are. */
  keep(owner: ChunkOwner, value: unknown): KeptResult | Promise<KeptResult> {
    if (isByteStream(value)) return this.#keepStream(owner, value);
    const encoded = value instanceof EncodedResult ? value.encoded : encode(value, this.#inlineBytes);
    if (encoded.bytes.length > this.#inlineBytes) return this.#keepLarge(owner, encoded);
    this.store.putSmall(owner, encoded);
    return this.#inline(owner.id, encoded);
  }

  async #keepStream(owner: ChunkOwner, stream: ByteStream): Promise<KeptResult> {
    const chunk = await this.store.spool(owner, "bytes", checkedPieces(stream));
    if (chunk.bytes > this.#inlineBytes) return { chunk };
    return this.#inline(owner.id, (await this.store.read(owner.id)) as Encoded);
  }

  async #keepLarge(owner: ChunkOwner, encoded: Encoded): Promise<KeptResult> {
    return { chunk: await this.store.put(owner, encoded) };
  }

  #inline(id: string, encoded: Encoded): KeptResult {
    const place = this.#smallKept++ % MAX_SMALL;
    const oldest = this.#small[place];
    this.#small[place] = id;
    if (oldest !== undefined) this.store.free([oldest]);
    return { inline: { value: inlineOf(encoded) } };
  }

  /** When the server knows of all reports, and no task is here that was given ahead. */
  forgetSmall(): void {
    this.store.free(this.#small.splice(0));
    this.#smallKept = 0;
  }

  renewTls(tls: ServerTls): void {
    this.#server?.renew(tls);
  }

  async close(): Promise<void> {
    await this.#server?.close(CLOSE_GRACE_MS);
    await this.store.close();
  }
}

function storeOf({ memoryBytes, spillDirectory, highWater }: DataOptions): ChunkStore {
  return new ChunkStore({
    limitBytes: memoryBytes ?? DEFAULT_MEMORY_BYTES,
    // Of this user alone: another one could not write into it.
    directory: spillDirectory ?? join(tmpdir(), `orrery-${userInfo().uid}`),
    ...(highWater !== undefined && { highWater }),
  });
}

function authorityOf(given: string, port: number): string {
  // What listens on all addresses is known to others by the machine's name.
  const host = given === "0.0.0.0" || given === "::" ? hostname() : given;
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
