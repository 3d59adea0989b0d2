import { execFile } from "node:child_process";
import { appendFile, mkdir, mkdtemp, readFile, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../../tests/postgres.ts";
import { type Block, BlockWriter, GENESIS, type Head, headOf } from "../ledger/index.ts";
import type { Store } from "./contract.ts";
import { FileStore } from "./file.ts";
import { headPath, LedgerFile, snapshotPath } from "./ledger-file.ts";
import { MemoryStore } from "./memory.ts";
import { PostgresStore } from "./postgres/store.ts";

async function ledgerPath(): Promise<string> {
  return join(await mkdtemp(join(tmpdir(), "orrery-store-")), "nested", "ledger.jsonl");
}

function blockOn(head: Head, count = 1, epoch = 1): Block {
  const writer = new BlockWriter();
  for (let at = 0; at < count; at++) writer.add({ kind: "CancelRequested", run: at, node: -1 });
  return writer.seal(head, epoch, 1000 + head.seq);
}

async function fill(store: Store, blocks: number): Promise<Head[]> {
  const heads: Head[] = [];
  for (let at = 0; at < blocks; at++) {
    const block = blockOn(store.head, 1 + (at % 3));
    expect(await store.commit(block)).toBe(true);
    heads.push(headOf(block));
  }
  return heads;
}

async function linesOf(store: Store, after?: Head): Promise<string[]> {
  const lines: string[] = [];
  for await (const block of store.blocks(after)) lines.push(block.line);
  return lines;
}

const STORES: Readonly<Record<string, () => Promise<Store>>> = {
  memory: async () => new MemoryStore(),
  file: async () => FileStore.open(await ledgerPath()),
  postgres: async () => PostgresStore.open(await testDatabase()),
};

describe.each(Object.entries(STORES))("the %s store", (_, open) => {
  test("begins at genesis and gives back what was committed, in order", async () => {
    await using store = await open();
    expect(store.head).toEqual(GENESIS);
    const first = blockOn(GENESIS, 2);
    const second = blockOn(headOf(first));
    expect(await store.commit(first)).toBe(true);
    expect(await store.commit(second)).toBe(true);
    expect(store.head).toEqual(headOf(second));
    expect(await linesOf(store)).toEqual([first.line, second.line]);
    expect(await linesOf(store, headOf(first))).toEqual([second.line]);
  });

  test("takes blocks that are sent one after the other without waiting, up to the first that it refuses", async () => {
    await using store = await open();
    const [first, foreign] = [blockOn(GENESIS, 2), blockOn({ ...GENESIS, hash: "f".repeat(64) })];
    const second = blockOn(headOf(first));
    const answered: number[] = [];
    const commits = [first, second, foreign, blockOn(headOf(foreign))].map(async (block, at) => {
      const taken = await store.commit(block);
      answered.push(at);
      return taken;
    });
    expect(await Promise.all(commits)).toEqual([true, true, false, false]);
    expect(answered).toEqual([0, 1, 2, 3]);
    expect(store.head).toEqual(headOf(second));
    expect(await linesOf(store)).toEqual([first.line, second.line]);
  });

  test("refuses a block that does not build on the head, and writes nothing", async () => {
    await using store = await open();
    await fill(store, 2);
    const { head } = store;
    expect(await store.commit(blockOn(GENESIS))).toBe(false);
    expect(await store.commit(blockOn({ ...head, hash: GENESIS.hash }))).toBe(false);
    expect(await store.commit(blockOn(head, 1, 0))).toBe(false);
    expect(store.head).toEqual(head);
    expect(await linesOf(store)).toHaveLength(2);
  });

  test("keeps the last snapshot", async () => {
    await using store = await open();
    expect(await store.loadSnapshot()).toBeUndefined();
    await fill(store, 1);
    await store.saveSnapshot({ head: store.head, stateHash: "a", state: { seq: 1 } });
    await store.saveSnapshot({ head: store.head, stateHash: "b", state: { seq: 2 } });
    expect(await store.loadSnapshot()).toEqual({ head: store.head, stateHash: "b", state: { seq: 2 } });
  });
});

test("a ledger in a file goes on where it was closed", async () => {
  const path = await ledgerPath();
  let head: Head;
  {
    await using store = await FileStore.open(path);
    head = (await fill(store, 3)).at(-1) as Head;
  }
  await using again = await FileStore.open(path);
  expect(again.head).toEqual(head);
  expect(again.droppedBytes).toBe(0);
  await fill(again, 1);
  expect(await linesOf(again)).toHaveLength(4);
});

test("[P-15] a block that a crash left unfinished is dropped, said, and written over", async () => {
  const path = await ledgerPath();
  {
    await using store = await FileStore.open(path);
    await fill(store, 3);
    await appendFile(path, '{"v":1,"epoch":1,"se');
  }
  await using again = await FileStore.open(path);
  expect(again.droppedBytes).toBe(20);
  await fill(again, 1);
  expect(await linesOf(again)).toHaveLength(4);
});

test("[P-15] a whole block that the head does not know yet is kept", async () => {
  const path = await ledgerPath();
  let next: Block;
  {
    await using store = await FileStore.open(path);
    await fill(store, 2);
    next = blockOn(store.head);
  }
  await appendFile(path, `${next.line}\n`);
  await using again = await FileStore.open(path);
  expect(again.head).toEqual(headOf(next));
});

test.each([
  ["in the middle of its last line", (length: number) => length - 10],
  ["by its last newline", (length: number) => length - 1],
])("[P-15] a ledger that was cut %s is refused", async (_, to) => {
  const path = await ledgerPath();
  {
    await using store = await FileStore.open(path);
    await fill(store, 3);
  }
  await truncate(path, to((await readFile(path)).length));
  await expect(FileStore.open(path)).rejects.toMatchObject({ code: "damaged" });
});

test("[P-15] a ledger that was cut at a line's end is refused, and the first missing event is named", async () => {
  const path = await ledgerPath();
  {
    await using store = await FileStore.open(path);
    await fill(store, 3);
  }
  const lines = (await readFile(path, "utf8")).split("\n");
  await writeFile(path, `${lines.slice(0, 2).join("\n")}\n`);
  const file = new LedgerFile(path);
  for await (const _ of file.blocks());
  expect(file.damage).toMatchObject({ code: "truncated", seq: 4 });
  await expect(FileStore.open(path)).rejects.toMatchObject({ code: "damaged" });
});

test("[P-15] a head that names another block, or cannot be read, is damage", async () => {
  const path = await ledgerPath();
  {
    await using store = await FileStore.open(path);
    await fill(store, 3);
  }
  const head = await readFile(headPath(path), "utf8");
  await writeFile(headPath(path), head.replace(/"hash":"./, '"hash":"g'));
  await expect(FileStore.open(path)).rejects.toMatchObject({ code: "damaged" });
  for (const [of, by] of [
    [/"hash":"[0-9a-f]{4}/, '"hash":"0000'],
    [/"seq":6/, '"seq":5'],
    [/"seq":6/, '"seq":3'],
    [/"seq":6/, '"seq":0'],
    [/"seq":6/, '"seq":7'],
    [/"epoch":1/, '"epoch":2'],
  ] as const) {
    expect(head).toMatch(of);
    await writeFile(headPath(path), head.replace(of, by));
    await expect(FileStore.open(path), String(by)).rejects.toMatchObject({ code: "damaged" });
  }
});

test("one opens a ledger at a time, by whatever name", async () => {
  const path = await ledgerPath();
  {
    await using _ = await FileStore.open(path);
    const alias = join(path, "..", "..", "alias.jsonl");
    await symlink(path, alias);
    await expect(FileStore.open(path)).rejects.toMatchObject({ code: "locked" });
    await expect(FileStore.open(alias)).rejects.toMatchObject({ code: "locked" });
  }
  await using store = await FileStore.open(path);
  expect(store.head).toEqual(GENESIS);
});

test("many processes that want one ledger take turns and never damage it", async () => {
  const path = await ledgerPath();
  {
    await using _ = await FileStore.open(path);
  }
  const dist = fileURLToPath(new URL("../../dist", import.meta.url));
  const script = `
    const { FileStore } = await import("file://${dist}/store/index.js");
    const { BlockWriter } = await import("file://${dist}/ledger/index.js");
    for (let commits = 0; commits < 40; ) {
      const store = await FileStore.open(process.argv[1]).catch((error) => {
        if (error.code !== "locked") throw error;
      });
      if (!store) continue;
      const writer = new BlockWriter();
      writer.add({ kind: "CancelRequested", run: process.pid, node: -1 });
      if (!(await store.commit(writer.seal(store.head, 1, 1)))) throw new Error("refused");
      commits++;
      await store[Symbol.asyncDispose]();
    }`;
  const run = promisify(execFile);
  await Promise.all([1, 2, 3].map(() => run(process.execPath, ["--input-type=module", "-e", script, path])));
  await using store = await FileStore.open(path);
  expect(store.head.seq).toBe(120);
});

test.each(["some notes", "nodes: {a: {run: 'true'}}\n", "{}"])(
  "a file that is no ledger is left alone: %j",
  async (text) => {
    const path = await ledgerPath();
    await mkdir(dirname(path));
    await writeFile(path, text);
    await expect(FileStore.open(path)).rejects.toMatchObject({ code: "foreign" });
    expect(await readFile(path, "utf8")).toBe(text);
  },
);

test("a device or a directory is no ledger", async () => {
  await expect(FileStore.open("/dev/null")).rejects.toMatchObject({ code: "foreign" });
  await expect(FileStore.open(tmpdir())).rejects.toMatchObject({ code: "foreign" });
});

test("an empty head, left by a crash while it was made, is as good as none", async () => {
  const path = await ledgerPath();
  {
    await using store = await FileStore.open(path);
    await fill(store, 2);
  }
  await writeFile(headPath(path), "");
  await using store = await FileStore.open(path);
  expect(store.head.seq).toBe(3);
});

test.each(["", "5", "null", "{}", '{"head":{}}', "\u0000"])(
  "a snapshot that reads %j is as good as none",
  async (text) => {
    const path = await ledgerPath();
    {
      await using store = await FileStore.open(path);
      await fill(store, 1);
    }
    await writeFile(snapshotPath(path), text);
    await using store = await FileStore.open(path);
    expect(await store.loadSnapshot()).toBeUndefined();
  },
);

test("a snapshot of another chain is not used", async () => {
  const path = await ledgerPath();
  {
    await using store = await FileStore.open(path);
    await fill(store, 2);
    await store.saveSnapshot({ head: { ...store.head, hash: "f".repeat(64) }, stateHash: "", state: {} });
  }
  await using store = await FileStore.open(path);
  expect(await store.loadSnapshot()).toBeUndefined();
});

test("a ledger without a head can be read, but its end is not vouched for", async () => {
  const path = await ledgerPath();
  const block = blockOn(GENESIS);
  {
    await using _ = await FileStore.open(path);
  }
  const lone = `${path}.lone`;
  await writeFile(lone, `${block.line}\n{"v":1,`);
  const file = new LedgerFile(lone);
  for await (const _ of file.blocks());
  expect(file).toMatchObject({ damage: undefined, keptHead: undefined, tornBytes: 7 });
});

test("a ledger where no file can be made is refused at once", async () => {
  await expect(FileStore.open("/proc/none/ledger.jsonl")).rejects.toMatchObject({ code: "unwritable" });
});

test("[P-15] a wrong byte is damage also where it is read as a replacement character that was written", async () => {
  const path = await ledgerPath();
  {
    await using store = await FileStore.open(path);
    const writer = new BlockWriter();
    writer.add({ kind: "SubmissionsRefused", agent: "\ufffd", code: "backlog", count: 1 });
    await store.commit(writer.seal(store.head, 1, 1));
  }
  const bytes = await readFile(path);
  bytes[bytes.indexOf(Buffer.from("\ufffd"))] = 0xf1;
  await writeFile(path, bytes);
  await expect(FileStore.open(path)).rejects.toMatchObject({ code: "damaged" });
});
