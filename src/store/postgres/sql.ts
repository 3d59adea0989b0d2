import { readdirSync, readFileSync } from "node:fs";

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

const known = new Map<string, Statement>();

/** The statement of a file in `sql/`, read once. */
export function sql(name: string): Statement {
  let statement = known.get(name);
  if (!statement) {
    statement = { name: `orrery ${name}`, text: read(`sql/${name}.sql`) };
    known.set(name, statement);
  }
  return statement;
}

/** All migrations in their order. */
export function migrations(): readonly Migration[] {
  return readdirSync(new URL("migrations/", import.meta.url))
    .filter((file) => file.endsWith(".sql"))
    .sort()
    .map((file) => ({
      number: Number.parseInt(file, 10),
      name: file.replace(/\.sql$/, ""),
      text: read(`migrations/${file}`),
    }));
}

function read(path: string): string {
  return readFileSync(new URL(path, import.meta.url), "utf8");
}
