import type { OrreryClient, RunAnswer, ServiceEvent, TaskSummary } from "../client/index.ts";
import { alternativeIdOf } from "../core/index.ts";
import { speculationTag } from "../graph/index.ts";
import { lightText, readGraphText } from "./graph-text.ts";
import { printLines } from "./output.ts";
import { RemoteOutput } from "./remote-output.ts";
import { RemoteView } from "./remote-view.ts";
import type { RemoteRunOptions } from "./run.ts";
import { atService } from "./service.ts";
import { printSafeJson, safeJson, shown, statusOf } from "./service-text.ts";
import { echoDetector } from "./signal-echo.ts";

/** How long nothing may run before it is asked why. */
const STALL_MS = 3000;
/** No setting allows more. */
const MOST_ALTERNATIVES = 10;
const ATTEMPT_ENDS: ReadonlySet<string> = new Set(["AttemptFinished", "AttemptFailed", "AttemptTimedOut"]);
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const SIGNAL_EXIT: Readonly<Record<string, number>> = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

/** A result as it is told when the run has ended. */
export interface KeptResult {
  readonly node: string;
  readonly json: object;
  readonly line: string;
}

type Collect = (
  client: OrreryClient,
  run: string,
  nodes: readonly string[],
) => Promise<readonly KeptResult[]>;

/** The whole of `orrery run FILE --server URL`; resolves to its exit code. */
export async function runRemotely(
  file: string,
  options: RemoteRunOptions,
  collect: Collect = hints,
): Promise<number> {
  const { text, graph } = await readGraphText(file);
  return await atService(options, async (client) => {
    const { id } = await client.submitRun(lightText(text), {
      name: graph.name,
      fail_fast: options.failFast ?? false,
    });
    if (options.detach) {
      await printLines([options.json ? safeJson({ runId: id }) : shown(id)]);
      return 0;
    }
    const view = new RemoteView(id, graph, options);
    const following = new Following(client, id, view, options);
    const run = await following.untilEnded();
    if (!run) {
      process.stderr.write(`orrery: the run is left alone; see it with: orrery runs ${id}\n`);
      return following.exitCode ?? 1;
    }
    const order = new Map(graph.nodes.map(({ spec }, at) => [spec.id, at]));
    const place = ({ node }: TaskSummary): number => order.get(node ?? "") ?? 0;
    const tasks = await tasksOf(client, id);
    const nodes = tasks
      .filter(({ node }) => order.has(node ?? ""))
      .sort((a, b) => place(a) - place(b))
      .map((node) => withAlternatives(node, tasks));
    const kept = new Set(graph.nodes.flatMap(({ spec }) => (spec.keep ? [spec.id] : [])));
    const made = nodes.flatMap(({ node, status }) =>
      node !== null && kept.has(node) && status === "completed" ? [node] : [],
    );
    await report(run, nodes, view, options, await collect(client, id, made));
    return following.exitCode ?? (run.status === "completed" ? 0 : 1);
  });
}

async function hints(_: OrreryClient, run: string, nodes: readonly string[]): Promise<readonly KeptResult[]> {
  return nodes.map((node) => ({
    node,
    json: {},
    line: `result of ${shown(node)}: orrery result ${shown(run)} ${shown(node)}`,
  }));
}

/** Follows a run and the signals of its user: the first cancels the run, the second leaves it alone. */
class Following {
  exitCode: number | undefined;
  readonly #client: OrreryClient;
  readonly #id: string;
  readonly #view: RemoteView;
  readonly #left = new AbortController();
  /** Undefined: nobody wants to see it. */
  readonly #output: RemoteOutput | undefined;
  readonly #isEcho = echoDetector();
  #stalledFor = 0;
  #toldReason = "";

  constructor(client: OrreryClient, id: string, view: RemoteView, { quiet }: { readonly quiet: boolean }) {
    this.#client = client;
    this.#id = id;
    this.#view = view;
    this.#output = quiet ? undefined : new RemoteOutput(client, view, this.#left.signal);
  }

