// `orrery run` with real processes.

import { existsSync, statSync } from "node:fs";
import { appendFile, mkdir, readFile, truncate, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { directoryWith, orrery, startOrrery } from "./cli.ts";

interface Result {
  readonly outcome: string;
  readonly carried: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly nodes: readonly {
    id: string;
    status: string;
    attempts: number;
    worker: string;
    error: string | null;
  }[];
  readonly runId: string;
}

function resultOf(stdout: string): Result {
  return JSON.parse(stdout) as Result;
}

function statuses(stdout: string): Record<string, string> {
  return Object.fromEntries(resultOf(stdout).nodes.map(({ id, status }) => [id, status]));
}

const LEDGER = join(".orrery", "g.jsonl");

test("[P-04] every node runs after what it needs, in the directory of the file, with its environment", async () => {
  const cwd = await directoryWith({
    "g.yaml": `
nodes:
  join: {run: "cat a.txt b.txt > joined.txt", needs: [a, b]}
  a: {run: "sleep 0.2; echo $ORRERY_NODE_ID $ORRERY_ATTEMPT > a.txt"}
  b: {run: "sleep 0.1; echo $GREETING > b.txt", env: {GREETING: hello}}
`,
  });
  const { code, stdout, stderr } = await orrery(cwd, "run", "g.yaml", "--json", "--workers", "2");
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(resultOf(stdout)).toMatchObject({ outcome: "completed", counts: { completed: 3 } });
  expect(await readFile(join(cwd, "joined.txt"), "utf8")).toBe("a 1\nhello\n");
  const verified = await orrery(cwd, "verify", LEDGER, "--redecide", "--json");
  expect(verified.code).toBe(0);
});

test("a failed node fails only what depends on it, and the run", async () => {
  const cwd = await directoryWith({
    "g.yaml": `
nodes:
  bad: {run: "exit 7"}
  after: {run: "touch after", needs: [bad]}
  afterwards: {run: "touch afterwards", needs: [after]}
  other: {run: "sleep 0.2; touch other"}
`,
  });
  const { code, stdout, stderr } = await orrery(cwd, "run", "g.yaml", "--json");
  expect(code).toBe(1);
  expect(statuses(stdout)).toEqual({
    bad: "failed",
    after: "skipped",
    afterwards: "skipped",
    other: "completed",
  });
  expect(stderr).toContain("exited with code 7");
  expect(existsSync(join(cwd, "after"))).toBe(false);
});

test("--fail-fast cancels the rest, also what runs", async () => {
  const cwd = await directoryWith({
    "g.yaml": `
nodes:
  bad: {run: "sleep 0.2; exit 1"}
  long: {run: "sleep 60; touch long"}
  behind: {run: "touch behind", needs: [long]}
`,
  });
  const { code, stdout } = await orrery(cwd, "run", "g.yaml", "--json", "--fail-fast", "-w", "2");
  expect(code).toBe(1);
  expect(statuses(stdout)).toEqual({ bad: "failed", long: "cancelled", behind: "cancelled" });
});

test("a flaky node is tried again after its back-off, a slow one is ended at its time limit", async () => {
  const cwd = await directoryWith({
    "g.yaml": `
nodes:
  flaky: {run: "test $ORRERY_ATTEMPT -ge 3", retries: 3, backoff: 10ms}
  slow: {run: "sleep 60", timeout: 200ms}
`,
  });
  const { code, stdout } = await orrery(cwd, "run", "g.yaml", "--json", "-w", "2");
  expect(code).toBe(1);
  expect(resultOf(stdout).nodes).toMatchObject([
    { id: "flaky", status: "completed", attempts: 3 },
    { id: "slow", status: "failed", attempts: 1, error: "timed out" },
  ]);
});

test("Ctrl-C cancels, ends the children, and leaves a ledger that is whole", async () => {
  const cwd = await directoryWith({
    "g.yaml":
      "nodes: {long: {run: 'echo $$ > pid; sleep 60 & sleep 60'}, next: {run: 'true', needs: [long]}}",
  });
  const { child, finished } = startOrrery(cwd, ["run", "g.yaml", "--json"]);
  await expect.poll(() => existsSync(join(cwd, "pid")), { timeout: 20_000 }).toBe(true);
  child.kill("SIGINT");
  const { code, stdout } = await finished;
  expect(code).toBe(130);
  expect(statuses(stdout)).toEqual({ long: "cancelled", next: "cancelled" });
  const group = Number(await readFile(join(cwd, "pid"), "utf8"));
  await expect.poll(() => isAlive(-group), { timeout: 5_000 }).toBe(false);
  expect((await orrery(cwd, "verify", LEDGER, "--redecide")).code).toBe(0);
});

test("a Ctrl-C that npm passes on once more does not kill what is being cancelled", async () => {
  const cwd = await directoryWith({
    "g.yaml": `
nodes:
  long:
    run: |
      trap 'sleep 0.5; echo > ended; exit 0' TERM
      echo > started
      while :; do sleep 0.1; done
`,
  });
  const { child, finished } = startOrrery(cwd, ["run", "g.yaml"]);
  await expect.poll(() => existsSync(join(cwd, "started")), { timeout: 20_000 }).toBe(true);
  child.kill("SIGINT");
  await sleep(20);
  child.kill("SIGINT");
  expect((await finished).code).toBe(130);
  expect(existsSync(join(cwd, "ended"))).toBe(true);
});

test("[P-15] after kill -9 the children are gone, and --resume runs only what was not done", async () => {
  const cwd = await directoryWith({
    "g.yaml": `
nodes:
  first: {run: "echo first >> log"}
  second: {run: "echo second >> log; echo $$ > pid; test -e go || sleep 60", needs: [first]}
  third: {run: "echo third >> log", needs: [second]}
`,
  });
  const { child, finished } = startOrrery(cwd, ["run", "g.yaml"]);
  await expect.poll(() => existsSync(join(cwd, "pid")), { timeout: 20_000 }).toBe(true);
  child.kill("SIGKILL");
  expect((await finished).signal).toBe("SIGKILL");
  const group = Number(await readFile(join(cwd, "pid"), "utf8"));
  await expect.poll(() => isAlive(-group), { timeout: 5_000 }).toBe(false);
  await writeFile(join(cwd, "go"), "");
  const { code, stdout } = await orrery(cwd, "run", "g.yaml", "--resume", "--json");
  expect(code).toBe(0);
  expect(resultOf(stdout)).toMatchObject({ outcome: "completed", carried: 1, counts: { completed: 3 } });
  expect(await readFile(join(cwd, "log"), "utf8")).toBe("first\nsecond\nsecond\nthird\n");
  expect((await orrery(cwd, "verify", LEDGER, "--redecide")).code).toBe(0);
});

test("--resume runs a changed node again, and all that depends on it", async () => {
  const graph = (command: string): string => `
nodes:
  a: {run: "echo a >> log"}
  b: {run: "${command}", needs: [a]}
  c: {run: "echo c >> log", needs: [b]}
  d: {run: "echo d >> log", needs: [a]}
`;
  const cwd = await directoryWith({ "g.yaml": graph("echo b >> log") });
  expect((await orrery(cwd, "run", "g.yaml", "-w", "1")).code).toBe(0);
  await writeFile(join(cwd, "log"), "");
  await writeFile(join(cwd, "g.yaml"), graph("echo B >> log"));
  const { stdout } = await orrery(cwd, "run", "g.yaml", "--resume", "--json", "-w", "1");
  expect(resultOf(stdout)).toMatchObject({ outcome: "completed", carried: 2 });
  expect(await readFile(join(cwd, "log"), "utf8")).toBe("B\nc\n");
  const nothing = await orrery(cwd, "run", "g.yaml", "--resume", "--json");
  expect(resultOf(nothing.stdout)).toMatchObject({ outcome: "completed", carried: 4 });
});

test("a ledger cut by a crash is opened and says what it dropped; one cut by hand is refused", async () => {
  const cwd = await directoryWith({ "g.yaml": "nodes: {a: {run: 'true'}, b: {run: 'true', needs: [a]}}" });
  await orrery(cwd, "run", "g.yaml");
  const ledger = join(cwd, LEDGER);
  await appendFile(ledger, '{"v":1,"epo');
  const resumed = await orrery(cwd, "run", "g.yaml", "--resume");
  expect(resumed.code).toBe(0);
  expect(resumed.stderr).toMatch(/dropped 11 bytes after event \d+/);
  const { length } = await readFile(ledger);
  await truncate(ledger, length - 20);
  const refused = await orrery(cwd, "run", "g.yaml", "--resume");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/event \d+ is the first bad one/);
  expect((await orrery(cwd, "verify", LEDGER)).code).toBe(1);
});

