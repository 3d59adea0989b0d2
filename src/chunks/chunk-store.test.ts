import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ChunkStore } from "./chunk-store.ts";
import { decode, encode } from "./encoding.ts";

let directory: string;
let store: ChunkStore;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "orrery-chunks-"));
  store = new ChunkStore({ limitBytes: 1_000, directory });
});
afterEach(async () => {
  await store.close();
  rmSync(directory, { recursive: true, force: true });
});

const owner = (name: string) => ({ id: name, token: "token" });
const bytesOf = (text: string, length = 200): Buffer => Buffer.alloc(length, text);
const put = (name: string, length?: number) => store.put(owner(name), encode(bytesOf(name, length), 0));
const read = async (name: string): Promise<unknown> => {
  const encoded = await store.read(name);
  return encoded && decode(encoded);
};
const files = (): string[] =>
  readdirSync(directory).flatMap((name) =>
    readdirSync(join(directory, name)).map((file) => join(directory, name, file)),
  );

test("[D-11] above the high-water mark what was not used for longest goes to disk, and comes back when it is used", async () => {
  for (const name of ["a", "b", "c"]) await put(name);
  expect(store.counters).toEqual({ held: 600, spilled: 0, freed: 0 });
  await read("a");
  await put("d");
  expect(store.counters).toEqual({ held: 600, spilled: 200, freed: 0 });
  expect(files()).toHaveLength(1);
  // b was spilled, and c makes room for it.
  expect(await read("b")).toEqual(bytesOf("b"));
  await expect.poll(() => store.counters, { timeout: 30_000 }).toEqual({ held: 600, spilled: 200, freed: 0 });
  for (const name of ["a", "b", "c", "d"]) expect(await read(name)).toEqual(bytesOf(name));
});

test("a directory that cannot be made refuses what it was for, and nothing waits for it", async () => {
  const none = new ChunkStore({ limitBytes: 1_000, directory: "/proc/orrery/spilled" });
  await expect(none.put(owner("a"), encode(bytesOf("a", 2_000), 0))).rejects.toMatchObject({
    code: "spill-failed",
    message: expect.stringMatching(/ENOENT.*--spill-dir/),
  });
});

test("[D-11] what is freed leaves memory and disk", async () => {
  for (const name of ["a", "b", "c", "d", "e"]) await put(name);
  store.free(["a", "e", "unknown"]);
  expect(store.counters).toEqual({ held: 400, spilled: 200, freed: 400 });
  expect(await read("a")).toBeUndefined();
  store.free(["b", "c", "d"]);
  expect(store.counters).toEqual({ held: 0, spilled: 0, freed: 1_000 });
  await expect.poll(files, { timeout: 30_000 }).toEqual([]);
});

test("[D-11] what is larger than half the mark goes to disk at once, and a stream from where it becomes so", async () => {
  await put("a", 301);
  expect(store.counters).toEqual({ held: 0, spilled: 301, freed: 0 });
  const pieces = (count: number) =>
    Readable.from(Array.from({ length: count }, (_, at) => bytesOf(String(at), 100)));
  await store.spool(owner("small"), "bytes", pieces(3));
  expect(store.counters).toEqual({ held: 300, spilled: 301, freed: 0 });
  const handle = await store.spool(owner("large"), "bytes", pieces(10));
  expect(handle).toMatchObject({ kind: "bytes", bytes: 1_000 });
  expect(store.counters).toEqual({ held: 300, spilled: 1_301, freed: 0 });
  const whole = Buffer.concat(Array.from({ length: 10 }, (_, at) => bytesOf(String(at), 100)));
  expect(await read("large")).toEqual(whole);
});

test("streams that come at once share the memory, and one that fails leaves nothing", async () => {
  async function* broken(): AsyncGenerator<Buffer> {
    yield bytesOf("x", 100);
    yield bytesOf("x", 400);
    throw new Error("the source broke");
  }
  await expect(store.spool(owner("broken"), "bytes", broken())).rejects.toThrow("the source broke");
  await Promise.all(
    Array.from({ length: 10 }, (_, at) =>
      store.spool(owner(`s${at}`), "bytes", Readable.from([bytesOf("y"), bytesOf("z", 50)])),
    ),
  );
  const { held, spilled } = store.counters;
  expect(held + spilled).toBe(2_500);
  expect(held).toBeLessThanOrEqual(600);
  expect(files()).toHaveLength(spilled / 250);
});

