import type { SubmitBody } from "../protocol/api-schemas.ts";
import { refuseLoss } from "./json-loss.ts";

/** A connection to PostgreSQL in which a transaction may be open: a client of `pg`, or anything that queries alike. */
export interface Transaction {
  query(
    text: string,
    values: string[],
  ): PromiseLike<{ readonly rows: readonly Readonly<Record<string, unknown>>[] }>;
}

type Options = Partial<Omit<SubmitBody, "task_type" | "payload">> & {
  readonly zone?: string | undefined;
  readonly agent?: string | undefined;
};

/** The schema that a service keeps its tables in. */
const STATEMENT = "select orrery.submit($1, $2::jsonb, $3::jsonb) as id";
const NO_SUCH_SCHEMA = "3F000";
const NO_SUCH_FUNCTION = "42883";
const NOT_ALLOWED = "42501";

/** Submits a task in the transaction that is open there, and returns its id. */
export async function submitIn(
  transaction: Transaction,
  type: string,
  payload: unknown,
  options: Options,
): Promise<string> {
  if (typeof (transaction as Partial<Transaction> | null | undefined)?.query !== "function") {
    throw new TypeError(
      "client must be a connection to PostgreSQL with query(text, values); leave it out to submit without a transaction",
    );
  }
  refuseLoss(payload, "payload");
  try {
    const values = [type, JSON.stringify(payload), JSON.stringify(options)];
    const { rows } = await transaction.query(STATEMENT, values);
    return String(rows[0]?.["id"]);
  } catch (cause) {
    const advice = ADVICE.get((cause as { code?: unknown }).code);
    if (advice === undefined) throw cause;
    throw new Error(`${(cause as Error).message}: ${advice}`, { cause });
  }
}

const MISSING =
  "the database has no tables of Orrery; start a server with --store and the URL of this database";
const ADVICE: ReadonlyMap<unknown, string> = new Map([
  [NO_SUCH_SCHEMA, MISSING],
  [NO_SUCH_FUNCTION, MISSING],
  [
    NOT_ALLOWED,
    "grant the role usage on schema orrery, and execute on function orrery.submit(text, jsonb, jsonb)",
  ],
]);
