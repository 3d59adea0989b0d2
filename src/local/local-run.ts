import { dirname, resolve } from "node:path";
import { invariant, sha256Hex } from "../core/index.ts";
import { Driver, steadyClock } from "../driver/index.ts";
import { type NodeSpec, speculationTag, wireGraph } from "../graph/index.ts";
import type { LedgerEvent, Report, RunOutcome, SchedulerConfig, TaskAssigned } from "../ledger/index.ts";
import { NO_RUN, type TaskKey, taskKey, type WorkerSpec } from "../placement/index.ts";
import { type FileNode, type GraphFile, ownEnvironment, type Work } from "../protocol/index.ts";
import { type Run, type State, Status } from "../scheduler/index.ts";
import type { Store } from "../store/index.ts";
import { type RunningCommand, startWork } from "../worker/index.ts";
import { alreadyDone, lastRun } from "./resume.ts";
import { type Active, Tally } from "./tally.ts";

export interface LocalRunOptions {
  readonly graph: GraphFile;
  /** Where the graph file lies: commands run in its directory. */
  readonly file: string;
  readonly store: Store;
  readonly config: SchedulerConfig;
  readonly workers: readonly WorkerSpec[];
  /** The id of the run, given how many the ledger holds. */
  readonly runId: (earlierRuns: number) => string;
  readonly failFast: boolean;
  /** Skip what the last run of the same name in the ledger completed. */
  readonly resume: boolean;
  /** How long a cancelled command may take to end by itself. */
  readonly graceMs: number;
  readonly observer: Observer;
}

/** What a run tells while it runs. */
export interface Observer {
  /** The alternative of a node that the event is about, where it is about one. */
  event(event: LedgerEvent, run: Run, now: number, alternative?: LocalAlternative): void;
  output(node: string, stream: "stdout" | "stderr", text: string): void;
}

/** One of several ways in which a node is tried at once. */
export interface LocalAlternative {
  readonly node: number;
  readonly tag: string;
}

/** How much of the last line on stderr is recorded with a failure. */
const MAX_LAST_WORDS = 300;
/** When an attempt that still runs is recorded as started. */
const STARTED_AFTER_MS = 1000;

/** Runs one graph on this machine: the driver, its workers, and the processes that they start. */
export class LocalRun {
  readonly #options: LocalRunOptions;
  readonly #works = new Map<string, FileNode>();
  /** By the numbers of the tasks of no run. */
  readonly #alternatives = new Map<number, LocalAlternative>();
  readonly #commands = new Map<TaskKey, { readonly command: RunningCommand; readonly active: Active }>();
  readonly #tally = new Tally();
  readonly #clock = steadyClock();
  readonly #ended: Promise<RunOutcome | "held">;
  #resolve: (outcome: RunOutcome | "held") => void = () => {};
  #reject: (error: Error) => void = () => {};
  #driver: Driver | undefined;
  #run: Run | undefined;
  #cancelWanted = false;

  constructor(options: LocalRunOptions) {
    this.#options = options;
    for (const node of options.graph.nodes) this.#works.set(node.spec.id, node);
    this.#ended = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // It may fail before anybody waits for it; who does is told then.
    this.#ended.catch(() => {});
  }

  /** Resolves when the run has ended, or when nothing is left but what waits for a person. */
  async run(): Promise<RunOutcome | "held"> {
    const { store, config } = this.#options;
    await using driver = await Driver.open({
      store,
      config,
      clock: this.#clock,
      onCommitted: (events, now) => this.#onCommitted(events, now),
      onFailed: (error) => {
        this.kill();
        this.#reject(error);
      },
    });
    this.#driver = driver;
    await this.#begin(driver);
    return await this.#ended;
  }

