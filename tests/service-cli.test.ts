// The commands about a server, as their users run them: a server, a worker and each command are real processes.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { directoryWith, type Finished, type Started, startOrrery } from "./cli.ts";
import { CuttingProxy } from "./cutting-proxy.ts";

const KEY = "sk-service-cli-0123456789-and-0123456789";
const NO_ID = "0195a6c2-6f0e-7c3a-9d1b-2f4e5a6b7c8d";

let cwd: string;
let url: string;
let server: Started;
let worker: Started;

beforeAll(async () => {
  cwd = await directoryWith({
    "g.yaml": `
nodes:
  first: {run: "sleep 0.2; echo from first"}
  bad: {run: "exit 3", needs: [first]}
  behind: {run: "true", needs: [bad]}
  other: {run: "true", needs: [first]}
`,
    "trouble.yaml": `
nodes:
  a: {run: "echo early; exit 4", retries: 1, backoff: 100ms}
  b: {run: "true", needs: [a]}
  c: {run: "sleep 5", timeout: 300ms}
`,
    "good.yaml": "nodes: {a: {task: noop}, b: {task: noop, needs: [a]}}",
    "nobody.yaml": "nodes: {a: {task: noop, executor: nobody}}",
    "wrong.yaml": "nodes:\n  a: {task: noop, needs: [b]}\n",
  });
  server = startOrrery(cwd, ["serve", "--store", "memory", "--port", "0", "--json"], { ORRERY_API_KEY: KEY });
  const announced = await said(server, "stdout", /"url": "(.+?)"/);
  url = announced[1] ?? "";
  worker = startOrrery(
    cwd,
    ["worker", "--server", url, "--shell", "--id", "w1", "--slots", "4", "--executor", "default", "local"],
    { ORRERY_API_KEY: KEY },
  );
  await said(worker, "stderr", /connected/);
});

afterAll(async () => {
  for (const started of [worker, server]) {
    started?.child.kill("SIGTERM");
    await started?.finished;
  }
});

/** Resolves when a process has said it. */
function said(
  { child, finished }: Started,
  stream: "stdout" | "stderr",
  what: RegExp,
): Promise<RegExpExecArray> {
  let text = "";
  return new Promise((resolve, reject) => {
    child[stream]?.on("data", (chunk: string) => {
      text += chunk;
      const match = what.exec(text);
      if (match) resolve(match);
    });
    finished.then(({ stderr }) => reject(new Error(`it ended: ${stderr}`)), reject);
  });
}

function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Started {
  return startOrrery(cwd, args, { ORRERY_URL: url, ORRERY_API_KEY: KEY, ...env });
}

function orrery(...args: readonly string[]): Promise<Finished> {
  return start(args).finished;
}

/** What a command printed as JSON. */
async function json<Value>(...args: readonly string[]): Promise<Value> {
  const { stdout, stderr } = await orrery(...args, "--json");
  expect(stdout, stderr).not.toBe("");
  return JSON.parse(stdout) as Value;
}

interface Task {
  readonly id: string;
  readonly status: string;
  readonly task_type: string;
}

async function tasksOf(executor: string): Promise<Task[]> {
  return (await json<{ tasks: Task[] }>("tasks", "--executor", executor)).tasks;
}

