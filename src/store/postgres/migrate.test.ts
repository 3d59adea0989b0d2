import pg from "pg";
import { expect, test } from "vitest";
import { type TestDatabase, testDatabase } from "../../../tests/postgres.ts";
import { migrate } from "./migrate.ts";
import { type Migration, migrations } from "./sql.ts";
import { PostgresStore } from "./store.ts";

const [FIRST] = migrations() as [Migration];

async function connected({ url, schema }: TestDatabase): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("select set_config('search_path', quote_ident($1), false)", [schema]);
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

test("a PostgreSQL that may lose what was committed is told of once", async () => {
  const told: string[] = [];
  const database = await testDatabase();
  await using _ = await PostgresStore.open({ ...database, onUnsafe: (message) => told.push(message) });
  // The shared one of the tests has them off.
  expect(told).toEqual([expect.stringContaining("fsync and full_page_writes off")]);
});

test("the committed schema is what the migrations make", async () => {
  const database = await testDatabase();
  await using client = await connected(database);
  await migrate(client, database.schema);
  await expect(await described(client, database.schema)).toMatchFileSnapshot("schema.sql");
});

test("migrations are numbered without gaps and named for their effect", () => {
  const names = migrations().map(({ name }) => name);
  names.forEach((name, at) => {
    expect(name).toMatch(new RegExp(`^${String(at + 1).padStart(4, "0")}_[a-z_]+$`));
  });
});

test("a migration that was made side by side with a later one is applied after it", async () => {
  const database = await testDatabase();
  await using client = await connected(database);
  const [second, third] = [2, 3].map((number) => ({
    number,
    name: `000${number}_add`,
    text: `create table added_${number} ()`,
  })) as [Migration, Migration];
  await migrate(client, database.schema, [FIRST, third]);
  await migrate(client, database.schema, [FIRST, second, third]);
  const { rows } = await client.query(
    "select from information_schema.tables where table_schema = $1 and table_name like 'added%'",
    [database.schema],
  );
  expect(rows).toHaveLength(2);
});

test("several processes that open new tables at once make them once", async () => {
  const database = await testDatabase();
  const stores = await Promise.all([1, 2, 3].map(() => PostgresStore.open(database)));
  for (const store of stores) expect(store.head.seq).toBe(0);
  const decided = await Promise.all(stores.map((store, at) => store.setting("secret", () => `of ${at}`)));
  expect(new Set(decided).size).toBe(1);
  for (const store of stores) await store[Symbol.asyncDispose]();
});

test("tables of a newer version, or of an edited migration, are refused", async () => {
  const database = await testDatabase();
  await using client = await connected(database);
  const newer = { number: 9999, name: "9999_later", text: "select 1" };
  await migrate(client, database.schema, [FIRST, newer]);
  await expect(PostgresStore.open(database)).rejects.toMatchObject({
    code: "foreign",
    message: expect.stringContaining("newer version of Orrery (9999_later)"),
  });
  const edited = { ...FIRST, text: `${FIRST.text}\n-- one more thing` };
  await expect(migrate(client, database.schema, [edited, newer])).rejects.toMatchObject({
    code: "foreign",
    message: expect.stringContaining("0001_create_ledger_and_rows is not the one that was applied"),
  });
});

test("a migration that fails leaves nothing behind", async () => {
  const database = await testDatabase();
  await using client = await connected(database);
  const broken = { number: 2, name: "0002_broken", text: "create table half (); select 1 / 0" };
  await expect(migrate(client, database.schema, [FIRST, broken])).rejects.toThrow("division by zero");
  const { rows } = await client.query("select from pg_namespace where nspname = $1", [database.schema]);
  expect(rows).toEqual([]);
});

