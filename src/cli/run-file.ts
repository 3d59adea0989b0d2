import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { join, relative } from "node:path";
import type { Settings } from "../config/index.ts";
import { canonicalJson, derivedUuid, sha256Hex } from "../core/index.ts";
import type { RunOutcome } from "../ledger/index.ts";
import { LocalRun, localWorkers, thisMachine } from "../local/index.ts";
import { couldEverRun, Worker, type WorkerSpec } from "../placement/index.ts";
import type { FileNode, GraphFile } from "../protocol/index.ts";
import { DEFAULT_CONFIG, type Run, Status, stateHash } from "../scheduler/index.ts";
import { FileStore, headPath, StoreError, snapshotPath } from "../store/index.ts";
import { formatBytes, formatCores } from "../words/index.ts";
import { BUILT_IN } from "../worker/index.ts";
import { CheckFailed, UsageError } from "./errors.ts";
import { readGraphText } from "./graph-text.ts";
import type { RunOptions } from "./run.ts";
import { RunView } from "./run-view.ts";
import { budgetsOf } from "./settings.ts";
import { echoDetector } from "./signal-echo.ts";
import { neutralise } from "./terminal-text.ts";

/** How long a cancelled command may take before it is killed. */
const GRACE_MS = 5000;
const KEPT_RUNS = 100;

export interface RunResult {
  readonly exitCode: number;
  readonly ledger: string;
}

/** The whole of `orrery run`. */
export async function runFile(file: string, options: RunOptions, settings: Settings): Promise<RunResult> {
  const { strategy, preferLocality, reserveAfterMs } = settings.placement;
  const { graph } = await readGraphText(file);
  const specs = graph.nodes.map((node) => node.spec);
  const workers = localWorkers(thisMachine(), settings.run.workers, specs);
  const budgets = budgetsOf(settings);
  refuseImpossible(file, graph, workers, budgets.resources);
  const ledger = options.ledger ?? join(".orrery", `${fileNameOf(graph.name)}.jsonl`);
  if (!options.resume) await setAside(ledger);
  else if (!existsSync(ledger)) say(`there is no ledger ${ledger} yet: everything is run`);
  await using store = await openLedger(ledger);
  const view = new RunView(graph, options);
  const local = new LocalRun({
    graph,
    file,
    store,
    workers,
    config: {
      ...DEFAULT_CONFIG,
      strategy,
      preferLocality,
      reserveAfterMs,
      ...budgets,
      maxBackoffMs: settings.queue.maxBackoffMs,
      seed: options.seed ?? 0,
      // A local worker has no queue: a task that waits in one could have run on the next worker that is free.
      maxQueuePerWorker: 0,
      backlogLimit: Number.MAX_SAFE_INTEGER,
      keepEndedRuns: KEPT_RUNS,
    },
    runId: (earlier) => newRunId(graph, options.seed, earlier),
    failFast: settings.run.failFast,
    resume: options.resume,
    graceMs: GRACE_MS,
    observer: view,
  });
  view.watch(local);
  const signals = cancelOnSignals(local, view);
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
    if (!(await store.isWhole()))
      throw new CheckFailed(`${ledger} was changed or removed while it was written`);
    return { exitCode: signals.exitCode() ?? (outcome === "completed" ? 0 : 1), ledger };
  } finally {
    signals.stop();
  }
}

/** What no worker here could ever run is said before anything is started. */
function refuseImpossible(
  file: string,
  graph: GraphFile,
  specs: readonly WorkerSpec[],
  resources: Readonly<Record<string, number>>,
): void {
  const workers = specs.map((spec, number) => new Worker(number, spec));
  const problems: string[] = [];
  for (const node of graph.nodes) {
    const problem = impossibility(node, workers) ?? exceeded(node, resources);
    if (problem) problems.push(`${file}:${node.line}: node ${JSON.stringify(node.spec.id)}: ${problem}`);
  }
  if (problems.length > 0) throw new UsageError(problems.join("\n"));
}

function impossibility({ spec, work }: FileNode, workers: readonly Worker[]): string | undefined {
  if (work.kind === "task" && !Object.hasOwn(BUILT_IN, work.type)) {
    return `task type ${JSON.stringify(work.type)} is not known here; name its file with --tasks, use ${Object.keys(BUILT_IN).join(" or ")}, or \`run\` with a command`;
  }
  if (spec.inputs || spec.keep)
    return "results go from node to node only with --tasks FILE, or on a server with --server URL";
  const { task } = spec;
  if (workers.some((worker) => couldEverRun(worker, { ...task, zone: "local" }))) return undefined;
  const { cpuMillicores, memoryBytes } = (workers[0] as Worker).spec;
  const [needed, has, field] =
    task.cpuMillicores > cpuMillicores
      ? [formatCores(task.cpuMillicores), `${formatCores(cpuMillicores)} cores`, "resources.cpu"]
      : [formatBytes(task.memoryBytes), `${formatBytes(memoryBytes)} of memory`, "resources.memory"];
  const share = workers.length === 1 ? "this machine has" : `each of ${workers.length} workers has`;
  const fix = workers.length === 1 ? `lower ${field}` : `lower ${field}, or --workers`;
  return `it needs ${needed} and ${share} ${has}; ${fix}`;
}