describe("submit", () => {
  test("prints the id, or with --wait the result", async () => {
    const { code, stdout } = await orrery("submit", "echo", "--payload", '{"a": 1}');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^[0-9a-f-]{36}\n$/);
    await writeFile(join(cwd, "payload.json"), '{"from": "a file"}');
    const waited = await orrery("submit", "echo", "--payload", "@payload.json", "--wait", "30");
    expect({ ...waited, stdout: JSON.parse(waited.stdout) }).toMatchObject({
      code: 0,
      stdout: { from: "a file" },
      stderr: expect.stringMatching(/^submitted \S+\n$/),
    });
  });

  test("exits with 1 when the task failed, or did not end in time", async () => {
    const failed = await orrery(
      "submit",
      "command",
      "--payload",
      '{"command": "exit 4"}',
      "--max-attempts",
      "1",
      "--wait",
    );
    expect(failed).toMatchObject({ code: 1, stdout: "" });
    expect(failed.stderr).toContain("exited with code 4 (exit)");
    const wrong = await orrery("submit", "noop", "--wait", "soon");
    expect(wrong).toMatchObject({ code: 2, stdout: "", stderr: expect.not.stringContaining("submitted") });
    const late = await orrery("submit", "noop", "--executor", "nobody", "--wait", "0.2");
    expect(late).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/is still queued; see: orrery why /),
    });
  });

  test("understands everything that a task can have", async () => {
    const { stdout } = await orrery(
      ...["submit", "noop", "--executor", "full", "--priority", "high", "--estimate", "1m30s", "--json"],
      ...["--run-at", "1h", "--deadline", "2099-01-01T00:00:00Z", "--limit", "api", "db", "--cpu", "0.5"],
      ...["--memory", "1MiB", "--capability", "gpu", "--timeout", "90", "--idempotency-key", "once"],
    );
    expect(JSON.parse(stdout)).toMatchObject({
      executor_id: "full",
      priority_tier: "high",
      estimated_service_time: 90,
      deadline: "2099-01-01T00:00:00.000Z",
      run_at: expect.any(String),
    });
    const again = await orrery("submit", "noop", "--executor", "full", "--idempotency-key", "once");
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining("idempotency key") });
  });

  test("takes many from a file, a line each", async () => {
    await writeFile(
      join(cwd, "batch.jsonl"),
      '{"payload": {"n": 1}}\n\n{"task_type": "other", "payload": {}}\n',
    );
    const { code, stdout } = await orrery(
      "submit",
      "echo",
      "--batch",
      "batch.jsonl",
      "--executor",
      "batches",
    );
    expect(code).toBe(0);
    const ids = stdout.trim().split("\n");
    const tasks = await tasksOf("batches");
    expect(tasks.map(({ id }) => id).sort()).toEqual(ids.sort());
    expect(tasks.map(({ task_type }) => task_type).sort()).toEqual(["echo", "other"]);
    await writeFile(join(cwd, "broken.jsonl"), '{"task_type": "a"}\nnonsense\n');
    const broken = await orrery("submit", "--batch", "broken.jsonl");
    expect(broken).toMatchObject({ code: 2, stderr: expect.stringContaining("broken.jsonl:2: is no JSON") });
    for (const args of [
      ["submit", "--batch", cwd],
      ["ledger", cwd],
    ]) {
      const given = await orrery(...args);
      expect(given).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("is a directory; name a file"),
      });
    }
  });

  test("refuses a payload whose numbers would come back as others", async () => {
    const refused = await orrery("submit", "noop", "--payload", '{"id": 9007199254740993}');
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("has 9007199254740993, which"),
    });
  });

  test("takes how much of a limit a task counts, as the API does", async () => {
    expect((await orrery("submit", "noop", "--limit", "gpu=2", "api")).code).toBe(0);
    for (const limit of ["gpu=-1", "gpu=0.5", "gpu=", "=2"]) {
      const refused = await orrery("submit", "noop", "--limit", limit);
      expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(`gpu=2; got ${limit}`) });
    }
  });

  test("a worker without cores says what it will not get", async () => {
    const none = start(["worker", "--cpu", "0", "--executor", "none"]);
    await said(none, "stderr", /--cpu 0 .* no task that asks for cores/);
    none.child.kill("SIGTERM");
    await none.finished;
  });

  test("makes one task though answers get lost", async () => {
    await using proxy = await CuttingProxy.start(Number(new URL(url).port));
    proxy.loseAnswers = 2;
    const { code, stdout, stderr } = await start(["submit", "noop", "--executor", "cut"], {
      ORRERY_URL: proxy.url,
    }).finished;
    expect({ code, lost: proxy.loseAnswers }).toEqual({ code: 0, lost: 0 });
    expect(stderr).toMatch(/the connection to \S+ broke .*; trying again/);
    expect((await tasksOf("cut")).map(({ id }) => `${id}\n`)).toEqual([stdout]);
  });

  test("lets nothing act on the terminal", async () => {
    const payload = { text: "\u009b31m \u202e \u001b[2J" };
    const { stdout } = await orrery("submit", "echo", "--payload", JSON.stringify(payload), "--wait");
    expect(JSON.parse(stdout)).toEqual(payload);
    expect(stdout).toMatch(/^[\n -~]*$/);
  });
});

