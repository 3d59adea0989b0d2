import pg from "pg";
import { StoreError } from "../contract.ts";
import { configOf, type Target } from "./connection.ts";
import { BackOff, isOutage, messageOf, type Outage, throwIfClosed } from "./outage.ts";
import { valuesOf } from "./parameters.ts";
import { sql } from "./sql.ts";

const POOL_SIZE = 4;
const QUERY_TIMEOUT_MS = 10_000;
/** How long an outage is waited out. */
const PATIENCE_MS = 10_000;
const REACHABLE_WITHIN_MS = 1_000;

/** The connections for everything but commits: reads, and writes that may be made twice. */
export class Reader {
  readonly #pool: pg.Pool;
  readonly #closed: AbortSignal;
  readonly #outage: Outage;

  constructor(target: Target, outage: Outage, closed: AbortSignal, size: number = POOL_SIZE) {
    this.#closed = closed;
    this.#outage = outage;
    this.#pool = new pg.Pool({
      ...configOf(target, QUERY_TIMEOUT_MS),
      max: size,
      // The pool waits for it before it lends the connection out, whatever its type says.
      onConnect: (client) =>
        client.query({
          text: sql("settings-of-reads").text,
          values: [target.schema],
        }) as unknown as undefined,
    });
    // A connection that breaks while nobody uses it is replaced when it is needed.
    this.#pool.on("error", () => {});
  }

  /** `part` is what an outage is reported for: a statement that fails although others work names a part of its own. */
  async rows<R extends pg.QueryResultRow>(
    name: string,
    values: readonly unknown[],
    part: unknown = this,
  ): Promise<R[]> {
    const query = { ...sql(name), values: valuesOf(values) };
    return this.#patiently(async () => (await this.#pool.query<R>(query)).rows, part);
  }

  /** All of `work` in one transaction, and all of it again when the connection breaks. */
  async transaction<T>(work: (client: pg.ClientBase) => Promise<T>): Promise<T> {
    return this.#patiently(async () => {
      const client = await this.#pool.connect();
      // Between two queries nobody else hears that the connection ended. The next one finds out.
      const onError = () => {};
      client.on("error", onError);
      let failure: Error | undefined;
      try {
        await client.query("begin");
        const result = await work(client);
        await client.query("commit");
        return result;
      } catch (cause) {
        failure = cause as Error;
        throw cause;
      } finally {
        // A connection that failed is closed, which ends its transaction too.
        client.release(failure);
        client.off("error", onError);
      }
    });
  }

  async isReachable(): Promise<boolean> {
    const query = { ...sql("read-head"), query_timeout: REACHABLE_WITHIN_MS };
    // The first try may get a connection that broke while nobody used it, which says nothing about the next one.
    const tried = this.#pool.query(query).catch(() => this.#pool.query(query));
    return tried.then(
      () => !this.#closed.aborted,
      () => false,
    );
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #patiently<T>(work: () => Promise<T>, part: unknown = this): Promise<T> {
    const backOff = new BackOff(this.#closed);
    const startedMs = performance.now();
    for (;;) {
      throwIfClosed(this.#closed);
      try {
        const result = await work();
        this.#outage.passed(part);
        return result;
      } catch (cause) {
        throwIfClosed(this.#closed);
        if (cause instanceof StoreError) throw cause;
        if (!isOutage(cause)) throw new StoreError("unreadable", `PostgreSQL: ${messageOf(cause)}`, cause);
        const isEnough = performance.now() - startedMs > PATIENCE_MS;
        this.#outage.failed(part, messageOf(cause), isEnough);
        if (isEnough)
          throw new StoreError("unavailable", `PostgreSQL cannot be reached: ${messageOf(cause)}`, cause);
        await backOff.wait();
      }
    }
  }
}