test("an earlier ledger is kept beside the new one", async () => {
  const cwd = await directoryWith({ "g.yaml": "nodes: {a: {run: 'true'}}" });
  await orrery(cwd, "run", "g.yaml");
  const before = await readFile(join(cwd, LEDGER), "utf8");
  await orrery(cwd, "run", "g.yaml");
  const third = await orrery(cwd, "run", "g.yaml");
  expect(third.stderr).toContain(`kept as ${LEDGER}.2`);
  expect(await readFile(join(cwd, `${LEDGER}.1`), "utf8")).toBe(before);
  for (const kept of [`${LEDGER}.1`, `${LEDGER}.2`]) expect((await orrery(cwd, "verify", kept)).code).toBe(0);
});

test("--resume does not take the work of a file elsewhere for done", async () => {
  const cwd = await directoryWith({});
  const graph = "nodes: {make: {run: 'echo made > out.txt'}}";
  for (const directory of ["a", "b"]) {
    await mkdir(join(cwd, directory));
    await writeFile(join(cwd, directory, "g.yaml"), graph);
    expect((await orrery(cwd, "run", `${directory}/g.yaml`, "--resume")).code).toBe(0);
    expect(existsSync(join(cwd, directory, "out.txt"))).toBe(true);
  }
});

test("a run that waits for a person says so, and goes on when the hold is taken out", async () => {
  const graph = (hold: string): string =>
    `nodes: {a: {run: 'true'}, b: {run: 'true', needs: [a]${hold}}, c: {run: 'true', needs: [b]}}`;
  const cwd = await directoryWith({ "g.yaml": graph(", hold: true") });
  const held = await orrery(cwd, "run", "g.yaml");
  expect(held.code).toBe(1);
  expect(held.stdout).toMatch(/^held: b: /m);
  expect(held.stderr).toMatch(/g held: 1\/3 done, 2 waiting/);
  await writeFile(join(cwd, "g.yaml"), graph(""));
  const { code, stdout } = await orrery(cwd, "run", "g.yaml", "--resume", "--json");
  expect(code).toBe(0);
  expect(resultOf(stdout)).toMatchObject({ outcome: "completed", carried: 1 });
});

