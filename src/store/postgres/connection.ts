import { Socket } from "node:net";
import pg from "pg";
import { sql } from "./sql.ts";

/** Where the tables are. */
export interface Target {
  readonly url: string;
  readonly schema: string;
  readonly sockets?: Sockets;
}

/** The sockets of connections: the only way to close one whose other end no longer answers. */
export class Sockets {
  readonly #open = new Set<Socket>();

  make(): Socket {
    const socket = new Socket();
    this.#open.add(socket);
    return socket.once("close", () => this.#open.delete(socket));
  }

  destroy(): void {
    for (const socket of this.#open) socket.destroy();
  }
}

const BIGINT = 20;
const DISCONNECT_WITHIN_MS = 1_000;

/** The driver gives bigint as text. Ours are milliseconds, sequences and millionths, all below 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text") =>
    oid === BIGINT
      ? Number
      : (pg.types.getTypeParser(oid, format) as unknown)) as typeof pg.types.getTypeParser,
};

export function configOf({ url, sockets }: Target, queryTimeoutMs: number): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: "orrery",
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: 5_000,
    query_timeout: queryTimeoutMs,
    types,
    ...(sockets && { stream: () => sockets.make() }),
  };
}

/** A connection for one purpose, with its settings. It ends with an error that its owner must not miss. */
export async function connect(
  target: Target,
  settings: "settings-of-commits" | "settings-of-reads",
  queryTimeoutMs: number,
): Promise<pg.Client> {
  const pipeline = settings === "settings-of-commits";
  const client = new pg.Client({ ...configOf(target, queryTimeoutMs), pipeline });
  // Without a listener an error ends the process. Whoever uses the connection next finds it closed.
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query({ text: sql(settings).text, values: [target.schema] });
    return client;
  } catch (cause) {
    await disconnect(client);
    throw cause;
  }
}

/** Closes a connection within a second, also if its other end no longer answers. */
export async function disconnect(client: pg.Client): Promise<void> {
  const timer = setTimeout(() => client.connection?.stream.destroy(), DISCONNECT_WITHIN_MS);
  await client.end().catch(() => {});
  clearTimeout(timer);
}
