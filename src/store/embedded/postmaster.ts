import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { readFile, readlink, realpath, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "../contract.ts";
import { postgresEnvironment } from "./access.ts";
import type { Binaries } from "./binaries.ts";
import type { Owner } from "./owner.ts";

/** A running PostgreSQL, as it describes itself in its data. */
export interface Postmaster {
  readonly pid: number;
  readonly socketDir: string;
  readonly isReady: boolean;
}

/** The name of its socket in the folder for it. */
export const SOCKET = ".s.PGSQL.5432";

const POLL_MS = 10;
/** After a crash it first writes its log into the tables, which takes its time. */
const START_WITHIN_MS = 300_000;
const STOP_WITHIN_MS = 20_000;
/** One that was told to stop before it had started has nothing to write. */
const GIVE_UP_WITHIN_MS = 2_000;
const LARGE_LOG_BYTES = 5 << 20;

/** What it is started with. Durability is left as it is by default: on. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: "",
  unix_socket_permissions: "0700",
  password_encryption: "scram-sha-256",
  max_connections: "40",
  random_page_cost: "1.1",
  timezone: "UTC",
  log_timezone: "UTC",
  jit: "off",
  // A statement that is refused may hold a payload.
  log_min_error_statement: "panic",
};

export interface StartOptions {
  readonly binaries: Binaries;
  readonly owner: Owner | undefined;
  readonly clusterDir: string;
  readonly socketDir: string;
  readonly logFile: string;
  readonly settings: Readonly<Record<string, string>>;
  /** Aborted when it is no longer needed; it is ended then, unless it is ready. */
  readonly signal: AbortSignal;
}

/** Those that this process started or took over, and must not leave behind. */
const ours = new Map<number, string>();

/**
 * Ends them at once, without waiting: for whoever is about to exit. They lose nothing, and clear up when they are
 * started next.
 */
export function abandonPostmasters(): void {
  for (const [pid, clusterDir] of ours) {
    // It may have ended long ago, and its number be another's.
    const written = readFileIfThere(join(clusterDir, "postmaster.pid"));
    if (Number.parseInt(written, 10) === pid) signal(pid, "SIGQUIT");
  }
}

function readFileIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** Starts PostgreSQL and waits until it can be used. It outlives us if we are killed. */
export async function startPostmaster(options: StartOptions): Promise<Postmaster> {
  const { binaries, owner, clusterDir, socketDir, logFile, signal: noLonger } = options;
  noLonger.throwIfAborted();
  const settings = { ...SETTINGS, unix_socket_directories: quoted(socketDir), ...options.settings };
  const output = openSync(logFile, ((await sizeOf(logFile)) ?? 0) > LARGE_LOG_BYTES ? "w" : "a", 0o600);
  const child = spawn(
    join(binaries.folder, "postgres"),
    ["-D", clusterDir, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
    // A group of its own: what ends us by a key on the terminal must leave it to us to stop it.
    { detached: true, stdio: ["ignore", output, output], cwd: "/", env: postgresEnvironment(), ...owner },
  );
  closeSync(output);
  child.unref();
  if (child.pid !== undefined) ours.set(child.pid, clusterDir);
  let failure: string | undefined;
  child.once("error", ({ message }) => {
    failure = message;
  });
  child.once("exit", (code, signal) => {
    failure ??= `it ended with ${signal ?? `code ${code}`}`;
  });
  for (let waitedMs = 0, givenUpMs = 0; waitedMs < START_WITHIN_MS; waitedMs += POLL_MS) {
    const found = await readPidFile(clusterDir);
    if (found?.isReady && found.pid === child.pid) return found;
    if (failure !== undefined) throw new StoreError("unavailable", await withLog(failure, logFile));
    if (noLonger.aborted && child.pid !== undefined) {
      if (givenUpMs === 0) signal(child.pid, "SIGQUIT");
      if (givenUpMs === GIVE_UP_WITHIN_MS) signal(child.pid, "SIGKILL");
      givenUpMs += POLL_MS;
    }
    await sleep(POLL_MS);
  }
  throw new StoreError("unavailable", await withLog("it does not become ready", logFile));
}

/**
 * The PostgreSQL that already runs on this data: we were killed, and it was not. Waits for one that is starting or
 * stopping. Undefined: there is none.
 */
export async function findPostmaster(clusterDir: string): Promise<Postmaster | undefined> {
  for (;;) {
    const found = await readPidFile(clusterDir);
    if (!found) return undefined;
    if (!(await isPostmasterOf(found.pid, clusterDir))) {
      // Its number may have been given to another process meanwhile, or nobody has reaped it yet: PostgreSQL would take
      // that one for itself, and not start.
      await rm(join(clusterDir, "postmaster.pid"), { force: true });
      await rm(join(found.socketDir || clusterDir, `${SOCKET}.lock`), { force: true });
      return undefined;
    }
    if (found.isReady) {
      ours.set(found.pid, clusterDir);
      return found;
    }
    await sleep(POLL_MS);
  }
}

/** Makes it read its rules for connections again. */
export function reloadPostmaster({ pid }: Postmaster): void {
  signal(pid, "SIGHUP");
}

/** Asks it to end its connections, write everything and stop; insists after a while. */
export async function stopPostmaster({ pid }: Postmaster, clusterDir: string): Promise<void> {
  // It may have been killed, and its number given to a process that must not be stopped.
  if ((await readPidFile(clusterDir))?.pid !== pid || !(await isPostmasterOf(pid, clusterDir))) return;
  signal(pid, "SIGINT");
  for (let waitedMs = 0; ; waitedMs += POLL_MS) {
    if (!isAlive(pid) || (await readPidFile(clusterDir))?.pid !== pid) {
      ours.delete(pid);
      return;
    }
    if (waitedMs === STOP_WITHIN_MS) signal(pid, "SIGQUIT");
    if (waitedMs > 2 * STOP_WITHIN_MS)
      throw new StoreError("unavailable", `PostgreSQL (${pid}) does not stop`);
    await sleep(POLL_MS);
  }
}

/** The file holds, a line each: the process, the data, the start, the port, the socket's folder … and the state. */
export async function readPidFile(clusterDir: string): Promise<Postmaster | undefined> {
  const text = await readFile(join(clusterDir, "postmaster.pid"), "utf8").catch(() => "");
  const lines = text.split("\n");
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  return { pid, socketDir: lines[4] ?? "", isReady: lines[7]?.trim() === "ready" };
}

/**
 * A postmaster works in its data directory. Where that may not be seen (as root of a container that may not look into
 * other users' processes) its name must do, and where there is no such view a live process is taken for one.
 */
export async function isPostmasterOf(pid: number, clusterDir: string): Promise<boolean> {
  if (!isAlive(pid)) return false;
  try {
    return (await readlink(`/proc/${pid}/cwd`)) === (await realpath(clusterDir));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return process.platform !== "linux";
    return (await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "")).trim() === "postgres";
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended already.
  }
}

/** A setting that is a list, of one name that may hold commas. */
function quoted(path: string): string {
  return `"${path.replaceAll('"', '""')}"`;
}

async function sizeOf(file: string): Promise<number | undefined> {
  return (await stat(file).catch(() => undefined))?.size;
}

async function withLog(problem: string, logFile: string): Promise<string> {
  const text = await readFile(logFile, "utf8").catch(() => "");
  const lines = text.trimEnd().split("\n").slice(-8);
  return `PostgreSQL does not start: ${problem}. The end of ${logFile}:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}
