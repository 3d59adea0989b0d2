import { realpath } from "node:fs/promises";
import { createServer } from "node:net";
import { basename, dirname, join } from "node:path";
import { sha256Hex } from "../core/index.ts";
import { StoreError } from "./contract.ts";

/**
 * Keeps other processes of this machine from a file, by a name that only one process can listen on.
 *
 * The kernel gives the name back when its owner dies, however it dies, so there is no stale lock to take over and
 * no moment in which two think that they took it; that was rejected after a lock file had shown both. The name is
 * in Linux's abstract namespace: nothing is left in the file system.
 */
export async function lockFile(path: string, taken: string): Promise<AsyncDisposable> {
  const name = `\0orrery-${sha256Hex(await realPath(path)).slice(0, 40)}`;
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      reject(cause.code === "EADDRINUSE" ? new StoreError("locked", taken, cause) : cause);
    });
    server.listen(name, resolve);
  });
  server.unref();
  return {
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** One name for the file whatever links lead to it, also before it exists. */
async function realPath(path: string): Promise<string> {
  return realpath(path).catch(async () => join(await realpath(dirname(path)), basename(path)));
}
