// A graph whose results are on workers, and workers that are killed: the result is right, and no more is made again than was
// lost. `DATA_KILLS=long` has more nodes and more kills.

import { readdir, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { graph, OrreryClient } from "../src/client/index.ts";
import { decodeEvent, type LedgerEvent } from "../src/ledger/index.ts";
import { directoryWith, type Started, startOrrery } from "./cli.ts";
import { SERVER_KEY, startServerProcess } from "./server-process.ts";

const isLong = process.env["DATA_KILLS"] === "long";
const LEAVES = isLong ? 2_500 : 160;
const KILLS = isLong ? 20 : 4;
/** More than what travels with reports. */
const BYTES = 40_000;

const TASKS = `
  import { setTimeout as sleep } from "node:timers/promises";
  const sumOf = (bytes) => bytes.reduce((sum, one) => sum + one, 0);
  export async function leaf(n) { await sleep(20); return Buffer.alloc(${BYTES}, n % 251); }
  export async function merge(one, other) {
    await sleep(20);
    const merged = Buffer.alloc(${BYTES});
    merged.writeDoubleLE((one.total ?? sumOf(one.bytes ?? one)) + (other.total ?? sumOf(other.bytes ?? other)));
    return { total: merged.readDoubleLE(), padding: merged };
  }
  export const total = ({ total }) => total;
`;

test(`[D-10] the right result, with ${KILLS} workers killed`, { timeout: 600_000 }, async () => {
  const cwd = await directoryWith({ "tasks.mjs": TASKS });
  const server = await startServerProcess(cwd, [
    "--store",
    "memory",
    "--lease",
    "1s",
    "--fair-share",
    "1000",
  ]);
  const env = { ORRERY_API_KEY: SERVER_KEY };
  const args = ["worker", "--server", server.url, "--tasks", "tasks.mjs", "--slots", "2", "--quiet"];
  let started = 0;
  const start = () => startOrrery(cwd, [...args, "--id", `w${started++}`], env);
  const workers: Started[] = [start(), start(), start()];
  try {
    const client = new OrreryClient({ url: server.url, key: SERVER_KEY });
    const { g, wanted } = sumGraph();
    const computation = await client.start(g, wanted);
    for (let kill = 0; kill < KILLS; kill++) {
      await untilCompleted(client, computation.run, ((kill + 1) * g.size) / (KILLS + 1));
      const victim = workers[kill % workers.length] as Started;
      victim.child.kill("SIGKILL");
      await victim.finished;
      workers[kill % workers.length] = start();
    }
    expect(await computation.results()).toBe(expectedTotal());
    await startOrrery(cwd, ["ledger", "ledger.jsonl", "--server", server.url], env).finished;
    const verified = await startOrrery(cwd, ["verify", "ledger.jsonl", "--redecide"], env).finished;
    expect(verified).toMatchObject({ code: 0 });
    expectOnlyLost(await eventsIn(join(cwd, "ledger.jsonl")), g.size);
  } finally {
    for (const { child, finished } of [...workers, server]) {
      child.kill("SIGTERM");
      await finished;
    }
  }
});

test("[D-10] [D-03] what was lost with its worker after its run had ended is made again, also where it was found in the cache", {
  timeout: 120_000,
}, async () => {
  const cwd = await directoryWith({
    "tasks.mjs": "export const big = (fill) => Buffer.alloc(3 * 2 ** 20, fill);",
  });
  const server = await startServerProcess(cwd, ["--store", "memory", "--lease", "1s"]);
  const args = ["worker", "--server", server.url, "--tasks", "tasks.mjs", "--quiet"];
  const start = () => startOrrery(cwd, args, { ORRERY_API_KEY: SERVER_KEY });
  let holder = start();
  const replace = async (): Promise<void> => {
    holder.child.kill("SIGKILL");
    await holder.finished;
    holder = start();
  };
  try {
    const client = new OrreryClient({ url: server.url, key: SERVER_KEY });
    const g = graph();
    const cached = g.with({ cache: true }).task("big", "a");
    const others = ["b", "c"].map((fill) => g.task("big", fill));
    const expected = ["a", "b", "c"].map((fill) => Buffer.alloc(3 * 2 ** 20, fill));
    const isRight = (results: readonly unknown[]) =>
      results.every((result, at) => expected[at]?.equals(result as Buffer));
    expect(isRight([await client.compute(g, cached)])).toBe(true);
    await replace();
    expect(isRight([await client.compute(g, cached)])).toBe(true);

    const computation = await client.start(g, [cached, ...others]);
    await client.waitForRun(computation.run);
    await replace();
    expect(isRight(await computation.results())).toBe(true);
    expect(isRight([await computation.result(cached)])).toBe(true);
    await replace();
    expect(isRight(await Promise.all([cached, ...others].map((node) => computation.result(node))))).toBe(
      true,
    );
    // Three runs in all.
    await replace();
    await expect(computation.results()).rejects.toMatchObject({ code: "result-lost" });
    expect(await computation.release()).toBe(true);
    await expect(computation.results()).rejects.toMatchObject({ code: "result-gone" });
    for await (const { id } of client.runs()) expect(await client.releaseRun(id), id).toBe(false);
  } finally {
    for (const { child, finished } of [holder, server]) {
      child.kill("SIGTERM");
      await finished;
    }
  }
});

test("[D-10] what its worker has lost by itself is made again", async () => {
  const cwd = await directoryWith({
    "tasks.mjs": "export const big = (fill) => Buffer.alloc(900_000, fill);",
  });
  const server = await startServerProcess(cwd, ["--store", "memory"]);
  const options = ["--data-memory", "1MiB", "--spill-dir", "spill"];
  const worker = startOrrery(
    cwd,
    ["worker", "--server", server.url, "--tasks", "tasks.mjs", "--quiet", ...options],
    {
      ORRERY_API_KEY: SERVER_KEY,
    },
  );
  try {
    const client = new OrreryClient({ url: server.url, key: SERVER_KEY });
    const g = graph();
    const fills = ["a", "b", "c", "d"];
    const computation = await client.start(
      g,
      fills.map((fill) => g.task("big", fill)),
    );
    expect(await client.waitForRun(computation.run)).toMatchObject({ status: "completed" });
    const spilled = await readdir(join(cwd, "spill"), { recursive: true, withFileTypes: true });
    const files = spilled.filter((one) => one.isFile());
    expect(files.length).toBeGreaterThanOrEqual(2);
    for (const { parentPath, name } of files) await unlink(join(parentPath, name));
    const results = await computation.results();
    expect(results.map((result) => (result as Buffer).toString("latin1", 0, 1))).toEqual(fills);
    await computation.release();
  } finally {
    for (const { child, finished } of [worker, server]) {
      child.kill("SIGTERM");
      await finished;
    }
  }
});

/** Made again counts again, so this many may come late; it never stays away for good. */
async function untilCompleted(client: OrreryClient, run: string, count: number): Promise<void> {
  for (let completed = 0; completed < count; await sleep(20))
    ({ completed } = (await client.run(run)).counts);
}

function sumGraph() {
  const g = graph();
  let layer = Array.from({ length: LEAVES }, (_, n) => g.task("leaf", n));
  while (layer.length > 1) {
    layer = layer.flatMap((node, at) => {
      const other = layer[at + 1];
      if (at % 2 === 1) return [];
      return other ? [g.task("merge", node, other)] : [node];
    });
  }
  const [root] = layer;
  if (!root) throw new Error("a tree has a root");
  return { g, wanted: g.task("total", root) };
}

function expectedTotal(): number {
  let total = 0;
  for (let n = 0; n < LEAVES; n++) total += BYTES * (n % 251);
  return total;
}

async function eventsIn(file: string): Promise<LedgerEvent[]> {
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  return lines.flatMap((line) => (JSON.parse(line) as { events: unknown[] }).events.map(decodeEvent));
}

/** Every node completed once, and once more for each time that it was to be made again, which was for a loss. */
function expectOnlyLost(events: readonly LedgerEvent[], nodes: number): void {
  const recomputed = events.flatMap((event) => (event.kind === "NodesRecomputed" ? event.nodes : []));
  expect(events.filter(({ kind }) => kind === "AttemptFinished")).toHaveLength(nodes + recomputed.length);
  expect(recomputed.length).toBeGreaterThan(0);
  const whereabouts = new Whereabouts(events);
  for (const event of events) {
    if (event.kind === "NodesRecomputed") expect(event.nodes).toEqual(whereabouts.lost());
    whereabouts.follow(event);
  }
  expect(whereabouts.lost()).toEqual([]);
}

/** Where results are, told from the ledger alone and without the scheduler's code. */
class Whereabouts {
  readonly #inputs: readonly (readonly number[])[];
  readonly #workers = new Map<number, number>();
  readonly #completed = new Set<number>();
  readonly #stored = new Set<number>();
  readonly #holders = new Map<number, Set<number>>();

  constructor(events: readonly LedgerEvent[]) {
    const submitted = events.find((event) => event.kind === "RunSubmitted");
    const { needs = [], inputs = [] } = submitted?.graph ?? {};
    this.#inputs = needs.map((of, node) => of.slice(0, inputs[node]));
  }

  follow(event: LedgerEvent): void {
    if (event.kind === "TaskAssigned") this.#workers.set(event.node, event.worker);
    else if (event.kind === "AttemptFinished") this.#finish(event.node, event.held === true);
    else if (event.kind === "ChunksFreed") for (const node of event.nodes) this.#holders.delete(node);
    else if (event.kind === "NodesRecomputed") for (const node of event.nodes) this.#completed.delete(node);
    else if (event.kind === "ChunkLost") this.#holders.get(event.node)?.delete(event.worker);
    else if (event.kind === "WorkerLost") for (const of of this.#holders.values()) of.delete(event.worker);
  }

  /** What completed, is nowhere any more, and is needed by what has not completed; and what that takes. */
  lost(): number[] {
    const again = new Set<number>();
    const mayNeed = (node: number) => !this.#completed.has(node) || again.has(node);
    for (let before = -1; before !== again.size; ) {
      before = again.size;
      for (const [reader, inputs] of this.#inputs.entries()) {
        if (!mayNeed(reader)) continue;
        for (const input of inputs) if (this.#completed.has(input) && !this.#isThere(input)) again.add(input);
      }
    }
    return [...again].sort((a, b) => a - b);
  }

  #isThere(node: number): boolean {
    return this.#stored.has(node) || (this.#holders.get(node)?.size ?? 0) > 0;
  }

  #finish(node: number, isHeld: boolean): void {
    const worker = this.#workers.get(node) as number;
    this.#completed.add(node);
    if (isHeld) this.#holders.set(node, new Set([worker]));
    else this.#stored.add(node);
    for (const input of this.#inputs[node] ?? []) this.#holders.get(input)?.add(worker);
  }
}
