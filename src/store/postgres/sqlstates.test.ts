import { readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { expect, test } from "vitest";
import { blockOn } from "../../../tests/any-rows.ts";
import { testDatabase } from "../../../tests/postgres.ts";
import { headOf } from "../../ledger/index.ts";
import { findBinaries } from "../embedded/binaries.ts";
import { SQLSTATES, type Verdict, verdictOn } from "./sqlstates.ts";
import { PostgresStore } from "./store.ts";

/** Codes that older or newer versions than an installed one have. */
const NOT_EVERYWHERE = new Set(["10608", "25P04", "58P03", "72000"]);

test("[S-26.sqlstates] the table has the codes of every installed PostgreSQL, and no others", async () => {
  let compared = 0;
  for (const { folder } of await findBinaries()) {
    for (const share of [join(folder, "../share/postgresql"), folder.replace(/lib(.*)\/bin$/, "share$1")]) {
      const text = await readFile(join(share, "errcodes.txt"), "utf8").catch(() => "");
      const codes = new Set(Array.from(text.matchAll(/^([0-9A-Z]{5})\s/gm), ([, code]) => code as string));
      if (codes.size === 0) continue;
      compared++;
      const ours = [...SQLSTATES.keys()];
      expect([...codes].filter((code) => !SQLSTATES.has(code))).toEqual([]);
      expect(ours.filter((code) => !codes.has(code) && !NOT_EVERYWHERE.has(code))).toEqual([]);
    }
  }
  expect(compared).toBeGreaterThan(0);
});

test("[S-26.sqlstates] a code that is not in the table is treated like its class, and one without a class is refused", () => {
  expect(["53999", "40999", "57999", "42999", "XX999"].map(verdictOn)).toEqual([
    "retry",
    "retry",
    "retry",
    "stop",
    "stop",
  ]);
  expect(verdictOn("ZZ001")).toBe("refuse");
});

/** What a commit does when PostgreSQL raises an error once: it succeeds the second time, or rejects with this code. */
const OUTCOMES: Readonly<Record<Verdict, string>> = {
  retry: "committed",
  "step down": "locked",
  refuse: "refused",
  stop: "unwritable",
};

test("[S-26.sqlstates] commits follow the table for every code that PostgreSQL can raise", async () => {
  const database = await testDatabase();
  await using store = await PostgresStore.open(database);
  const admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  // A sequence counts the attempts, because the rollback of an attempt does not undo it.
  await admin.query(`
    set search_path to "${database.schema}";
    create sequence attempts;
    create table raised (code text);
    insert into raised values ('00000');
    create function raise_once() returns trigger language plpgsql as $$
      begin
        if nextval('attempts') = 1 then
          raise exception using errcode = (select code from raised), message = 'raised by the test';
        end if;
        return null;
      end $$;
    create trigger raise_once after insert on blocks execute function raise_once();`);
  const found: Record<string, string> = {};
  for (const code of SQLSTATES.keys()) {
    // PL/pgSQL cannot raise success.
    if (code === "00000") continue;
    await admin.query(`update raised set code = '${code}'; select setval('attempts', 1, false)`);
    const block = blockOn(store.head);
    found[code] = await store.commit(block).then(
      () => "committed",
      (error: { code: string }) => error.code,
    );
    const isStored = (await store.refresh()).hash === headOf(block).hash;
    if (isStored !== (found[code] === "committed")) found[code] += isStored ? ", stored" : ", not stored";
  }
  await admin.end();
  const expected = [...SQLSTATES].filter(([code]) => code !== "00000");
  expect(found).toEqual(Object.fromEntries(expected.map(([code, verdict]) => [code, OUTCOMES[verdict]])));
});