test("[D-07] a stream that is not what was announced is not kept", async () => {
  const { sha256 } = await put("right", 100);
  const spool = (bytes: Buffer) =>
    store.spool(owner("copy"), "bytes", Readable.from([bytes]), { bytes: 100, sha256 });
  await expect(spool(bytesOf("wrong", 100))).rejects.toMatchObject({
    code: "damaged",
    message: expect.stringContaining("SHA-256"),
  });
  await expect(spool(bytesOf("right", 99))).rejects.toMatchObject({
    code: "damaged",
    message: expect.stringContaining("99 bytes"),
  });
  await expect(spool(bytesOf("x", 999))).rejects.toMatchObject({ code: "damaged" });
  expect(store.has("copy")).toBe(false);
  expect(store.counters).toEqual({ held: 100, spilled: 0, freed: 0 });
  expect(files()).toEqual([]);
  await spool(bytesOf("right", 100));
  expect(store.has("copy")).toBe(true);
});

test("a chunk never changes: a second one under its id is the first", async () => {
  await put("a");
  await store.put(owner("a"), encode(bytesOf("other"), 0));
  expect(await read("a")).toEqual(bytesOf("a"));
  expect(store.counters.held).toBe(200);
});

test("[D-11] a file that was cut or changed is no chunk any more", async () => {
  await put("cut", 400);
  await put("changed", 400);
  const [cut = "", changed = ""] = files();
  truncateSync(cut, 399);
  writeFileSync(changed, bytesOf("y", 400));
  for (const name of ["cut", "changed"]) {
    await expect(read(name)).rejects.toMatchObject({
      code: "damaged",
      message: expect.stringContaining("read back"),
    });
    expect(store.has(name)).toBe(false);
  }
  expect(store.counters.spilled).toBe(0);
});