test("[P-03] nodes that together need more than the machine has do not run together", async () => {
  const cores = availableParallelism();
  const lone = (name: string): string =>
    `{run: "mkdir busy && sleep 0.3 && rmdir busy", resources: {cpu: ${cores}}} # ${name}`;
  const cwd = await directoryWith({
    "g.yaml": `nodes:\n  a: ${lone("a")}\n  b: ${lone("b")}\n  c: ${lone("c")}\n`,
  });
  expect((await orrery(cwd, "run", "g.yaml")).code).toBe(0);
  const refused = await orrery(cwd, "run", "g.yaml", "--workers", String(cores + 1));
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(/:2: .*resources\.cpu, or --workers/);
});

test("a signal that comes before the first node starts cancels all the same", async () => {
  const nodes = Object.fromEntries(
    Array.from({ length: 3_000 }, (_, at) => [`n${at}`, { run: "sleep 0.2" }]),
  );
  const cwd = await directoryWith({ "g.json": JSON.stringify({ nodes }) });
  const { child, finished } = startOrrery(cwd, ["run", "g.json", "--json"]);
  await expect.poll(() => sizeOf(join(cwd, LEDGER)), { timeout: 20_000, interval: 1 }).toBeGreaterThan(0);
  child.kill("SIGINT");
  const { code, stdout } = await finished;
  expect(code).toBe(130);
  expect(resultOf(stdout).outcome).toBe("cancelled");
});

