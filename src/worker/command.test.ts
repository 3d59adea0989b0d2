import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type CommandOutcome, type CommandRequest, type RunningCommand, startCommand } from "./command.ts";

const dir = mkdtempSync(join(tmpdir(), "orrery-command-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

interface Started extends RunningCommand {
  output(): { readonly stdout: string; readonly stderr: string };
}

function start(command: string, options: Partial<CommandRequest> = {}): Started {
  const output = { stdout: "", stderr: "" };
  const running = startCommand({
    command,
    cwd: dir,
    env: { PATH: process.env["PATH"] ?? "" },
    timeoutMs: 0,
    graceMs: 5_000,
    onOutput(stream, text) {
      output[stream] += text;
    },
    ...options,
  });
  return { ...running, output: () => output };
}

async function elapsedMs(command: RunningCommand): Promise<number> {
  const startedMs = performance.now();
  await command.done;
  return performance.now() - startedMs;
}

/** A zombie that nobody has reaped yet is not running. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (!existsSync("/proc/self/stat")) return true;
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

async function pidIn(file: string): Promise<number> {
  return vi.waitFor(() => {
    const pid = Number(readFileSync(join(dir, file), "utf8"));
    expect(pid).toBeGreaterThan(0);
    return pid;
  }, 10_000);
}

const gone = (pid: number): Promise<void> => vi.waitFor(() => expect(isRunning(pid)).toBe(false), 5_000);

function finished(stdout: string | Buffer): CommandOutcome {
  const bytes = Buffer.from(stdout);
  return {
    type: "finished",
    resultHash: createHash("sha256").update(bytes).digest("hex"),
    resultBytes: bytes.length,
  };
}

describe("how a command ends", () => {
  test("a command that exits with 0 has finished, with the hash of its stdout alone", async () => {
    const command = start("echo one; echo two >&2; printf three");
    expect(await command.done).toEqual(finished("one\nthree"));
    expect(command.output()).toEqual({ stdout: "one\nthree", stderr: "two\n" });
  });

  test("any other exit code is a failure", async () => {
    const failed = { type: "failed", code: "exit", signal: null };
    expect(await start("exit 3").done).toMatchObject({
      ...failed,
      exitCode: 3,
      message: "exited with code 3",
    });
    expect(await start("no-such-program-here").done).toMatchObject({ ...failed, exitCode: 127 });
    expect(await start("-looks-like-an-option").done).toMatchObject({ ...failed, exitCode: 127 });
  });

  test("a shell that a signal killed failed by that signal", async () => {
    const outcome = { type: "failed", code: "signal", exitCode: null, signal: "SIGSEGV" };
    expect(await start("kill -s SEGV $$").done).toMatchObject({ ...outcome, message: "killed by SIGSEGV" });
  });

  test("a command sees its directory, its environment and an empty stdin, and nothing of ours", async () => {
    const command = start("cat; pwd -P; env | grep -v -e ^PWD= -e ^OLDPWD= -e ^SHLVL= -e ^_=", {
      env: { A: "b c" },
    });
    await command.done;
    expect(command.output().stdout).toMatch(/orrery-command-\w+\nA=b c\n$/);
  });
});

describe("a command that cannot start fails, and never throws", () => {
  const failed = { type: "failed", code: "spawn", exitCode: null, signal: null };

  test.each([
    ["a missing directory", { cwd: join(dir, "missing") }, /missing is not a directory/],
    ["a file for a directory", { cwd: process.execPath }, /is not a directory/],
    ["a directory with a NUL byte", { cwd: "a\0b" }, /cannot start/],
    ["a command with a NUL byte", { command: "a\0b" }, /null bytes/],
    ["a command too long for the system", { command: `: ${"x".repeat(3_000_000)}` }, /E2BIG/],
  ])("%s", async (_name, options, message) => {
    const command = start("true", options);
    command.cancel();
    command.kill();
    expect(command.pid).toBeUndefined();
    expect(await command.done).toMatchObject({ ...failed, message: expect.stringMatching(message) });
  });
});

describe("output", () => {
  test("all of 5 MB arrives", async () => {
    const command = start(
      "i=0; while [ $i -lt 5 ]; do head -c 1000000 /dev/zero | tr '\\0' 'x'; echo; i=$((i+1)); done",
    );
    const line = `${"x".repeat(1_000_000)}\n`;
    expect(await command.done).toEqual(finished(line.repeat(5)));
    expect(command.output().stdout).toBe(`${"x".repeat(8_192)}…\n`.repeat(5));
  });

  test("many short lines arrive in order", async () => {
    const command = start("seq 1 200000");
    const numbers = `${Array.from({ length: 200_000 }, (_, i) => i + 1).join("\n")}\n`;
    expect(await command.done).toEqual(finished(numbers));
    expect(command.output().stdout).toBe(numbers);
  });

  test("the hash is of the bytes, also where they are not text", async () => {
    const command = start("printf 'a\\377b\\303'");
    expect(await command.done).toEqual(finished(Buffer.from([0x61, 0xff, 0x62, 0xc3])));
    expect(command.output().stdout).toBe("a\ufffdb\ufffd");
  });

  test("nothing is lost while this process is busy", async () => {
    const command = start("head -c 60000 /dev/zero");
    await sleep(1);
    const untilMs = performance.now() + 400;
    while (performance.now() < untilMs);
    expect(await command.done).toEqual(finished(Buffer.alloc(60_000)));
  });

  test("a grandchild that keeps stdout open delays the end only briefly, and is killed", async () => {
    const command = start("echo before; sleep 60 & echo $! > held");
    expect(await elapsedMs(command)).toBeLessThan(2_000);
    expect(await command.done).toEqual(finished("before\n"));
    await gone(await pidIn("held"));
  });

  test("so is one that holds no pipe", async () => {
    const command = start("sleep 60 >/dev/null 2>&1 & echo $! > quiet");
    expect(await command.done).toEqual(finished(""));
    await gone(await pidIn("quiet"));
  });

  test("even one that left the group cannot hold up the end", async () => {
    const command = start(
      "setsid sh -c 'echo $$ > escaped; exec sleep 60' & while [ ! -s escaped ]; do :; done",
    );
    expect(await elapsedMs(command)).toBeLessThan(2_000);
    expect(await command.done).toEqual(finished(""));
    process.kill(await pidIn("escaped"), "SIGKILL");
  });
});

describe("stopping a command", () => {
  test("a time-out ends the whole tree", async () => {
    const command = start("(sleep 60 & echo $! > timed; wait); echo late", { timeoutMs: 300 });
    expect(await elapsedMs(command)).toBeLessThan(2_000);
    expect(await command.done).toEqual({ type: "timed-out" });
    await gone(await pidIn("timed"));
  });

  test("a time limit longer than any timer is no limit", async () => {
    expect(await start("sleep 0.05", { timeoutMs: 2 ** 40 }).done).toEqual(finished(""));
  });

  test("a cancelled command may end in its own way", async () => {
    const command = start("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.02; done");
    await vi.waitFor(() => expect(command.output().stdout).toBe("ready\n"));
    command.cancel();
    expect(await command.done).toEqual({ type: "cancelled" });
    expect(command.output().stdout).toBe("ready\nbye\n");
  });

  test("grace is for the whole group, not only for the shell that dies first", async () => {
    const program = "trap 'sleep 0.4; echo saved; exit' TERM; echo ready; while :; do sleep 0.02; done";
    const command = start(`sh -c "${program}"; true`);
    await vi.waitFor(() => expect(command.output().stdout).toBe("ready\n"));
    command.cancel();
    expect(await command.done).toEqual({ type: "cancelled" });
    expect(command.output().stdout).toBe("ready\nsaved\n");
  });

  test("a command that ignores SIGTERM is killed after its grace", async () => {
    const command = start("trap '' TERM; echo ready; while :; do sleep 0.02; done", { graceMs: 300 });
    await vi.waitFor(() => expect(command.output().stdout).toBe("ready\n"));
    command.cancel();
    const ms = await elapsedMs(command);
    expect(await command.done).toEqual({ type: "cancelled" });
    expect(ms).toBeGreaterThan(250);
    expect(ms).toBeLessThan(2_000);
  });

  test("the first reason to stop stays the reason", async () => {
    const command = start("trap '' TERM; while :; do sleep 0.02; done", { timeoutMs: 200, graceMs: 400 });
    await sleep(400);
    command.cancel();
    expect(await command.done).toEqual({ type: "timed-out" });
  });

  test("kill does not wait", async () => {
    const command = start("trap '' TERM; echo ready; sleep 60");
    await vi.waitFor(() => expect(command.output().stdout).toBe("ready\n"));
    command.kill();
    expect(await elapsedMs(command)).toBeLessThan(1_000);
    expect(await command.done).toEqual({ type: "cancelled" });
  });

  test("a command that has ended stays as it ended", async () => {
    const command = start("true");
    await command.done;
    command.cancel();
    command.kill();
    expect(await command.done).toEqual(finished(""));
  });
});

describe("when our own process ends", () => {
  const TSC = "node_modules/typescript/bin/tsc";
  const root = new URL("../..", import.meta.url).pathname;
  const built = join(root, ".cache", `command-test-${process.pid}`);
  const script = join(dir, "parent.mjs");

  beforeAll(async () => {
    const options = [
      "--noCheck",
      "--noEmitOnError",
      "false",
      "--incremental",
      "false",
      "--declaration",
      "false",
    ];
    await exitOf(TSC, "--isolatedDeclarations", "false", "--outDir", built, ...options);
    const body = `
      import { startCommand } from ${JSON.stringify(join(built, "worker/command.js"))};
      const request = { cwd: ${JSON.stringify(dir)}, env: process.env, timeoutMs: 0, graceMs: 0, onOutput() {} };
      await startCommand({ ...request, command: "true" }).done;
      startCommand({ ...request, command: "trap '' TERM; (echo $$ > parent.leader; sleep 60 & echo $! > parent.sleeper; wait)" });
      if (process.argv[2] === "exit") setTimeout(() => process.exit(), 500);
    `;
    writeFileSync(script, body);
  });
  afterAll(() => rmSync(built, { recursive: true, force: true }));

  function exitOf(...args: string[]): Promise<unknown> {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
    return new Promise((resolve) => child.once("exit", resolve));
  }

  test.each(["exit", "SIGTERM", "SIGKILL"] as const)("by %s, its commands end too", async (how) => {
    for (const file of ["parent.leader", "parent.sleeper"]) rmSync(join(dir, file), { force: true });
    const parent = spawn(process.execPath, [script, how], { stdio: ["ignore", "inherit", "inherit"] });
    const leader = await pidIn("parent.leader");
    const sleeper = await pidIn("parent.sleeper");
    if (how !== "exit") parent.kill(how);
    await gone(leader);
    await gone(sleeper);
  });
});