  /** The run, once it has ended; undefined if it was left before. */
  async untilEnded(): Promise<RunAnswer | undefined> {
    for (const signal of SIGNALS) process.on(signal, this.#onSignal);
    const watch = setInterval(() => void this.#watchStall(), STALL_MS / 3);
    try {
      const { signal } = this.#left;
      let isFirst = true;
      for await (const told of this.#client.runEvents(this.#id, { from: "start", signal })) {
        // What was missed is in the tasks. Of what happened before the connection was made the events tell more.
        // A run that has ended by then is told without its events.
        const isTold =
          told.type === "run" ? isFirst && told.run.status === "running" : told.event.kind !== "EventsMissed";
        if (!isTold) this.#view.tasks(await tasksOf(this.#client, this.#id, signal));
        isFirst = false;
        if (told.type === "event") this.#event(told.event);
        else if (told.run.status !== "running") return await this.#ended(told.run);
      }
      return await this.#ended(await this.#client.run(this.#id));
    } catch (error) {
      this.#view.end("cancelled");
      if (this.#left.signal.aborted) return undefined;
      throw error;
    } finally {
      clearInterval(watch);
      for (const signal of SIGNALS) process.off(signal, this.#onSignal);
    }
  }

  #event(event: ServiceEvent): void {
    this.#view.event(event);
    if (ATTEMPT_ENDS.has(event.kind) && event.task_id !== null && this.#view.has(event.task_id))
      this.#output?.attemptEnded(event.task_id, Number(event.data["attempt"]));
  }

  async #ended(run: RunAnswer): Promise<RunAnswer> {
    this.#view.stopClock();
    await this.#output?.settled();
    this.#view.end(run.status === "running" ? "held" : run.status);
    return run;
  }

  readonly #onSignal = (signal: NodeJS.Signals): void => {
    if (this.#isEcho(signal)) return;
    if (this.exitCode !== undefined) {
      this.#left.abort();
      return;
    }
    this.exitCode = SIGNAL_EXIT[signal] ?? 1;
    this.#view.note("cancelling the run; once more to leave it alone");
    this.#client.cancelRun(this.#id, { signal: this.#left.signal }).catch((error: unknown) => {
      if (!this.#left.signal.aborted)
        this.#view.note(`it was not cancelled: ${shown((error as Error).message)}`);
    });
  };

  /** A run that stands still is asked about, so that nobody has to guess. */
  async #watchStall(): Promise<void> {
    const { stalled } = this.#view;
    this.#stalledFor = stalled === undefined ? 0 : this.#stalledFor + 1;
    if (stalled === undefined || this.#stalledFor !== 3) return;
    const why = await this.#client.why(stalled, { signal: this.#left.signal }).catch(() => undefined);
    const reason = why?.waiting[0]?.text ?? "";
    if (reason !== "" && reason !== this.#toldReason) this.#view.note(`nothing runs: ${shown(reason)}`);
    this.#toldReason = reason;
  }
}

async function tasksOf(client: OrreryClient, run: string, signal?: AbortSignal): Promise<TaskSummary[]> {
  const tasks: TaskSummary[] = [];
  for await (const task of client.tasks({ run }, { pageSize: 1000, signal })) tasks.push(task);
  return tasks;
}

/** A node that was tried in several ways has had the attempts of all. */
function withAlternatives(node: TaskSummary, all: readonly TaskSummary[]): TaskSummary {
  const ids = new Set(
    Array.from({ length: MOST_ALTERNATIVES }, (_, at) => alternativeIdOf(node.id, speculationTag(at))),
  );
  const tried = all.filter(({ id }) => ids.has(id));
  if (tried.length === 0) return node;
  return { ...node, attempt: tried.reduce((sum, task) => sum + task.attempt, 0) };
}

/** As of a local run. */
async function report(
  run: RunAnswer,
  tasks: readonly TaskSummary[],
  view: RemoteView,
  { json, quiet }: RemoteRunOptions,
  results: readonly KeptResult[],
): Promise<void> {
  if (json) {
    const { id, name, status, counts } = run;
    const nodes = tasks.map(nodeResult);
    return await printSafeJson({
      runId: id,
      name,
      outcome: status,
      elapsedMs: view.elapsedMs,
      counts,
      nodes,
      ...(results.length > 0 && { results: results.map(({ node, json }) => ({ node, ...json })) }),
    });
  }
  const lines = tasks
    .filter(({ status }) => status === "failed")
    .map(
      ({ id, node, error_message }) => `failed: ${shown(node)}: ${shown(error_message)} (task ${shown(id)})`,
    );
  if (!quiet) lines.push(`run: ${shown(run.id)}`);
  lines.push(...results.map(({ line }) => line));
  if (lines.length > 0) await printLines(lines);
}

function nodeResult(task: TaskSummary) {
  return {
    id: task.node,
    taskId: task.id,
    status: statusOf(task),
    attempts: task.attempt,
    worker: task.worker_id,
    startedAt: timeOf(task.started_at),
    endedAt: timeOf(task.completed_at),
    error: task.error_message,
  };
}

function timeOf(text: string | null): number | null {
  return text === null ? null : Date.parse(text);
}
