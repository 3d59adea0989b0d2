// Tasks that wait behind one that takes long, taken over by another worker: with processes, and with some that are killed
// after they were asked and before they could answer.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { OrreryClient } from "../src/client/index.ts";
import { taskIdOf } from "../src/core/index.ts";
import { decodeEvent, type LedgerEvent, type TaskRecalled } from "../src/ledger/index.ts";
import { directoryWith, type Started, startOrrery } from "./cli.ts";
import { testDatabase } from "./postgres.ts";
import { SERVER_KEY, type ServerProcess, startServerProcess } from "./server-process.ts";

const NODES: readonly string[] = Array.from({ length: 40 }, (_, n) => `n${n}`);

/** The first goes on until all others have run: for ever, unless somebody takes over what waits behind it. */
const TASKS = `
  import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
  import { setTimeout as sleep } from "node:timers/promises";
  const ran = () => readFileSync("ran", "utf8").split("\\n").length - 1;
  export async function work({ node }) {
    if (node === "n0") {
      writeFileSync("begun", "");
      while (ran() < ${NODES.length - 1}) await sleep(20);
    }
    appendFileSync("ran", node + "\\n");
  }
  export async function gate() { while (!existsSync("go")) await sleep(20); }
`;

class Place {
  readonly cwd: string;
  readonly workers: Started[] = [];
  readonly #args: readonly string[];
  #server: ServerProcess;

  static async open(args: readonly string[]): Promise<Place> {
    const cwd = await directoryWith({ "tasks.mjs": TASKS, ran: "" });
    return new Place(cwd, args, await startServerProcess(cwd, args));
  }

  private constructor(cwd: string, args: readonly string[], server: ServerProcess) {
    this.cwd = cwd;
    this.#args = args;
    this.#server = server;
  }

  get client(): OrreryClient {
    return new OrreryClient({ url: this.#server.url, key: SERVER_KEY });
  }

  orrery(...args: readonly string[]): Started {
    return startOrrery(this.cwd, args, { ORRERY_API_KEY: SERVER_KEY, ORRERY_URL: this.#server.url });
  }

  async worker(id: string): Promise<Started> {
    const started = this.orrery("worker", "--tasks", "tasks.mjs", "--slots", "1", "--id", id);
    this.workers.push(started);
    while ((await this.client.workers()).every((worker) => worker.id !== id)) await sleep(20);
    return started;
  }

  async submit(): Promise<string> {
    const spec = { task: "work", executor: "default", resources: { cpu: 0 }, retries: 2 };
    const nodes = Object.fromEntries(NODES.map((node) => [node, { ...spec, payload: { node } }]));
    return (await this.client.submitRun({ nodes })).id;
  }

  async until(file: string): Promise<void> {
    while ((await readFile(join(this.cwd, file), "utf8").catch(() => undefined)) === undefined)
      await sleep(20);
  }

  /** Until a worker has been asked for something. */
  async untilRecalled(run: string): Promise<void> {
    for (;;) {
      for (const node of NODES) if ((await this.client.why(taskIdOf(run, node))).placed?.recalled) return;
      await sleep(50);
    }
  }

  async killServer(): Promise<void> {
    this.#server.child.kill("SIGKILL");
    await this.#server.finished;
    const { port } = new URL(this.#server.url);
    this.#server = await startServerProcess(this.cwd, [...this.#args, "--port", port]);
  }

  /** Each ran once, and the ledger can be decided again. */
  async check(run: string): Promise<LedgerEvent[]> {
    expect(await this.client.waitForRun(run)).toMatchObject({ status: "completed" });
    const ran = (await readFile(join(this.cwd, "ran"), "utf8")).trimEnd().split("\n");
    expect(ran.sort()).toEqual([...NODES].sort());
    await this.orrery("ledger", "ledger.jsonl", "--server", this.#server.url).finished;
    const verified = await this.orrery("verify", "ledger.jsonl", "--redecide").finished;
    expect(verified, verified.stdout).toMatchObject({ code: 0 });
    const lines = (await readFile(join(this.cwd, "ledger.jsonl"), "utf8")).trimEnd().split("\n");
    return lines.flatMap((line) => (JSON.parse(line) as { events: unknown[] }).events.map(decodeEvent));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { child, finished } of [...this.workers, this.#server]) {
      child.kill("SIGKILL");
      await finished;
    }
  }
}

function recalledIn(events: readonly LedgerEvent[]): TaskRecalled[] {
  return events.filter((event) => event.kind === "TaskRecalled");
}

const PREFETCH = ["--fair-share", "1000", "--prefetch", "32"];

test("what waits behind a long task is taken over by an idle worker, once, and `why` says so", {
  timeout: 120_000,
}, async () => {
  await using place = await Place.open(["--store", "memory", ...PREFETCH]);
  await place.worker("a");
  await place.worker("b");
  const run = await place.submit();
  const [first] = recalledIn(await place.check(run));
  expect(first).toMatchObject({ worker: 0, idle: 1, attempt: 1 });
  const node = NODES[first?.node ?? 0] as string;
  const { stdout: asked } = await place.orrery("why", run, node).finished;
  expect(asked.replaceAll(/\s+/g, " ")).toMatch(
    /Attempt 2 went to b .*a, which had it before, gave it back because b stood idle/,
  );
  const { stdout: told } = await place.orrery("why", "ledger.jsonl", node).finished;
  expect(told).toMatch(/Earlier attempts\n\s+1 on a .*was given back before it began/);
  expect(told).toContain("has just given it back");
});

/** One worker with tasks in its queue that is frozen, and another that has asked for some of them. */
async function frozen(place: Place): Promise<{ readonly run: string; readonly worker: Started }> {
  await place.worker("b");
  await place.client.submit({ task_type: "gate", executor: "default", payload: {} });
  const worker = await place.worker("a");
  const run = await place.submit();
  await place.until("begun");
  worker.child.kill("SIGSTOP");
  await writeFile(join(place.cwd, "go"), "");
  await place.untilRecalled(run);
  return { run, worker };
}

test("a worker that is killed before it can answer loses nothing", { timeout: 120_000 }, async () => {
  await using place = await Place.open(["--store", "memory", "--lease", "5s", ...PREFETCH]);
  const { run, worker } = await frozen(place);
  worker.child.kill("SIGKILL");
  await place.worker("c");
  await place.check(run);
});

test("a server that is killed before the answer asks again, and the worker it was for may be gone", {
  timeout: 120_000,
}, async () => {
  const { url } = await testDatabase();
  await using place = await Place.open(["--store", url, "--lease", "20s", ...PREFETCH]);
  const { run, worker } = await frozen(place);
  await place.killServer();
  place.workers[0]?.child.kill("SIGKILL");
  await place.worker("c");
  worker.child.kill("SIGCONT");
  const events = await place.check(run);
  const returned = events.filter((event) => event.kind === "AttemptLost" && event.startedAt === -1);
  expect(returned.length).toBeGreaterThan(0);
});
