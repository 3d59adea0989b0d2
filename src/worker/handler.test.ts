import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { anAssignment } from "../../tests/worker-fixture.ts";
import { listedEnvironment, type Report } from "../protocol/index.ts";
import { Runtime } from "../runtime/index.ts";
import { ChunkRoom } from "./chunk-room.ts";
import { command, type Handler, isHandler, shellCommand, task } from "./handler.ts";
import { Processors } from "./processors/processors.ts";
import { TaskAttempt, type Work } from "./task-attempt.ts";
import { workOf } from "./work.ts";

interface Ran {
  readonly report: Report;
  readonly lines: string[];
  readonly elapsedMs: number;
}

async function run(handler: Handler, payload: unknown, timeoutMs = 0): Promise<Ran> {
  const lines: string[] = [];
  const attempt = new TaskAttempt(anAssignment("type", payload, { timeout_ms: timeoutMs, node: "n1" }), {
    graceMs: 200,
    environment: listedEnvironment(process.env),
    logLimitBytes: 1024 * 1024,
    log: ({ stream, text }) => lines.push(`${stream}: ${text}\n`),
    progress() {},
    beat() {},
    runtime: () => Runtime.start(),
    makers: { worker: "w1", room: () => ChunkRoom.closed(), follow: () => false },
    warn() {},
  });
  const sinceMs = performance.now();
  const report = await new Promise<Report>((resolve) =>
    attempt.run(workOf(attempt, { type: handler }, new Processors(0)) as Work, resolve),
  );
  return { report, lines, elapsedMs: performance.now() - sinceMs };
}

describe("a program", () => {
  test("gets the payload on stdin, and its stdout is the result: JSON, or else text", async () => {
    const payload = { name: "Ångström", list: [1, null] };
    expect((await run(command("cat"), payload)).report).toMatchObject({ type: "finished", result: payload });
    expect((await run(command("echo", ["plain words"]), payload)).report).toMatchObject({
      result: "plain words\n",
    });
    expect((await run(command("cat"), undefined)).report).toMatchObject({ type: "finished", result: null });
  });

  test("gets its arguments as they are, and no shell looks at them", async () => {
    const { report } = await run(command("printf", ["%s|", "$HOME", "a b", "*", "-n"]), null);
    expect(report).toMatchObject({ result: "$HOME|a b|*|-n|" });
  });

  test("knows which attempt it is", async () => {
    const { report } = await run(command("sh", ["-c", "echo $ORRERY_ATTEMPT $ORRERY_NODE_ID"]), null);
    expect(report).toMatchObject({ result: "1 n1\n" });
  });

  test("fails with its exit code and its last words, and logs what it wrote to stderr", async () => {
    const { report, lines } = await run(command("sh", ["-c", "echo first >&2; echo last >&2; exit 4"]), null);
    expect(report).toMatchObject({ type: "failed", code: "exit", message: "exited with code 4: last" });
    expect(lines.join("").replaceAll("stderr: ", "")).toBe("first\nlast\n");
  });

  test("that is not there fails and says so", async () => {
    const { report } = await run(command("no-such-program-here"), null);
    expect(report).toMatchObject({
      type: "failed",
      code: "spawn",
      message: expect.stringContaining("cannot run no-such-program-here"),
    });
  });

  test("that does not read a large payload does no harm", async () => {
    const { report } = await run(command("true"), "x".repeat(1_000_000));
    expect(report).toMatchObject({ type: "finished", result: "" });
  });

  test("that writes too much is stopped", async () => {
    const { report } = await run(command("yes"), null);
    expect(report).toMatchObject({ type: "failed", code: "result-too-large", retry: false });
  });

  test("is ended when its time is over, by force where need be", async () => {
    const { report, elapsedMs } = await run(command("sh", ["-c", "trap '' TERM; sleep 600"]), null, 100);
    expect(report).toMatchObject({ type: "timed_out" });
    expect(elapsedMs).toBeLessThan(5_000);
  });
});

test("a shell command's stdout is its result and can be followed in the log", async () => {
  const { report, lines } = await run(shellCommand, {
    command: "echo $A; echo $B >&2",
    env: { A: "1", B: "2" },
  });
  expect(report).toMatchObject({ type: "finished", result: "1\n" });
  expect(lines.sort()).toEqual(["stderr: 2\n", "stdout: 1\n"]);
});

test("what a handler says after its end counts for nothing", async () => {
  let say = (): void => {};
  const handler = task((_payload, { log }) => {
    say = () => log("too late");
  });
  const { lines } = await run(handler, null);
  say();
  expect(lines).toEqual([]);
});

test("a handler that was told to stop has not finished, whatever it returns", async () => {
  const handler = task(async (_payload, { signal }) => {
    await sleep(10_000, undefined, { signal }).catch(() => {});
    return "half of it";
  });
  const { report } = await run(handler, null, 20);
  expect(report).toMatchObject({ type: "timed_out" });
  expect(report).not.toHaveProperty("result");
});

test("handlers are known as such, and nothing else is", () => {
  expect([task(() => 1), command("true")].every(isHandler)).toBe(true);
  expect([() => 1, {}, null, undefined, "task", { run() {} }].some(isHandler)).toBe(false);
});