describe("tasks", () => {
  test("are listed, shown, explained, cancelled and retried", async () => {
    const id = (await orrery("submit", "noop", "--executor", "lonely")).stdout.trim();
    const listed = await orrery("tasks", "--executor", "lonely", "--status", "queued");
    expect(listed.stdout).toMatch(/^ID +STATUS +TYPE/);
    expect(listed.stdout).toContain(`${id}  queued  noop  lonely`);
    expect((await orrery("task", id)).stdout).toContain("executor   lonely");
    const why = await orrery("why", id);
    expect(why.stdout).toContain("does not run yet: it is queued.\n  No worker serves the executor lonely");
    expect(why.stdout).toMatch(
      /It would start if\n {2}- there were a worker .+the\s+executor\s+lonely.*: in/s,
    );
    expect(await orrery("cancel", id)).toMatchObject({ code: 0, stdout: `${id} cancelled\n` });
    expect(await orrery("cancel", id)).toMatchObject({
      code: 1,
      stderr: `orrery: ${id} is cancelled already\n`,
    });
    expect(await orrery("retry", id)).toMatchObject({ code: 0, stdout: `${id} queued\n` });
    expect(await orrery("retry", id)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("it is queued"),
    });
  });

  test("say where they ran, and what they printed", async () => {
    const task = await json<Task>(
      "submit",
      "command",
      "--payload",
      '{"command": "echo one; echo two"}',
      "--wait",
    );
    expect(task.status).toBe("completed");
    await expect
      .poll(async () => (await orrery("task", task.id, "--log")).stdout, { timeout: 10_000 })
      .toBe("one\ntwo\n");
    expect((await orrery("why", task.id)).stdout).toContain("Attempt 1 went to w1 because");
    expect(await orrery("task", task.id, "--wait")).toMatchObject({ code: 0 });
  });

  test("that are not there are not found", async () => {
    for (const command of [["task"], ["why"], ["cancel"], ["retry"], ["task", "--log"]]) {
      const { code, stderr } = await orrery(...command, NO_ID);
      expect({ command, code }).toEqual({ command, code: 3 });
      expect(stderr).toMatch(/there is no such task|is not known here/);
    }
  });
});

