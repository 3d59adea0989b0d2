// `orrery top`: once, as JSON, and live on a real terminal, which it must leave as it was.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { task } from "../src/worker/index.ts";
import { MAIN, startOrrery } from "./cli.ts";
import { TestService } from "./service.ts";

const KEY = "sk-test-admin-0123456789-and-0123456789";
const SCRIPT = "/usr/bin/script";
const SOON = { timeout: 30_000, interval: 50 };
const ESC = String.fromCharCode(27);
const COLOR = new RegExp(`${ESC}\\[\\d+m`, "g");

let service: TestService;
let worker: AsyncDisposable;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  service = await TestService.start("memory");
  env = { ORRERY_URL: service.server.url, ORRERY_API_KEY: KEY };
  worker = service.worker({ t: task(() => 1) });
  for (let at = 0; at < 5; at++) {
    const { body } = await service.submit({ executor: "default", task_type: "t" });
    expect((await service.get(`task/${body.id}?wait=30`)).body.status).toBe("completed");
  }
  await service.submit(
    { executor: "nobody" },
    { agent: "a-name-that-is-longer-than-any-column-of-a-terminal-is-wide-by-far" },
  );
});
afterAll(async () => {
  await worker[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

test("once it prints what waits and why, what runs and how fast, within 80 columns", async () => {
  const { code, stdout } = await startOrrery("/", ["top", "--once"], env).finished;
  expect(code).toBe(0);
  expect(stdout).toMatch(/^batch +1 +0 +\S+$/m);
  expect(stdout).toContain("waiting   1 Unsatisfiable");
  expect(stdout).toContain("5 completed, 0 failed, 0 cancelled");
  expect(stdout).toMatch(/^wait +p50 \S+, p95 \S+$/m);
  expect(stdout).toMatch(/^commit +p50 \S+, p95 \S+$/m);
  expect(stdout).toMatch(/ Idle +0 +\d+$/m);
  for (const line of stdout.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
});

test("as JSON it is the sample itself, and a key that may only read is enough", async () => {
  const { body } = await service.post("keys", {
    name: "reader",
    scopes: ["read"],
    zones: ["default"],
    agents: ["*"],
  });
  const reader = { ...env, ORRERY_API_KEY: body.secret };
  const { code, stdout } = await startOrrery("/", ["top", "--json"], reader).finished;
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    overview: {
      zone: "default",
      waiting: { Unsatisfiable: 1 },
      ended: { completed: 5 },
      slots: { busy: 0 },
      // Whoever is no admin sees nobody else.
      agents: [{ agent: "reader" }],
    },
    workers: [{ status: "Idle" }],
  });
});

test("what is wrong is said as by every command", async () => {
  const nowhere = await startOrrery("/", ["top"], { ...env, ORRERY_URL: "http://127.0.0.1:65533" }).finished;
  expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringContaining("no server answers") });
  const wrong = await startOrrery("/", ["top"], { ...env, ORRERY_API_KEY: "sk-unknown-key-0123" }).finished;
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("does not accept the key") });
});

test.skipIf(!existsSync(SCRIPT)).each([
  ["q", "q"],
  ["Ctrl-C", "\u0003"],
])("on a terminal it is drawn anew until %s, and the terminal is as it was", async (_, key) => {
  const { child, seen, closed } = onTerminal(env, 80);
  await expect.poll(() => seen().split("orrery top").length, SOON).toBeGreaterThan(3);
  child.stdin.write(key);
  await closed;
  const [before, , ...rest] = seen().trimEnd().split(/\r?\n/);
  expect(rest.at(-2)).toContain("ended 0");
  expect(rest.at(-1)).toBe(before);
  expect(seen().split(`${ESC}[?1049h`)).toHaveLength(2);
  expect(seen().lastIndexOf(`${ESC}[?1049l`)).toBeGreaterThan(seen().lastIndexOf("orrery top"));
  expect(seen().lastIndexOf(`${ESC}[?25h`)).toBeGreaterThan(seen().lastIndexOf(`${ESC}[?25l`));
});

test.skipIf(!existsSync(SCRIPT))("it says that the server is gone until there is one", async () => {
  const gone = await TestService.start("memory");
  const { child, seen, closed } = onTerminal({ ...env, ORRERY_URL: gone.server.url }, 80);
  await expect.poll(seen, SOON).toContain("q ends");
  await gone[Symbol.asyncDispose]();
  await expect.poll(seen, SOON).toContain("no server answers");
  const before = seen().indexOf("no server answers");
  await expect.poll(() => framesOf(seen().slice(before)).length, SOON).toBeGreaterThan(2);
  expect(seen().slice(before)).not.toContain("q ends");
  child.stdin.write("q");
  await closed;
});

test.skipIf(!existsSync(SCRIPT))("no line is longer than the terminal is wide", async () => {
  const { child, seen, closed } = onTerminal({ ...env, FORCE_COLOR: "1" }, 30);
  await expect.poll(() => framesOf(seen()).length, SOON).toBeGreaterThan(1);
  child.stdin.write("q");
  await closed;
  const [frame = ""] = framesOf(seen());
  expect(frame).toContain(`${ESC}[2m`);
  for (const line of frame.replaceAll(COLOR, "").split(/\r?\n/))
    expect(line.length, line).toBeLessThanOrEqual(30);
});

/** `orrery top` on a terminal that is so wide, and all that was written to it. */
function onTerminal(ofTop: NodeJS.ProcessEnv, columns: number) {
  const command = `stty cols ${columns} rows 24; stty -g; '${process.execPath}' '${MAIN}' top; echo ended $?; stty -g`;
  const child = spawn(SCRIPT, ["-qec", command, "/dev/null"], {
    env: { ...process.env, ...ofTop, TERM: "xterm" },
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (more: string) => {
    text += more;
  });
  const closed = new Promise((resolve) => child.on("close", resolve));
  return { child, seen: () => text, closed };
}

/** What was drawn each time, without what clears behind it. */
function framesOf(text: string): string[] {
  const frames = text.replaceAll(`${ESC}[K`, "").split(`${ESC}[H`);
  return frames.slice(1).map((frame) => frame.split(`${ESC}[J`)[0] ?? "");
}
