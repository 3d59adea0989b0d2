import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, rename, rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { canonicalJson, derivedUuid } from "../core/index.ts";
import type { RunOutcome } from "../ledger/index.ts";
import { LocalRun, localWorkers } from "../local/index.ts";
import { couldEverRun, Worker, type WorkerSpec } from "../placement/index.ts";
import { type FileNode, type GraphFile, readGraphFile } from "../protocol/index.ts";
import { DEFAULT_CONFIG, type Run, Status, stateHash } from "../scheduler/index.ts";
import { FileStore, headPath, StoreError, snapshotPath } from "../store/index.ts";
import { BUILT_IN } from "../worker/index.ts";
import { CliError, NotFoundError, UsageError } from "./errors.ts";
import type { RunOptions } from "./run.ts";
import { RunView } from "./run-view.ts";

/** How long a cancelled command may take before it is killed. */
const GRACE_MS = 5000;
const KEPT_RUNS = 100;

export interface RunResult {
  readonly exitCode: number;
  readonly ledger: string;
}

/** The whole of `orrery run`. */
export async function runFile(file: string, options: RunOptions): Promise<RunResult> {
  const graph = await loadGraph(file);
  const specs = graph.nodes.map((node) => node.spec);
  const workers = localWorkers(options.workers ?? availableParallelism(), specs);
  refuseImpossible(file, graph, workers);
  const ledger = options.ledger ?? join(".orrery", `${fileNameOf(graph.name)}.jsonl`);
  if (options.resume) noteNothingToResume(ledger);
  else await setAside(ledger);
  await using store = await openLedger(ledger);
  const view = new RunView(graph, options);
  const local = new LocalRun({
    graph,
    file,
    store,
    workers,
    config: {
      ...DEFAULT_CONFIG,
      strategy: options.strategy,
      seed: options.seed ?? 0,
      // A local worker has no queue: a task that waits in one could have run on the next worker that is free.
      maxQueuePerWorker: 0,
      backlogLimit: Number.MAX_SAFE_INTEGER,
      keepEndedRuns: KEPT_RUNS,
    },
    runId: (earlier) => newRunId(graph, options.seed, earlier),
    failFast: options.failFast,
    resume: options.resume,
    graceMs: GRACE_MS,
    observer: view,
  });
  view.watch(local);
  const signals = cancelOnSignals(local);
  try {
    const outcome = await local.run();
    const run = local.current as Run;
    view.end(outcome);
    report(options, {
      outcome,
      run,
      ledger,
      stateHash: stateHash(local.state as NonNullable<typeof local.state>),
      view,
    });
    return { exitCode: signals.exitCode() ?? (outcome === "completed" ? 0 : 1), ledger };
  } finally {
    signals.stop();
  }
}

async function loadGraph(file: string): Promise<GraphFile> {
  let source: Buffer;
  try {
    source = await readFile(file);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") throw new NotFoundError(`${file}: no such file`);
    throw new UsageError(
      `${file}: ${code === "EISDIR" ? "is a directory; name the graph file in it" : message}`,
    );
  }
  const result = readGraphFile(source, file);
  if (result.ok) return result.graph;
  throw new UsageError(
    result.problems.map(({ line, column, message }) => `${file}:${line}:${column}: ${message}`).join("\n"),
  );
}

/** What no worker here could ever run is said before anything is started. */
function refuseImpossible(file: string, graph: GraphFile, specs: readonly WorkerSpec[]): void {
  const workers = specs.map((spec, number) => new Worker(number, spec));
  const problems: string[] = [];
  for (const node of graph.nodes) {
    const problem = impossibility(node, workers);
    if (problem) problems.push(`${file}:${node.line}: node ${JSON.stringify(node.spec.id)}: ${problem}`);
  }
  if (problems.length > 0) throw new UsageError(problems.join("\n"));
}