describe("run --server", () => {
  test("submits the graph, shows what happens, and ends as the run does", async () => {
    const { code, stdout, stderr } = await orrery("run", "g.yaml", "--server", url);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^failed: bad: exited with code 3 \(task \S+\)\nrun: \S+\n$/);
    expect(stderr).toMatch(/started first on w1\n.+finished first in \d+\.\d+s\n/);
    expect(stderr).toMatch(/skipped behind because bad did not complete/);
    expect(stderr).toMatch(/g failed: 2\/4 done, 1 failed, 1 skipped in/);
    expect(await orrery("run", "good.yaml", "--server", url, "--quiet")).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "",
    });
  });

  test("tells what became of all nodes of a run that has ended before it could be followed", async () => {
    for (let at = 0; at < 3; at++) {
      const { code, stderr } = await orrery("run", "good.yaml", "--server", url);
      expect(code).toBe(0);
      expect(stderr).toMatch(/finished b\b/);
      expect(stderr).toContain("good completed: 2/2 done");
    }
  });

  test("tells the same as a run on this machine: each start, what was printed, retries and limits", async () => {
    const told = (stderr: string) =>
      stderr
        .split("\n")
        .map((line) =>
          line
            .replace(/^\S+ /, "")
            .replace(/ on \S+/, "")
            .replace(/ in [\d.]+s/, ""),
        )
        .sort();
    const here = await startOrrery(cwd, ["run", "trouble.yaml"]).finished;
    const there = await orrery("run", "trouble.yaml", "--server", url);
    expect(told(here.stderr)).toContain("a | early");
    expect(told(there.stderr)).toEqual(told(here.stderr));
  });

  test("prints the result as JSON, in the order of the file", async () => {
    const result = await json<{ runId: string; outcome: string; nodes: { id: string; status: string }[] }>(
      ...["run", "g.yaml", "--server", url, "--fail-fast"],
    );
    expect(result.outcome).toBe("failed");
    expect(result.nodes.map(({ id }) => id)).toEqual(["first", "bad", "behind", "other"]);
    const shown = await orrery("runs", result.runId);
    expect(shown.stdout).toMatch(/^g failed\n/);
    expect(shown.stdout).toContain("exited with code 3");
    expect((await orrery("why", result.runId, "first", "--server", url)).stdout).toContain("went to w1");
    expect((await orrery("why", result.runId, "first")).stdout).toContain("went to w1");
  });

  test("--detach leaves it, and it can be cancelled", async () => {
    const { code, stdout } = await orrery("run", "nobody.yaml", "--server", url, "--detach");
    expect(code).toBe(0);
    const id = stdout.trim();
    expect((await orrery("runs")).stdout).toMatch(new RegExp(`${id} +nobody +running`));
    const planned = await orrery("runs", id, "--plan");
    expect(planned.stdout).toMatch(/expected end {2}unknown: 1 node cannot be planned\n/);
    expect(planned.stdout).toMatch(/queued .*not planned: Unsatisfiable/);
    expect(await json("runs", id, "--plan")).toMatchObject({ run_id: id });
    expect(await orrery("runs", "--plan")).toMatchObject({ code: 2 });
    expect(await orrery("runs", id, "--cancel")).toMatchObject({ code: 0, stdout: `${id} cancelled\n` });
    expect(await orrery("runs", id, "--cancel")).toMatchObject({ code: 1 });
    expect((await json<{ status: string }>("runs", id)).status).toBe("cancelled");
  });

  test("says why nothing runs, and Ctrl-C cancels the run", async () => {
    const running = start(["run", "nobody.yaml", "--server", url, "--json"]);
    await said(running, "stderr", /nothing runs: No worker serves the executor/);
    running.child.kill("SIGINT");
    const { code, stdout } = await running.finished;
    expect(code).toBe(130);
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: "cancelled",
      nodes: [{ id: "a", status: "cancelled" }],
    });
  });

  test("goes on when the connection breaks", async () => {
    await using proxy = await CuttingProxy.start(Number(new URL(url).port));
    const running = start(["run", "g.yaml", "--server", proxy.url]);
    await said(running, "stderr", /started first/);
    proxy.cut();
    const { code, stderr } = await running.finished;
    expect(code).toBe(1);
    expect(stderr).toMatch(/g failed: 2\/4 done, 1 failed, 1 skipped in/);
    for (const line of ["finished first", "failed bad", "skipped behind", "finished other"])
      expect(stderr.split(line)).toHaveLength(2);
  });

  test("the second Ctrl-C leaves the run alone", async () => {
    const proxy = await CuttingProxy.start(Number(new URL(url).port));
    const running = start(["run", "nobody.yaml", "--server", proxy.url]);
    await said(running, "stderr", /nothing runs/);
    await proxy[Symbol.asyncDispose]();
    running.child.kill("SIGINT");
    await said(running, "stderr", /once more to leave it alone/);
    // Sooner it would be an echo of the first.
    await sleep(300);
    running.child.kill("SIGINT");
    const { code, stderr } = await running.finished;
    expect(code).toBe(130);
    const id = /orrery runs (\S+)/.exec(stderr)?.[1] ?? "";
    expect(await orrery("runs", id, "--cancel")).toMatchObject({ code: 0 });
  });

  test("what is wrong with the file is said before anything is sent", async () => {
    const { code, stderr } = await orrery("run", "wrong.yaml", "--server", url);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^orrery: wrong\.yaml:2:\d+: /);
    expect(await orrery("run", "good.yaml", "--server", url, "--resume")).toMatchObject({ code: 2 });
    expect(await orrery("run", "good.yaml", "--detach")).toMatchObject({ code: 2 });
  });
});