  /** Asks everything to stop; the run ends when all of it has. One that is not submitted yet stops when it is. */
  cancel(): void {
    this.#cancelWanted = true;
    if (!this.#run || !this.#driver) return;
    this.#submitted(this.#driver.submit({ kind: "CancelRequested", run: this.#run.number, node: -1 }));
  }

  /** Ends all processes at once. */
  kill(): void {
    for (const { command } of this.#commands.values()) command.kill();
  }

  /** The run, once it is submitted. */
  get current(): Run | undefined {
    return this.#run;
  }

  get state(): State | undefined {
    return this.#driver?.state;
  }

  get active(): readonly Active[] {
    return [...this.#commands.values()].map(({ active }) => active);
  }

  remainingMs(): number | undefined {
    const slots = this.#options.workers.reduce((sum, worker) => sum + worker.slots, 0);
    return this.#tally.remainingMs(this.active, slots, this.#clock());
  }

  async #begin(driver: Driver): Promise<void> {
    const { graph, workers, resume, failFast, runId } = this.#options;
    const { state } = driver;
    const earlier = resume ? lastRun(state, graph.name) : undefined;
    const specs = graph.nodes.map((node) => this.#placedSpec(node));
    const done = earlier ? alreadyDone(specs, earlier) : new Set<string>();
    // What an earlier process left open can only be given up: its workers are gone with it.
    for (const worker of state.fleet.workers) {
      if (worker.status === "Unreachable") continue;
      this.#submitted(driver.submit({ kind: "WorkerLost", worker: worker.number, code: "restart" }));
    }
    for (const run of state.runs.values()) {
      if (run.outcome !== undefined) continue;
      this.#submitted(driver.submit({ kind: "CancelRequested", run: run.number, node: -1 }));
    }
    for (const worker of workers) this.#submitted(driver.submit({ kind: "WorkerRegistered", worker }));
    const reply = await driver.submit({
      kind: "RunSubmitted",
      runId: runId(state.nextRun),
      name: graph.name,
      agent: "local",
      zone: "local",
      onFailure: failFast ? "cancel" : "continue",
      graph: wireGraph(specs.map((spec) => ({ ...spec, done: done.has(spec.id) }))),
    });
    invariant(reply.accepted, "a local run is accepted");
  }

  /** What a node does depends on where it runs: the same file elsewhere is other work. */
  #placedSpec({ spec, work }: FileNode): NodeSpec {
    return { ...spec, requestHash: sha256Hex(JSON.stringify([spec.requestHash, this.#directoryOf(work)])) };
  }

  #directoryOf(work: Work): string {
    return resolve(dirname(this.#options.file), (work.kind === "command" && work.cwd) || ".");
  }

  #onCommitted(events: readonly LedgerEvent[], now: number): void {
    for (const event of events) {
      if (event.kind === "RunSubmitted") {
        this.#run = this.#driver?.state.runById(event.runId);
        invariant(this.#run, "a submitted run is in the state");
        this.#tally.begin(this.#run);
        if (this.#cancelWanted) this.cancel();
      }
      if (!this.#run) continue;
      const alternative = this.#alternativeOf(event);
      if (!alternative && "run" in event && event.run !== this.#run.number) continue;
      this.#tally.note(this.#run, event, now);
      this.#takeEffect(this.#run, event, alternative);
      this.#options.observer.event(event, this.#run, now, alternative);
    }
    if (this.#run && isStuck(this.#run)) this.#resolve("held");
  }

  #alternativeOf(event: LedgerEvent): LocalAlternative | undefined {
    if (!("run" in event && "node" in event) || event.run !== NO_RUN) return undefined;
    return this.#alternatives.get(event.node);
  }

  #takeEffect(run: Run, event: LedgerEvent, alternative: LocalAlternative | undefined): void {
    if (event.kind === "TaskAssigned") this.#start(run, event, alternative);
    else if (event.kind === "CancelSignalled")
      this.#commands.get(taskKey(event.run, event.node))?.command.cancel();
    else if (event.kind === "TaskSpeculated") {
      for (let at = 0; at < event.count; at++)
        this.#alternatives.set(event.first + at, { node: event.node, tag: speculationTag(at) });
    } else if (event.kind === "RunEnded") this.#end(event.outcome);
  }

  /** What was cancelled because its result is no longer needed may still be ending. */
  #end(outcome: RunOutcome): void {
    const ending = Array.from(this.#commands.values(), ({ command }) => command.done);
    if (ending.length === 0) this.#resolve(outcome);
    else void Promise.all(ending).then(() => this.#resolve(outcome));
  }

  #start(run: Run, assigned: TaskAssigned, alternative: LocalAlternative | undefined): void {
    const { graceMs, observer } = this.#options;
    const { attempt, worker: workerNumber } = assigned;
    const node = alternative?.node ?? assigned.node;
    const id = run.graph.idOf(node);
    const label = alternative ? `${id} ${alternative.tag}` : id;
    const { work } = this.#works.get(id) as FileNode;
    const task = run.graph.taskOf(node);
    const worker = (this.#driver as Driver).state.worker(workerNumber).id;
    const env = {
      ...ownEnvironment(process.env),
      ...(work.kind === "command" ? work.env : {}),
      ...taskEnv(run.id, id, attempt, worker),
      ...(alternative && { ORRERY_ALTERNATIVE: alternative.tag }),
    };
    const startedAt = this.#clock();
    let lastWords = "";
    const command = startWork(work, {
      cwd: this.#directoryOf(work),
      env,
      timeoutMs: task.timeoutMs,
      graceMs,
      onOutput: (stream, text) => {
        if (stream === "stderr") lastWords = text.trim().split("\n").at(-1) || lastWords;
        observer.output(label, stream, text);
      },
    });
    const holdsUpMs = run.graph.holdsUpMs[node] as number;
    const active: Active = {
      node: label,
      worker,
      attempt,
      startedAt,
      estimateMs: task.estimateMs,
      holdsUpMs,
    };
    const key = taskKey(assigned.run, assigned.node);
    this.#commands.set(key, { command, active });
    const of = { run: assigned.run, node: assigned.node, attempt, startedAt };
    const started = setTimeout(() => this.#report({ kind: "AttemptStarted", ...of }), STARTED_AFTER_MS);
    void command.done.then((outcome) => {
      clearTimeout(started);
      this.#commands.delete(key);
      this.#report(reportOf(outcome, of, lastWords));
    });
  }

  #report(report: Report): void {
    if (this.#driver) this.#submitted(this.#driver.submit(report));
  }

  /** What cannot be committed fails the run through `onFailed`; the single answer says no more than that. */
  #submitted(reply: Promise<unknown>): void {
    reply.catch(() => {});
  }
}

type Outcome = Awaited<RunningCommand["done"]>;

function reportOf(
  outcome: Outcome,
  of: { run: number; node: number; attempt: number; startedAt: number },
  lastWords: string,
): Report {
  switch (outcome.type) {
    case "finished":
      return {
        kind: "AttemptFinished",
        ...of,
        resultHash: outcome.resultHash,
        resultBytes: outcome.resultBytes,
      };
    case "failed": {
      const said = lastWords === "" ? "" : `: ${lastWords.slice(0, MAX_LAST_WORDS)}`;
      return { kind: "AttemptFailed", ...of, code: outcome.code, message: `${outcome.message}${said}` };
    }
    case "timed-out":
      return { kind: "AttemptTimedOut", ...of };
    case "cancelled":
      return { kind: "AttemptCancelled", ...of };
  }
}

function taskEnv(runId: string, node: string, attempt: number, worker: string): Record<string, string> {
  return {
    ORRERY_RUN_ID: runId,
    ORRERY_NODE_ID: node,
    ORRERY_ATTEMPT: String(attempt),
    ORRERY_WORKER_ID: worker,
  };
}

/** Only held nodes are left, and what hangs on them. */
function isStuck(run: Run): boolean {
  if (run.outcome !== undefined || run.count(Status.held) === 0) return false;
  const { ready, delayed, assigned, running, cancelling, speculating } = Status;
  const moving = [ready, delayed, assigned, running, cancelling, speculating];
  return moving.every((status) => run.count(status) === 0);
}