function impossibility({ spec, work }: FileNode, workers: readonly Worker[]): string | undefined {
  if (work.kind === "task" && !Object.hasOwn(BUILT_IN, work.type)) {
    return `task type ${JSON.stringify(work.type)} is not known here; use ${Object.keys(BUILT_IN).join(" or ")}, or \`run\` with a command`;
  }
  const needs = { ...spec.task, zone: "local" };
  if (workers.some((worker) => couldEverRun(worker, needs))) return undefined;
  const { memoryBytes } = (workers[0] as Worker).spec;
  return `it needs ${spec.task.memoryBytes} bytes of memory and a worker here has ${memoryBytes}; lower resources.memory`;
}

function newRunId(graph: GraphFile, seed: number | undefined, earlier: number): string {
  if (seed === undefined) return randomUUID();
  const requests = graph.nodes.map(({ spec }) => [spec.id, spec.needs, spec.requestHash]);
  return derivedUuid(`orrery run\n${seed}\n${earlier}\n${canonicalJson([graph.name, requests])}`);
}

function fileNameOf(name: string): string {
  return name.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^\.+/, "") || "graph";
}

function noteNothingToResume(ledger: string): void {
  if (!existsSync(ledger))
    process.stderr.write(`orrery: there is no ledger ${ledger} yet: everything is run\n`);
}

/** An earlier ledger is kept, once. */
async function setAside(ledger: string): Promise<void> {
  if (!existsSync(ledger)) return;
  const kept = `${ledger}.prev`;
  await using _ = await openLedger(ledger).catch((error: unknown) => {
    // One that is damaged can be put aside like any other; one in use cannot.
    if (error instanceof CliError && error.exitCode === 2) throw error;
    return { async [Symbol.asyncDispose]() {} };
  });
  for (const path of [ledger, headPath(ledger), snapshotPath(ledger)]) {
    const to = path.replace(ledger, kept);
    if (existsSync(path)) await rename(path, to);
    else await rm(to, { force: true });
  }
}

async function openLedger(ledger: string): Promise<FileStore> {
  try {
    const store = await FileStore.open(ledger);
    if (store.droppedBytes > 0) {
      process.stderr.write(
        `orrery: ${ledger}: the last write was interrupted; dropped ${store.droppedBytes} bytes after event ${store.head.seq}\n`,
      );
    }
    return store;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const advice =
      error.code === "damaged"
        ? "\nSee `orrery verify`; run without --resume to begin anew (the file is kept as .prev)."
        : "";
    throw new CliError(`${error.message}${advice}`, error.code === "damaged" ? 1 : 2);
  }
}

interface Signals {
  exitCode(): number | undefined;
  stop(): void;
}

/** The first signal cancels, the second kills. */
function cancelOnSignals(local: LocalRun): Signals {
  let received: NodeJS.Signals | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (received) local.kill();
    else {
      process.stderr.write("orrery: stopping what runs; once more to kill it\n");
      local.cancel();
    }
    received ??= signal;
  };
  const onExit = (): void => local.kill();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, onSignal);
  process.on("exit", onExit);
  return {
    exitCode: () =>
      received === undefined ? undefined : received === "SIGINT" ? 130 : received === "SIGTERM" ? 143 : 129,
    stop: () => {
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.off(signal, onSignal);
      process.off("exit", onExit);
    },
  };
}

interface Ended {
  readonly outcome: RunOutcome | "held";
  readonly run: Run;
  readonly ledger: string;
  readonly stateHash: string;
  readonly view: RunView;
}

function report(options: RunOptions, { outcome, run, ledger, stateHash, view }: Ended): void {
  if (options.json) {
    const result = {
      runId: run.id,
      name: run.name,
      outcome,
      elapsedMs: view.elapsedMs,
      counts: {
        completed: run.count(Status.completed),
        failed: run.count(Status.failed),
        skipped: run.count(Status.skipped),
        cancelled: run.count(Status.cancelled),
        held: run.count(Status.held),
      },
      carried: run.carried.length,
      nodes: view.nodes(run),
      ledger,
      stateHash,
    };
    process.stdout.write(`${JSON.stringify(result)}\n`);
    return;
  }
  if (outcome === "held") {
    process.stdout.write(`${run.count(Status.held)} held nodes wait for a person; nothing else can run\n`);
  }
  if (!options.quiet) process.stdout.write(`ledger: ${relative(process.cwd(), ledger) || ledger}\n`);
}
