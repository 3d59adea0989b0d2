// The lock of a ledger or data directory, between processes that are killed and processes that start at once.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { sha256Hex } from "../src/core/index.ts";
import { directoryWith, orrery } from "./cli.ts";

const LOCK = new URL("../dist/store/lock.js", import.meta.url).href;

/**
 * Takes the lock again and again. While it holds the lock, it writes its mark and checks that nobody else writes one:
 * that would be a second holder. Now and then it dies as holder, so that the others find a stale lock.
 */
const CONTENDER = `
  import { readFileSync, writeFileSync } from "node:fs";
  import { lockFile } from ${JSON.stringify(LOCK)};
  const [file, mark, dies] = process.argv.slice(1);
  for (let held = 0; ; ) {
    let lock;
    try {
      lock = await lockFile(file, "taken");
    } catch (error) {
      if (error.code !== "locked") throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.floor(performance.now()) % 3));
      continue;
    }
    held += 1;
    const own = mark + ":" + held;
    writeFileSync(file, own);
    for (let look = 0; look < 3; look++) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (readFileSync(file, "utf8") !== own) {
        console.log("two holders: " + own + " and " + readFileSync(file, "utf8"));
        process.exit(3);
      }
    }
    console.log("held");
    if (dies && held === 2) process.kill(process.pid, "SIGKILL");
    await lock[Symbol.asyncDispose]();
  }`;

/** How long processes contend, in ms. */
const CONTEND_MS = process.env["LOCK"] === "long" ? 60_000 : 1_000;
const CONTENDERS = 4;

test("[F25] of processes that start at once one holds the lock, also when holders are killed", async () => {
  const file = join(await directoryWith({}), "data");
  let held = 0;
  let said = "";
  let isOver = false;
  const children = new Set<ChildProcess>();
  const contend = async (name: number): Promise<void> => {
    for (let life = 1; !isOver; life++) {
      const args = ["--input-type=module", "-e", CONTENDER, "--", file, `${name}.${life}`, "dies"];
      const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
      children.add(child);
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        held += text.split("held\n").length - 1;
        said += text.replaceAll("held\n", "");
      });
      const [code] = (await once(child, "close")) as [number | null];
      children.delete(child);
      if (code !== null) said += `exit code ${code}`;
    }
  };
  const all = Array.from({ length: CONTENDERS }, (_, name) => contend(name));
  await expect.poll(() => held, { timeout: 30_000 }).toBeGreaterThan(2 * CONTENDERS);
  await sleep(CONTEND_MS);
  isOver = true;
  for (const child of children) child.kill("SIGKILL");
  await Promise.all(all);
  expect(said).toBe("");
  expect((await stat(`${file}.lock`)).mode & 0o777).toBe(0o700);
  // Neither killed holders nor failed attempts accumulate.
  expect((await readdir(`${file}.lock`)).length).toBeLessThan(3 * CONTENDERS);
}, 120_000);

test("[F25] another user of the machine cannot take a ledger's lock", async () => {
  const cwd = await directoryWith({ "a.yaml": "nodes: { a: { run: 'true' } }" });
  const ledger = join(cwd, "ledger");
  // The name that the lock once had, which every user could take.
  const squatter = createServer().listen(`\0orrery-${sha256Hex(ledger).slice(0, 40)}`);
  await once(squatter, "listening");
  try {
    expect(await orrery(cwd, "run", "a.yaml", "--ledger", ledger)).toMatchObject({ code: 0 });
  } finally {
    squatter.close();
  }
});

test("[F25] a path that is too long for the address of a socket can be locked", async () => {
  const cwd = await mkdtemp(join(tmpdir(), "orrery-".padEnd(100, "x")));
  const { lockFile } = (await import(LOCK)) as typeof import("../src/store/lock.ts");
  const lock = await lockFile(join(cwd, "ledger"), "taken");
  await expect(lockFile(join(cwd, "ledger"), "taken")).rejects.toMatchObject({ code: "locked" });
  await lock[Symbol.asyncDispose]();
  await (await lockFile(join(cwd, "ledger"), "taken"))[Symbol.asyncDispose]();
});