function exceeded({ spec }: FileNode, resources: Readonly<Record<string, number>>): string | undefined {
  const { limits, amounts } = spec.task;
  for (const [at, name] of limits.entries()) {
    const needed = amounts[at] ?? 1;
    const most = Object.hasOwn(resources, name) ? resources[name] : undefined;
    if (most === undefined || needed <= most) continue;
    const setting = name === "tokens" ? "scheduling.max_concurrent_tokens" : `resources.${name}`;
    return `it needs ${needed} of ${name} and there are ${most}; lower it, or raise ${setting} in orrery.yaml`;
  }
  return undefined;
}

function newRunId(graph: GraphFile, seed: number | undefined, earlier: number): string {
  if (seed === undefined) return randomUUID();
  const requests = graph.nodes.map(({ spec }) => [spec.id, spec.needs, spec.requestHash]);
  return derivedUuid(`orrery run\n${seed}\n${earlier}\n${canonicalJson([graph.name, requests])}`);
}

function fileNameOf(name: string): string {
  const safe = name
    .replace(/[^\p{L}\p{N}._-]+/gu, "-")
    .replace(/^\.+/, "")
    .slice(0, 60);
  return safe === name ? safe : `${safe}-${sha256Hex(name).slice(0, 8)}`;
}

function say(text: string): void {
  process.stderr.write(`orrery: ${text}\n`);
}

/** An earlier ledger is never written over: it keeps its name with the next free number. */
async function setAside(ledger: string): Promise<void> {
  if (!existsSync(ledger)) return;
  let number = 1;
  while (existsSync(`${ledger}.${number}`)) number++;
  const kept = `${ledger}.${number}`;
  await using _ = await openLedger(ledger).catch((error: unknown) => {
    // One that is damaged can be put aside like any other.
    if (!(error instanceof CheckFailed)) throw error;
    return { async [Symbol.asyncDispose]() {} };
  });
  // The ledger last: one without a head can be read, a head without a ledger says that it was cut.
  for (const path of [headPath(ledger), snapshotPath(ledger), ledger]) {
    if (existsSync(path)) await rename(path, `${kept}${path.slice(ledger.length)}`);
  }
  say(`the earlier ledger is kept as ${kept}; --resume would have gone on with it`);
}

async function openLedger(ledger: string): Promise<FileStore> {
  try {
    const store = await FileStore.open(ledger);
    if (store.droppedBytes > 0) {
      const dropped = `dropped ${store.droppedBytes} bytes after event ${store.head.seq}`;
      say(`${ledger}: the last write was interrupted; ${dropped}`);
    }
    return store;
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "damaged") throw error;
    const advice = "See `orrery verify`; run without --resume to begin anew (the file is kept).";
    throw new CheckFailed(`${error.message}\n${advice}`);
  }
}

interface Signals {
  exitCode(): number | undefined;
  stop(): void;
}

/** The first signal cancels, the second kills. */
function cancelOnSignals(local: LocalRun, view: RunView): Signals {
  let received: NodeJS.Signals | undefined;
  const isEcho = echoDetector();
  const onSignal = (signal: NodeJS.Signals): void => {
    if (isEcho(signal)) return;
    if (received) local.kill();
    else {
      view.note("stopping what runs; once more to kill it");
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
        waiting: run.count(Status.waiting),
      },
      carried: run.carried.length,
      nodes: view.nodes(run),
      ledger,
      stateHash,
    };
    process.stdout.write(`${JSON.stringify(result)}\n`);
    return;
  }
  const nodes = view.nodes(run);
  for (const { id, status, error } of nodes) {
    if (status === "failed") process.stdout.write(`failed: ${neutralise(id)}: ${neutralise(error ?? "")}\n`);
    if (status === "held")
      process.stdout.write(`held: ${neutralise(id)}: take \`hold\` out of the file and --resume\n`);
  }
  if (!options.quiet) process.stdout.write(`ledger: ${relative(process.cwd(), ledger) || ledger}\n`);
}
