// Who can reach the private PostgreSQL, and what its processes know. As root and as another user.

import { execFile, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { chown, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { OrreryClient } from "../src/client/index.ts";
import { MAIN } from "./cli.ts";
import { testDataDir } from "./postgres.ts";
import { postmasterOf, SERVER_KEY, startServerProcess } from "./server-process.ts";

const IS_ROOT = process.getuid?.() === 0;
/** A user that owns nothing: `nobody`. */
const STRANGER = { uid: 65_534, gid: 65_534 };
const PG = import.meta.resolve("pg");

/** Connects to the private PostgreSQL in a process of the given user, and prints the name of the role or the refusal. */
const ROLE = `
  import pg from ${JSON.stringify(PG)};
  const client = new pg.Client({ user: "orrery", database: "postgres", host: process.argv[1] });
  try {
    await client.connect();
    const { rows } = await client.query("select current_user as role, usesuper from pg_user where usename = current_user");
    console.log(JSON.stringify(rows[0]));
    await client.end();
  } catch (error) {
    console.log(error.message);
  }`;

async function roleOf(socketDir: string, user: { uid: number; gid: number } | undefined): Promise<string> {
  const args = ["--input-type=module", "-e", ROLE, "--", socketDir];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: "/", ...user });
  return stdout.trim();
}

test("[F14] PostgreSQL knows no key of the server, and lets in the server's user alone, also on data made with trust", async () => {
  const dataDir = await testDataDir();
  const env = { PGPASSWORD: "pg-password", OTEL_EXPORTER_OTLP_HEADERS: "authorization=collector-key" };
  const first = await startServerProcess("/", ["--data", dataDir], env);
  first.child.kill("SIGTERM");
  expect((await first.finished).code).toBe(0);
  // The file as servers wrote it before this rule.
  await writeFile(join(dataDir, "postgres", "pg_hba.conf"), "local all all trust\n");
  const server = await startServerProcess("/", ["--data", dataDir], env);
  try {
    const pid = await postmasterOf(dataDir);
    const known = (await readFile(`/proc/${pid}/environ`, "utf8")).split("\0").filter((text) => text !== "");
    const names = known.map((text) => text.split("=")[0]);
    expect(
      names.filter((name) => !["PATH", "LANG", "PGDATA", "PG_GRANDPARENT_PID"].includes(name ?? "")),
    ).toEqual([]);
    expect(await readFile(join(dataDir, "postgres", "pg_hba.conf"), "utf8")).not.toContain("trust");
    const socketDir = join(dataDir, "postgres");
    expect(await roleOf(socketDir, undefined)).toBe('{"role":"orrery","usesuper":true}');
    if (!IS_ROOT) return;
    // The user that PostgreSQL runs as can enter the folder of the socket.
    const [, uid, gid] = /^Uid:\s+(\d+)[\s\S]*^Gid:\s+(\d+)/m.exec(
      await readFile(`/proc/${pid}/status`, "utf8"),
    ) as RegExpExecArray;
    expect(Number(uid)).toBeGreaterThan(0);
    expect(await roleOf(socketDir, { uid: Number(uid), gid: Number(gid) })).toContain(
      "Peer authentication failed",
    );
  } finally {
    server.child.kill("SIGTERM");
    await server.finished;
  }
});

test("[F14] a server that is not root has a private PostgreSQL of its own", async () => {
  const user = IS_ROOT ? STRANGER : undefined;
  const cwd = await mkdtemp(join(tmpdir(), "orrery-pg-"));
  if (user) await chown(cwd, user.uid, user.gid);
  const options: SpawnOptions = {
    cwd,
    env: { PATH: process.env["PATH"], HOME: cwd, ORRERY_API_KEY: SERVER_KEY },
    stdio: ["ignore", "pipe", "inherit"],
    ...user,
  };
  const server = spawn(
    process.execPath,
    [MAIN, "serve", "--port", "0", "--json", "--log-level", "warn"],
    options,
  );
  try {
    const url = await new Promise<string>((resolve, reject) => {
      let text = "";
      server.stdout?.on("data", (chunk: Buffer) => {
        text += chunk.toString();
        const found = /"url": "(.+?)"/.exec(text)?.[1];
        if (found !== undefined) resolve(found);
      });
      server.once("exit", (code) => reject(new Error(`it ended with ${code}`)));
    });
    const client = new OrreryClient({ url, key: SERVER_KEY });
    expect(await client.submit({ task_type: "noop" })).toMatchObject({ status: "queued" });
    const socketDir = join(cwd, ".orrery", "server", "postgres");
    expect(await roleOf(socketDir, user)).toBe('{"role":"orrery","usesuper":true}');
    // Root enters every folder, and is not the server's user.
    if (IS_ROOT) expect(await roleOf(socketDir, undefined)).toContain("Peer authentication failed");
  } finally {
    server.kill("SIGTERM");
    await once(server, "exit");
  }
});
