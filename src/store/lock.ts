import { randomUUID } from "node:crypto";
import { type FileHandle, link, open, readdir, realpath, rm, stat } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { basename, dirname, join } from "node:path";
import { makeDirectory } from "../files/index.ts";
import { StoreError } from "./contract.ts";

/**
 * Keeps other processes from a file, by a socket in a folder beside it that only its owner may enter.
 *
 * A process that dies, however it dies, stops listening: a lock is stale if nobody accepts connections on its socket.
 * Replacing a stale socket needs an atomic step, or two processes could both believe that they replaced it. So each
 * holder takes a number of its own, one above the highest, by `link`, which fails where the number exists. Numbers
 * below are deleted in ascending order, and never the highest one. A process that took a number therefore holds the
 * lock if no higher number exists and its own is still there.
 *
 * A name in Linux's abstract namespace needs none of this, and was rejected: any user of the machine can take it.
 */
export async function lockFile(path: string, taken: string): Promise<AsyncDisposable> {
  const folder = await folderOf(path);
  await makeDirectory(folder, 0o700);
  await using handle = await open(folder, "r");
  for (;;) {
    const last = await lastNumber(folder);
    if (await isListening(handle, last)) throw new StoreError("locked", taken);
    const server = await take(folder, handle, last + 1);
    if (server) return { [Symbol.asyncDispose]: () => closed(server) };
  }
}

/** Whether a process holds the lock of this file. Nothing is written, so that any user who may enter can ask. */
export async function isLocked(path: string): Promise<boolean> {
  const folder = await folderOf(path);
  const found = await open(folder, "r").catch(() => undefined);
  if (!found) return false;
  await using handle = found;
  return await isListening(handle, await lastNumber(folder));
}

/** Listens, takes the number and checks that it counts. `undefined` if another process was faster. */
async function take(folder: string, handle: FileHandle, number: number): Promise<Server | undefined> {
  const unnumbered = `new-${randomUUID()}`;
  const server = await listen(socketIn(handle, unnumbered));
  const own = join(folder, String(number));
  try {
    await link(join(folder, unnumbered), own);
    await rm(join(folder, unnumbered), { force: true });
    if ((await lastNumber(folder)) === number && (await exists(own))) {
      await removeBelow(folder, number);
      return server;
    }
    await rm(own, { force: true });
  } catch (cause) {
    // ENOENT: a new holder has cleared the folder.
    if (!["EEXIST", "ENOENT"].includes((cause as NodeJS.ErrnoException).code ?? "")) {
      await closed(server);
      throw cause;
    }
  }
  await closed(server);
  return undefined;
}

async function listen(path: string): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(path, resolve));
  return server.unref();
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

/** Only a refused connection, or no socket, means that nobody holds it: a busy or stopped process is alive. */
function isListening(handle: FileHandle, number: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketIn(handle, String(number)));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", ({ code }: NodeJS.ErrnoException) =>
      resolve(code !== "ECONNREFUSED" && code !== "ENOENT"),
    );
  });
}

/** Addresses of sockets have at most 107 bytes, and a data directory may be longer. */
function socketIn({ fd }: FileHandle, name: string): string {
  return `/proc/self/fd/${fd}/${name}`;
}

async function numbersIn(folder: string): Promise<number[]> {
  const names = await readdir(folder);
  return names
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .sort((a, b) => a - b);
}

/** 0 if the file was never locked. */
async function lastNumber(folder: string): Promise<number> {
  return (await numbersIn(folder)).at(-1) ?? 0;
}

async function removeBelow(folder: string, number: number): Promise<void> {
  for (const lower of await numbersIn(folder))
    if (lower < number) await rm(join(folder, String(lower)), { force: true });
  for (const name of await readdir(folder))
    if (name.startsWith("new-")) await rm(join(folder, name), { force: true });
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}

/** One folder for the file whatever links lead to it, also before the file exists. */
async function folderOf(path: string): Promise<string> {
  const real = await realpath(path).catch(async () => join(await realpath(dirname(path)), basename(path)));
  return `${real}.lock`;
}