/** A file system of 64 KiB, where this user may mount one. */
function mountTiny(path: string): boolean {
  mkdirSync(path);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", path], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

test("[D-11] a full disk fails what does not fit, loses nothing else, and takes more when there is room again", async ({
  skip,
}) => {
  const disk = join(directory, "disk");
  if (!mountTiny(disk)) return skip("a file system cannot be mounted here");
  const full = new ChunkStore({ limitBytes: 100_000, directory: disk });
  const put = (name: string, length: number) => full.put(owner(name), encode(bytesOf(name, length), 0));
  try {
    // Three are in memory, and two on the disk, when it is full.
    const kept: string[] = [];
    let refusal: unknown;
    for (let at = 0; !refusal && at < 20; at++) {
      await put(`k${at}`, 25_000).then(
        () => kept.push(`k${at}`),
        (error: unknown) => {
          refusal = error;
        },
      );
    }
    expect(refusal).toMatchObject({
      code: "spill-failed",
      retry: true,
      message: expect.stringMatching(/ENOSPC.*--spill-dir/),
    });
    expect(kept.length).toBeGreaterThanOrEqual(4);
    const stream = full.spool(
      owner("stream"),
      "bytes",
      Readable.from([bytesOf("s", 40_000), bytesOf("s", 40_000)]),
    );
    await expect(stream).rejects.toMatchObject({ code: "spill-failed" });
    for (const name of kept) expect((await full.read(name))?.bytes.equals(bytesOf(name, 25_000))).toBe(true);
    full.free(kept.slice(0, 3));
    await expect
      .poll(() =>
        put("again", 25_000).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    expect(await full.read("again")).toMatchObject({ kind: "bytes" });
  } finally {
    await full.close();
    execFileSync("umount", [disk]);
  }
});

test("[D-11] a directory that cannot be written fails what does not fit, and is asked again", async () => {
  const place = join(directory, "a-file");
  writeFileSync(place, "");
  const blocked = new ChunkStore({ limitBytes: 1_000, directory: place });
  await blocked.put(owner("a"), encode(bytesOf("a", 300), 0));
  await blocked.put(owner("b"), encode(bytesOf("b", 300), 0));
  await blocked.put(owner("c"), encode(bytesOf("c", 300), 0));
  const put = () => blocked.put(owner("d"), encode(bytesOf("d", 300), 0));
  await expect(put()).rejects.toMatchObject({ code: "spill-failed" });
  expect(blocked.ids()).toEqual(["a", "b", "c"]);
  expect(await blocked.read("a")).toMatchObject({ bytes: bytesOf("a", 300) });
  rmSync(place);
  await put();
  expect(blocked.counters).toMatchObject({ held: 600, spilled: 600 });
  await blocked.close();
  rmSync(place, { recursive: true });
});

test("[D-11] what is large stays in memory up to the limit where the disk takes nothing", async () => {
  const none = new ChunkStore({ limitBytes: 1_000, directory: "/proc/orrery" });
  await none.put(owner("small"), encode(bytesOf("s", 200), 0));
  await none.put(owner("large"), encode(bytesOf("l", 400), 0));
  const pieces = (...lengths: number[]) => Readable.from(lengths.map((length) => bytesOf("p", length)));
  await none.spool(owner("stream"), "bytes", pieces(100, 250));
  expect(none.counters).toMatchObject({ held: 950, spilled: 0 });
  expect(await none.read("stream")).toMatchObject({ bytes: bytesOf("p", 350) });
  const refusal = { code: "spill-failed" };
  await expect(none.put(owner("more"), encode(bytesOf("m", 400), 0))).rejects.toMatchObject(refusal);
  none.free(["large"]);
  await expect(none.spool(owner("more"), "bytes", pieces(300, 100, 100))).rejects.toMatchObject(refusal);
  // What was granted to it is given back.
  await none.put(owner("large"), encode(bytesOf("l", 450), 0));
  await none.close();
});

const STORE = new URL("../../dist/chunks/index.js", import.meta.url).href;
const SPILLING = `
  const { ChunkStore, encode } = await import("${STORE}");
  const store = new ChunkStore({ limitBytes: 100, directory: process.argv[1] });
  await store.put({ id: "a", token: "t" }, encode(Buffer.alloc(100), 0));
  console.log("spilled");
  process.stdin.once("data", () => process.exit(3)).resume();`;

async function spilling(): Promise<ReturnType<typeof spawn>> {
  const child = spawn(process.execPath, ["--input-type=module", "-e", SPILLING, "--", directory], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  return child;
}

/** Small things that stay lie between large ones, as they do in a worker that goes on. */
const FREEING = `
  const { ChunkStore, encode } = await import("${STORE}");
  const { readFileSync } = await import("node:fs");
  const store = new ChunkStore({ limitBytes: 2 ** 30, directory: process.argv[1] });
  const [made, small] = [Buffer.alloc(2 ** 20, 7), []];
  const text = "x".repeat(2 ** 20);
  const pieces = async function* () { for (let at = 0; at < 16; at++) yield made.subarray(0, 2 ** 16); };
  const fill = async (count) => {
    for (let at = 0; at < count; at++) {
      await store.put({ id: "bytes" + at, token: "t" }, encode(made, 0));
      await store.put({ id: "text" + at, token: "t" }, encode(text, 0));
      await store.spool({ id: "came" + at, token: "t" }, "bytes", pieces());
      for (let more = 0; more < 20; more++) small.push(Buffer.allocUnsafeSlow(100));
    }
  };
  const rest = async () => {
    store.free(store.ids());
    for (let round = 0; round < 2; round++) {
      gc();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    // Pages of the program's own file count as resident too, and come and go as the system likes.
    return 1024 * Number(/RssAnon:\\s+(\\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"))[1]);
  };
  await fill(10);
  const before = await rest();
  await fill(40);
  const { held } = store.counters;
  let left;
  for (let tries = 0; tries < 100; tries++) if ((left = (await rest()) - before) < 1e7) break;
  console.log(JSON.stringify({ held, left }));`;

test("[D-09] memory of large results that were freed goes back to the system", async () => {
  const args = ["--expose-gc", "--input-type=module", "-e", FREEING, "--", directory];
  const { held, left } = JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })) as {
    readonly held: number;
    readonly left: number;
  };
  expect(held).toBe(120 * 2 ** 20);
  expect(left).toBeLessThan(1e7);
});

test("[D-11] files go with their process, and those of killed ones with the next that spills there", async () => {
  const [ending, killed, living] = await Promise.all([spilling(), spilling(), spilling()]);
  const foreign = join(directory, `chunks_1_1_abcd_not-${hostname()}`);
  mkdirSync(foreign);
  expect(readdirSync(directory)).toHaveLength(4);
  const ends = [once(ending, "exit"), once(killed, "exit")];
  ending.stdin?.write("x");
  killed.kill("SIGKILL");
  await Promise.all(ends);
  expect(readdirSync(directory)).toHaveLength(3);
  await put("a", 900);
  const names = readdirSync(directory);
  expect(new Set(names.map((name) => Number(name.split("_")[1])))).toEqual(
    new Set([1, process.pid, living.pid]),
  );
  expect(existsSync(foreign)).toBe(true);
  const gone = once(living, "exit");
  living.kill("SIGKILL");
  await gone;
});
