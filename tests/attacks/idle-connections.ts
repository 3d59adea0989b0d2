import { headersFor, holdConnections, type Outcome, type Target } from "./target.ts";

/** [F17] Holds connections that each made one request and then say nothing. */
export async function holdIdleConnections(
  target: Target,
  { connections, path }: { readonly connections: number; readonly path: string },
  signal: AbortSignal,
): Promise<Outcome> {
  const head = `GET ${path} HTTP/1.1\r\n${headersFor(target)}\r\n`;
  return await holdConnections(target, connections, (socket) => socket.resume().write(head), signal);
}
