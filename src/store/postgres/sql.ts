import { readdirSync, readFileSync } from "node:fs";
import { invariant } from "../../core/index.ts";

/** A statement by the name under which PostgreSQL keeps it prepared. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly text: string;
}

// All files are read when this module is loaded: the installed package may be replaced while a server runs, and a file of
// another version must not reach the database.
const STATEMENTS: ReadonlyMap<string, Statement> = new Map(
  textsIn("sql/").map(({ name, text }) => [name, { name: `orrery ${name}`, text }]),
);

const MIGRATIONS: readonly Migration[] = textsIn("migrations/").map(({ name, text }) => ({
  number: Number.parseInt(name, 10),
  name,
  text,
}));

/** Returns the statement of a file in `sql/`. */
export function sql(name: string): Statement {
  const statement = STATEMENTS.get(name);
  invariant(statement !== undefined, `there is no statement ${name}`);
  return statement;
}

/** Returns all migrations in the order in which they are applied. */
export function migrations(): readonly Migration[] {
  return MIGRATIONS;
}

function textsIn(folder: string): { readonly name: string; readonly text: string }[] {
  const url = new URL(folder, import.meta.url);
  return readdirSync(url)
    .filter((file) => file.endsWith(".sql"))
    .sort()
    .map((file) => ({ name: file.replace(/\.sql$/, ""), text: readFileSync(new URL(file, url), "utf8") }));
}
