import { type ServiceStore, StoreError } from "./contract.ts";
import { hasCluster, openEmbedded } from "./embedded/cluster.ts";
import { MemoryStore } from "./memory.ts";

export interface OpenOptions {
  /** `memory`, or the URL of a PostgreSQL; undefined: a private PostgreSQL in the data directory. */
  readonly store?: string | undefined;
  readonly dataDir: string;
  /** Somebody wants what they submit to be there: nothing else will do. */
  readonly isDataDirGiven?: boolean;
  readonly log?: (message: string) => void;
  /** Told what the operator should know: nothing is kept, or the database cannot be reached. */
  readonly warn?: (message: string) => void;
}

export interface OpenedStore extends AsyncDisposable {
  readonly store: ServiceStore;
  /** Whether other processes can have it open too. */
  readonly isShared: boolean;
  /** One line, without secrets. */
  readonly description: string;
}

/** Where its address may have come from: it may stand in an environment that nobody thinks of. */
const FROM = "(from --store or DATABASE_URL)";

/** Opens the store that was asked for; where none was, the safest that can be had. */
export async function openServiceStore(options: OpenOptions): Promise<OpenedStore> {
  const { store: asked, dataDir, warn = () => {} } = options;
  if (asked === "memory") return inMemory("memory: nothing is kept when it stops");
  if (asked !== undefined) return await inPostgres(asked, warn);
  try {
    return await inEmbedded(options);
  } catch (cause) {
    if (!(cause instanceof StoreError) || cause.code === "locked" || (await hasCluster(dataDir))) throw cause;
    if (options.isDataDirGiven && cause.code !== "missing")
      throw new StoreError("foreign", cause.message, cause);
    warn(`NOTHING WILL BE KEPT: there is no database, all is in memory only. ${cause.message}`);
    return inMemory("memory, because no PostgreSQL could be started: nothing is kept when it stops");
  }
}

function inMemory(description: string): OpenedStore {
  const store = new MemoryStore();
  return { store, isShared: false, description, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

async function inPostgres(url: string, warn: (message: string) => void): Promise<OpenedStore> {
  if (!/^postgres(ql)?:\/\//.test(url)) {
    throw new StoreError(
      "foreign",
      `the store ${FROM} is neither memory nor a URL that begins with postgres://`,
    );
  }
  const store = await openPostgres(url, warn).catch((cause: unknown) => {
    if (!(cause instanceof StoreError) || cause.code !== "unavailable") throw cause;
    throw new StoreError(cause.code, `the store ${FROM}: ${cause.message}`, cause);
  });
  return {
    store,
    isShared: true,
    description: `PostgreSQL at ${withoutSecrets(url)}`,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

async function inEmbedded({ dataDir, log, warn = () => {} }: OpenOptions): Promise<OpenedStore> {
  const embedded = await openEmbedded({ dataDir, warn, ...(log && { log }) });
  try {
    const store = await openPostgres(embedded.url, warn);
    return {
      store,
      isShared: false,
      description: `PostgreSQL ${embedded.major} in ${dataDir}`,
      [Symbol.asyncDispose]: async () => {
        await store[Symbol.asyncDispose]();
        await embedded[Symbol.asyncDispose]();
      },
    };
  } catch (cause) {
    await embedded[Symbol.asyncDispose]();
    throw cause;
  }
}

async function openPostgres(url: string, warn: (message: string) => void): Promise<ServiceStore> {
  // Loaded late: the driver takes longer to load than most commands take to run.
  const { PostgresStore } = await import("./postgres/store.ts");
  return PostgresStore.open({ url, onUnsafe: warn, onTrouble: warn, onRecovery: warn });
}

/** A URL may hold a password before the host, or among its parameters. */
function withoutSecrets(url: string): string {
  return url.replace(/\?.*$/s, "").replace(/\/\/[^/]*@/, "//");
}