test("a command that kills us at once does not outlive us", async () => {
  const cwd = await directoryWith({
    "g.yaml": "nodes: {a: {run: 'echo $$ > pid; kill -9 $PPID; exec sleep 60'}}",
  });
  expect((await startOrrery(cwd, ["run", "g.yaml"]).finished).signal).toBe("SIGKILL");
  const group = Number(await readFile(join(cwd, "pid"), "utf8"));
  await expect.poll(() => isAlive(-group), { timeout: 5_000 }).toBe(false);
});

test.each(["rm -r .orrery", "echo x >> .orrery/g.jsonl", ": > .orrery/g.jsonl"])(
  "a node that does %j to the ledger does not go unnoticed",
  async (harm) => {
    const cwd = await directoryWith({ "g.json": JSON.stringify({ nodes: { a: { run: harm } } }) });
    const { code, stderr } = await orrery(cwd, "run", "g.json");
    expect(code).toBe(1);
    expect(stderr).toContain("was changed or removed while it was written");
  },
);

test("a device is never taken for a ledger", async () => {
  const cwd = await directoryWith({ "g.yaml": "nodes: {a: {run: 'true'}}" });
  const { code, stderr } = await orrery(cwd, "run", "g.yaml", "--ledger", "/dev/full");
  expect(code).toBe(2);
  expect(stderr).toMatch(/^orrery: \/dev\/full is not a file/m);
});

test("a failure is told with the last words of the command", async () => {
  const cwd = await directoryWith({ "g.yaml": "nodes: {a: {run: 'echo early >&2; echo boom >&2; exit 4'}}" });
  const { stdout, stderr } = await orrery(cwd, "run", "g.yaml", "--quiet");
  expect(stderr).toContain("failed a exited with code 4: boom");
  expect(stdout).toContain("failed: a: exited with code 4: boom");
  expect((await orrery(cwd, "why", LEDGER, "a")).stdout).toContain("boom");
});

test("a log that nobody reads any more does not stop the run", async () => {
  const cwd = await directoryWith({
    "g.yaml": "nodes: {a: {run: 'sleep 0.3'}, b: {run: 'touch end', needs: [a]}}",
  });
  const { child, finished } = startOrrery(cwd, ["run", "g.yaml"]);
  child.stderr?.destroy();
  expect((await finished).code).toBe(0);
  expect(existsSync(join(cwd, "end"))).toBe(true);
});

test("two runs cannot write one ledger", async () => {
  const cwd = await directoryWith({ "g.yaml": "nodes: {a: {run: 'touch began; sleep 60'}}" });
  const { child, finished } = startOrrery(cwd, ["run", "g.yaml"]);
  await expect.poll(() => existsSync(join(cwd, "began")), { timeout: 20_000 }).toBe(true);
  const second = await orrery(cwd, "run", "g.yaml");
  expect(second.code).toBe(2);
  expect(second.stderr).toMatch(/another process is writing this ledger/);
  child.kill("SIGTERM");
  expect((await finished).code).toBe(143);
});

