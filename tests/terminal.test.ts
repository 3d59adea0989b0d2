// What reaches a terminal and a log: no control characters from elsewhere, and no secrets that others could read later.

import { spawn } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { OrreryClient } from "../src/client/index.ts";
import { directoryWith, MAIN, orrery, startOrrery } from "./cli.ts";
import { SERVER_KEY, startServerProcess } from "./server-process.ts";

/** CSI as one character, DEL, and a mark that reverses text. Each can rewrite what a terminal shows. */
const EVIL = "a\u009b2J\u007f\u202eb";
const UNSAFE = /[\u007f-\u009f\u202e]/;
const NO_KEY = { ORRERY_API_KEY: undefined, DATABASE_URL: undefined };

test("[F19] no output of a command on a ledger acts on the terminal, and JSON says the same", async () => {
  const graph = { nodes: { first: { run: `printf '${EVIL}' >&2; exit 3` } } };
  const cwd = await directoryWith({ "g.json": JSON.stringify(graph) });
  // The path of a file is foreign text, too.
  const ledger = join(cwd, `${EVIL}.jsonl`);
  const ran = await orrery(cwd, "run", "g.json", "--ledger", ledger);
  expect(ran.stdout + ran.stderr).not.toMatch(UNSAFE);
  const commands = [
    ["why", ledger, "first", "--json"],
    ["export", ledger],
    ["trace", ledger],
    ["verify", ledger, "--json"],
    ["gantt", ledger],
    ["why", ledger, EVIL],
    ["run", "g.json", "--set", EVIL],
  ];
  const printed = await Promise.all(commands.map((args) => orrery(cwd, ...args)));
  for (const { stdout, stderr } of printed) expect(stdout + stderr).not.toMatch(UNSAFE);
  const [why] = printed.map(({ stdout }) => stdout);
  const texts: unknown[] = [];
  JSON.parse(why ?? "", (_, value: unknown) => texts.push(value));
  expect(texts).toContain(`exited with code 3: ${EVIL}`);
});

test("[F19] nor does what a worker and its tasks print, as words, as JSON or by themselves", async () => {
  const cwd = await directoryWith({
    "tasks.mjs": `export const shout = () => { console.log(${JSON.stringify(EVIL)}); console.error(${JSON.stringify(EVIL)}); throw new Error(${JSON.stringify(EVIL)}); };`,
  });
  const server = await startServerProcess("/", ["--store", "memory"]);
  try {
    const env = { ORRERY_API_KEY: SERVER_KEY, ORRERY_URL: server.url };
    const worker = startOrrery(cwd, ["worker", "--tasks", "tasks.mjs", "--json"], env);
    const client = new OrreryClient({ url: server.url, key: SERVER_KEY });
    const { id } = await client.submit({ task_type: "shout", max_attempts: 1 });
    await expect.poll(async () => (await client.task(id)).status, { timeout: 30_000 }).toBe("failed");
    worker.child.kill("SIGTERM");
    const { stdout, stderr } = await worker.finished;
    expect(stdout + stderr).not.toMatch(UNSAFE);
    const events = stdout.split("\n").filter((line) => line.startsWith("{"));
    expect(events.map((line) => (JSON.parse(line) as { message?: string }).message)).toContain(EVIL);
    for (const args of [["task", id, "--log"], ["task", id], ["tasks"]]) {
      const shown = await startOrrery(cwd, args, env).finished;
      expect(shown.stdout + shown.stderr).not.toMatch(UNSAFE);
    }
  } finally {
    server.child.kill("SIGKILL");
    await server.finished;
  }
});

test("[F20] a server prints neither its key nor a login link into a log, but the file of the key", async () => {
  const cwd = await directoryWith({});
  const keys = new Set<string>();
  for (let start = 1; start <= 2; start++) {
    const server = startOrrery(cwd, ["serve", "--port", "0", "--store", "memory"], NO_KEY);
    let printed = "";
    server.child.stdout?.on("data", (text: string) => {
      printed += text;
    });
    const file = join(cwd, ".orrery", "server", "dev-key");
    await expect
      .poll(async () => (await stat(file).catch(() => undefined))?.isFile(), { timeout: 30_000 })
      .toBe(true);
    await expect.poll(() => printed, { timeout: 30_000 }).toContain("and for its result");
    keys.add((await readFile(file, "utf8")).trim());
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    server.child.kill("SIGTERM");
    const { stdout, stderr } = await server.finished;
    expect(stdout).toContain("export ORRERY_API_KEY=$(cat '.orrery/server/dev-key')");
    for (const key of keys) expect(stdout + stderr).not.toContain(key);
    expect(stdout + stderr).not.toContain("#ticket=");
  }
});

test("[F20] on a terminal the key is shown when it is made, with a link", async () => {
  const cwd = await directoryWith({});
  const command = `exec '${process.execPath}' '${MAIN}' serve --port 0 --store memory`;
  const env: NodeJS.ProcessEnv = { ...process.env, NO_COLOR: "1", TERM: "dumb", ...NO_KEY };
  const terminal = spawn("script", ["-qfec", command, "/dev/null"], {
    cwd,
    env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  let printed = "";
  terminal.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed += text;
  });
  try {
    await expect.poll(() => printed, { timeout: 30_000 }).toContain("and for its result");
  } finally {
    terminal.stdin.write("\u0003");
    await new Promise((resolve) => terminal.once("exit", resolve));
  }
  const key = (await readFile(join(cwd, ".orrery", "server", "dev-key"), "utf8")).trim();
  expect(printed).toContain(`  key    ${key}   (shown once; kept in .orrery/server/dev-key)`);
  expect(printed).toMatch(/ {2}look {3}http:\S+#ticket=/);
});

test("[F16] secrets come from files that _FILE variables name", async () => {
  const cwd = await directoryWith({ key: `${SERVER_KEY}\n`, empty: "", store: "memory\n" });
  const fromFiles = {
    ORRERY_API_KEY: undefined,
    ORRERY_API_KEY_FILE: "key",
    DATABASE_URL: undefined,
    DATABASE_URL_FILE: "store",
  };
  const server = await startServerProcess(cwd, [], fromFiles);
  try {
    const env = { ...fromFiles, DATABASE_URL_FILE: undefined, ORRERY_URL: server.url };
    expect((await startOrrery(cwd, ["keys", "list"], env).finished).code).toBe(0);
    const wrong = [
      [
        { ORRERY_API_KEY: SERVER_KEY },
        "ORRERY_API_KEY and ORRERY_API_KEY_FILE are both set; unset one of them",
      ],
      [
        { ORRERY_API_KEY_FILE: "empty" },
        "ORRERY_API_KEY_FILE: empty is empty; write the value of ORRERY_API_KEY into it",
      ],
      [{ ORRERY_API_KEY_FILE: "none" }, "ORRERY_API_KEY_FILE: none cannot be read: ENOENT"],
    ] as const;
    for (const [more, message] of wrong) {
      const { code, stderr } = await startOrrery(cwd, ["keys", "list"], { ...env, ...more }).finished;
      expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    }
  } finally {
    server.child.kill("SIGTERM");
    await server.finished;
  }
});
