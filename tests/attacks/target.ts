// What the attacks of the security review have in common. Each attack goes on until its signal is aborted, and then
// reports what came of it. Short forms run in tests; a long form may run all of them for minutes.

import { connect, type Socket } from "node:net";

export interface Target {
  readonly url: string;
  /** The key of the attacker. "" for an attack without a key. */
  readonly key: string;
}

/** Number of answers by status, and of connections that ended without an answer under "cut". */
export type Outcome = Record<string, number>;

export function count(outcome: Outcome, what: string | number): void {
  outcome[what] = (outcome[what] ?? 0) + 1;
}

export function headersFor({ url, key }: Target): string {
  const { host } = new URL(url);
  return `host: ${host}\r\n${key === "" ? "" : `authorization: Bearer ${key}\r\n`}`;
}

/** A connection for raw bytes. Errors are ignored: the server may cut it at any time. */
export function openSocket({ url }: Target): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  return socket;
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/**
 * Holds connections open until the signal is aborted. A connection that the server closes is opened again. Returns how
 * many were cut, and how many were open at the end.
 */
export async function holdConnections(
  target: Target,
  connections: number,
  begin: (socket: Socket) => void,
  signal: AbortSignal,
): Promise<Outcome> {
  const outcome: Outcome = {};
  const open = new Set<Socket>();
  const start = (): void => {
    const socket = openSocket(target);
    open.add(socket);
    begin(socket);
    socket.on("close", () => {
      open.delete(socket);
      count(outcome, "cut");
      if (!signal.aborted) setTimeout(start, 100);
    });
  };
  for (let n = 0; n < connections && !signal.aborted; n++) {
    start();
    // A listening socket has a backlog of some hundred connections.
    if (n % 100 === 99) await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await untilAborted(signal);
  outcome["open"] = open.size;
  for (const socket of open) socket.destroy();
  return outcome;
}