test("[P-19] bad input is exit 2 with the line, and nothing is started", async () => {
  const cases: readonly [name: string, content: string | Uint8Array, says: RegExp][] = [
    [
      "cycle",
      "nodes:\n  a: {run: touch ran, needs: [c]}\n  b: {run: 'true', needs: [a]}\n  c: {run: 'true', needs: [b]}\n",
      /:2:.*a → c → b → a/,
    ],
    ["unknown need", "nodes:\n  a: {run: touch ran}\n  b: {run: 'true', needs: [A]}\n", /:3:.*"A"/],
    ["duplicate", "nodes:\n  a: {run: touch ran}\n  a: {run: 'true'}\n", /:3:.*a/],
    ["wrong type", "nodes:\n  a: {run: touch ran}\n  b: {run: [1]}\n", /:3:.*run/],
    ["empty", "", /:1:.*empty/i],
    ["garbage", Uint8Array.from({ length: 256 }, (_, byte) => byte), /:1:.*text/],
    ["unknown task type", "nodes:\n  a: {run: touch ran}\n  b: {task: resize}\n", /:3:.*resize/],
    [
      "too much memory",
      "nodes:\n  a: {run: touch ran}\n  b: {run: 'true', resources: {memory: 100000GiB}}\n",
      /:3:.*memory/,
    ],
  ];
  for (const [name, content, says] of cases) {
    const cwd = await directoryWith({ "g.yaml": content });
    const { code, stderr, stdout } = await orrery(cwd, "run", "g.yaml");
    expect({ name, code, stdout }).toEqual({ name, code: 2, stdout: "" });
    expect(stderr).toMatch(says);
    expect(stderr).not.toMatch(/\bat .*\.js:/);
    expect(existsSync(join(cwd, "ran"))).toBe(false);
    expect(existsSync(join(cwd, ".orrery"))).toBe(false);
  }
});

test("exit codes: missing file 3, wrong option 2, help 0", async () => {
  const cwd = await directoryWith({});
  expect((await orrery(cwd, "run", "nowhere.yaml")).code).toBe(3);
  expect((await orrery(cwd, "run", ".", "--workers", "0")).code).toBe(2);
  expect((await orrery(cwd, "run", ".")).code).toBe(2);
  expect((await orrery(cwd, "runn")).code).toBe(2);
  expect((await orrery(cwd, "--help")).code).toBe(0);
  expect((await orrery(cwd, "run", "--help")).code).toBe(0);
});

test("[P-01] the same seed gives the same run id and the same decisions", async () => {
  const graph = "nodes: {a: {run: 'true'}, b: {run: 'true', needs: [a]}, c: {run: 'true', needs: [b]}}";
  const once = async (): Promise<Result> => {
    const cwd = await directoryWith({ "g.yaml": graph });
    const { stdout } = await orrery(
      cwd,
      "run",
      "g.yaml",
      "--json",
      "--seed",
      "7",
      "--strategy",
      "random",
      "-w",
      "3",
    );
    return resultOf(stdout);
  };
  const [first, second] = [await once(), await once()];
  expect(second.runId).toBe(first.runId);
  expect(second.nodes.map(({ worker }) => worker)).toEqual(first.nodes.map(({ worker }) => worker));
});

function sizeOf(path: string): number {
  return existsSync(path) ? statSync(path).size : 0;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test("[G-05] [G-10] a run keeps to the tokens and resources of orrery.yaml, and refuses what exceeds them", async () => {
  const cwd = await directoryWith({
    "orrery.yaml": "scheduling: {max_concurrent_tokens: 100}\nresources: {licence: 1}\n",
    "g.yaml": `
nodes:
  a: {run: "mkdir busy && sleep 0.2 && rmdir busy", tokens: 60}
  b: {run: "mkdir busy && sleep 0.2 && rmdir busy", limits: {licence: 1, tokens: 41}}
  c: {run: "sleep 0.1", limits: {licence: 1}, tokens: 0}
`,
    "h.yaml": 'nodes:\n  a: {run: "true", tokens: 101}\n  b: {run: "true", limits: {licence: 2}}\n',
  });
  const { code, stdout } = await orrery(cwd, "run", "g.yaml", "--json");
  expect([code, statuses(stdout)]).toEqual([0, { a: "completed", b: "completed", c: "completed" }]);
  const refused = await orrery(cwd, "run", "h.yaml");
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain(
    'h.yaml:2: node "a": it needs 101 of tokens and there are 100; lower it, or raise scheduling.max_concurrent_tokens',
  );
  expect(refused.stderr).toContain('h.yaml:3: node "b": it needs 2 of licence and there are 1');
});
