import type { ClientBase } from "pg";
import { sha256Hex } from "../../core/index.ts";
import { StoreError } from "../contract.ts";
import { type Migration, migrations, sql } from "./sql.ts";

interface Applied {
  readonly number: number;
  readonly name: string;
  readonly hash: string;
}

/** Brings the schema to what this version needs, in one transaction: all of it or nothing. */
export async function migrate(
  client: ClientBase,
  schema: string,
  known: readonly Migration[] = migrations(),
): Promise<void> {
  await client.query("begin");
  try {
    await client.query({ text: sql("lock-migrations").text, values: [schema] });
    await createSchema(client, schema);
    await client.query(sql("create-migrations").text);
    const { rows } = await client.query<Applied>(sql("read-migrations").text);
    for (const migration of missing(known, rows, schema)) await apply(client, migration);
    await client.query("commit");
  } catch (cause) {
    await client.query("rollback").catch(() => {});
    throw cause;
  }
}

async function createSchema(client: ClientBase, schema: string): Promise<void> {
  const { rows } = await client.query<{ statement: string }>({
    text: sql("create-schema").text,
    values: [schema],
  });
  for (const { statement } of rows) await client.query(statement);
}

/** What is not applied yet. Refuses what another version did: its tables may mean something else. */
function missing(known: readonly Migration[], applied: readonly Applied[], schema: string): Migration[] {
  for (const { number, name, hash } of applied) {
    const migration = known.find((candidate) => candidate.number === number);
    if (!migration) {
      throw new StoreError("foreign", migratedByNewer(schema, [name]));
    }
    if (hash !== sha256Hex(migration.text)) {
      throw new StoreError(
        "foreign",
        `schema ${schema}: migration ${name} is not the one that was applied; it must never be edited`,
      );
    }
  }
  return known.filter(({ number }) => !applied.some((one) => one.number === number));
}

export function migratedByNewer(schema: string, names: readonly string[]): string {
  return `schema ${schema} was migrated by a newer version of Orrery (${names.join(", ")}); use that version`;
}

async function apply(client: ClientBase, { number, name, text }: Migration): Promise<void> {
  await client.query(text).catch((cause: unknown) => {
    // What keeps a table from being changed is named in the details.
    const { message, detail } = cause as Error & { detail?: string };
    throw detail ? new StoreError("unwritable", `migration ${name}: ${message}\n${detail}`, cause) : cause;
  });
  await client.query({ text: sql("add-migration").text, values: [number, name, sha256Hex(text)] });
}