describe("keys and workers", () => {
  test("a key is made, listed, rotated and revoked; its secret is shown once", async () => {
    const rights = ["--scope", "read", "submit", "--all-zones", "--for-agent", "ci"];
    const made = await orrery("keys", "create", "ci", ...rights, "--expires", "30d");
    const secret = made.stdout.trim();
    const id = /key (\S+)/.exec(made.stderr)?.[1] ?? "";
    expect((await orrery("tasks", "--key", secret)).code).toBe(0);
    const listed = await orrery("keys", "list");
    expect(listed.stdout).toMatch(new RegExp(`${id} +ci +read, submit`));
    expect(listed.stdout).not.toContain(secret);
    const rotated = await orrery("keys", "rotate", id, "--overlap", "0");
    expect((await orrery("tasks", "--key", secret)).code).toBe(2);
    const next = /key (\S+)/.exec(rotated.stderr)?.[1] ?? "";
    expect(await orrery("keys", "revoke", next)).toMatchObject({ code: 0, stdout: `${next} revoked\n` });
    expect(await orrery("keys", "revoke", "nothing")).toMatchObject({ code: 3 });
  });

  test("[F13] a key is not made before its zones and agents are named", async () => {
    for (const [options, said] of [
      [[], "name the zones of the key with --zone NAME, or use --all-zones"],
      [["--zone", "a"], "name the agents of the key with --for-agent NAME, or use --all-agents"],
      [["--zone", "a", "--all-zones", "--all-agents"], "use either --zone or --all-zones"],
    ] as const) {
      const { code, stderr } = await orrery("keys", "create", "ci", ...options);
      expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
    }
  });

  test("workers are listed", async () => {
    expect((await orrery("workers")).stdout).toMatch(/\nw1 +Idle +0 +4 +256 /);
    expect(await orrery("workers", "--drain", "nothing")).toMatchObject({ code: 3 });
  });
});

describe("what goes wrong", () => {
  test("no server, with the way to start one", async () => {
    const gone = await CuttingProxy.start(1);
    const nowhere = gone.url;
    await gone[Symbol.asyncDispose]();
    const { code, stderr } = await orrery("tasks", "--server", nowhere);
    expect(code).toBe(1);
    expect(stderr).toBe(`orrery: no server answers at ${nowhere}; start one with: orrery serve\n`);
  });

  test("an empty ORRERY_URL counts as none", async () => {
    for (const args of [["runs"], ["why", NO_ID], ["ledger", "x.jsonl"]]) {
      const { stderr } = await start(args, { ORRERY_URL: "", ORRERY_API_KEY: "" }).finished;
      expect(stderr).toBe("orrery: there is no API key; set ORRERY_API_KEY, or use --key\n");
    }
  });

  test("a wrong key, without showing it", async () => {
    const wrong = await start(["tasks"], { ORRERY_API_KEY: "sk-wrong-wrong-wrong" }).finished;
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain("does not accept the key in ORRERY_API_KEY");
    expect(wrong.stderr).not.toContain("sk-wrong");
    expect((await orrery("tasks", "--key", "sk-other-other")).stderr).toContain("the key given with --key");
    const none = await start(["tasks"], { ORRERY_API_KEY: "" }).finished;
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining("set ORRERY_API_KEY") });
  });

  test.each([
    [["submit", "a", "--boost", "much"], ["boost must"]],
    [["tasks", "--status", "queud"], ['did you mean "queued"']],
    [["submit"], ["name the type"]],
    [["submit", "a", "--payload", "[1]"], ["--payload: must be a JSON object"]],
    [["submit", "a", "--timeout", "soon"], ["--timeout must be a duration"]],
    [["tasks", "--server", "somewhere"], ["somewhere is no URL"]],
    [["why", "something"], ["name a ledger and a node"]],
    [["keys", "create", "x", "--scope", "all"], ["orrery keys create --help"]],
    [["task", NO_ID, "--follow"], ["--follow goes with --log"]],
  ])("wrong input is said in words: %j", async (args, messages) => {
    const { code, stderr } = await orrery(...args);
    expect({ stderr, code }).toMatchObject({ code: 2 });
    for (const message of messages) expect(stderr).toContain(message);
  });

  test("a wrong field each has its line", async () => {
    const { stderr } = await orrery("submit", "x".repeat(300), "--capability", "");
    expect(stderr.trim().split("\n")).toEqual([
      expect.stringMatching(/^orrery: task_type /),
      expect.stringMatching(/^orrery: capabilities\.0 /),
    ]);
  });
});