test("what somebody built on the tables, and keeps a migration from working, is named", async () => {
  const database = await testDatabase();
  await using client = await connected(database);
  const all = migrations();
  const split = all.findIndex(({ name }) => name.includes("part_progress"));
  await migrate(client, database.schema, all.slice(0, split));
  await client.query("create view ours as select id, seq from tasks");
  await expect(PostgresStore.open(database)).rejects.toMatchObject({
    code: "unwritable",
    message: expect.stringMatching(/^migration 0008_part_progress.*cannot drop.*\n.*view ours depends on/s),
  });
  await client.query("drop view ours");
  await using _ = await PostgresStore.open(database);
});

test("a server that is not there is said to be unavailable, and one that refuses us says why", async () => {
  const { url } = await testDatabase();
  const wrong = url.replace("/postgres?", "/no_such_database?");
  await expect(PostgresStore.open({ url: wrong })).rejects.toMatchObject({
    code: "unwritable",
    message: expect.stringContaining('"no_such_database" does not exist'),
  });
});

/** The schema as statements, from the catalogue: `pg_dump` words it differently in every version. */
async function described(client: pg.Client, schema: string): Promise<string> {
  const query = async (text: string) =>
    (await client.query<{ text: string }>(text, [schema])).rows.map((row) => row.text);
  const parts = [
    ...(await query(FUNCTIONS)),
    ...(await query(TABLES)),
    ...(await query(VIEWS)),
    ...(await query(INDEXES)).map((text) => text.replaceAll(`"${schema}".`, "")),
  ];
  const title =
    "-- What the migrations make. Written by migrate.test.ts; renew it with `npx vitest migrate -u`.";
  const plain = (part: string) => part.replaceAll(`"${schema}".`, "").replaceAll(`'${schema}'`, "'orrery'");
  return `${[title, ...parts].map(plain).join("\n\n")}\n`;
}

const FUNCTIONS = `
  select rtrim(pg_get_functiondef(p.oid), E'\\n') || ';' as text
    from pg_proc p
   where p.pronamespace = (select oid from pg_namespace where nspname = $1)
   order by p.proname`;

// Constraints for "not null" are kept in the catalogue by newer versions only.
const TABLES = `
  select format(E'create table %I (\\n%s\\n)%s;', c.relname,
           (select string_agg(line, E',\\n' order by rank, place)
              from (select 1 as rank, a.attnum::int as place,
                           format('  %I %s%s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
                             case when l.collname <> 'default' then format(' collate %I', l.collname) end,
                             case when a.attnotnull then ' not null' end,
                             ' default ' || pg_get_expr(d.adbin, d.adrelid)) as line
                      from pg_attribute a
                      left join pg_collation l on l.oid = a.attcollation
                      left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
                     where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                     union all
                    select 2, row_number() over (order by k.conname)::int,
                           format('  constraint %I %s', k.conname, pg_get_constraintdef(k.oid))
                      from pg_constraint k
                     where k.conrelid = c.oid and k.contype <> 'n') lines),
           ' with (' || array_to_string(c.reloptions, ', ') || ')') as text
    from pg_class c
   where c.relkind = 'r' and c.relnamespace = (select oid from pg_namespace where nspname = $1)
   order by c.relname`;

// Their definitions are worded differently in every version too; what they show is what others rely on.
const VIEWS = `
  select format(E'create view %I (\\n%s\n);', c.relname,
           (select string_agg(format('  %I %s', a.attname, format_type(a.atttypid, a.atttypmod)), E',\\n'
                              order by a.attnum)
              from pg_attribute a
             where a.attrelid = c.oid and a.attnum > 0)) as text
    from pg_class c
   where c.relkind = 'v' and c.relnamespace = (select oid from pg_namespace where nspname = $1)
   order by c.relname`;

const INDEXES = `
  select pg_get_indexdef(i.indexrelid) || ';' as text
    from pg_index i
    join pg_class c on c.oid = i.indexrelid
   where c.relnamespace = (select oid from pg_namespace where nspname = $1)
     and not exists (select from pg_constraint k where k.conindid = i.indexrelid)
   order by c.relname`;
