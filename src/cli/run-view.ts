import { speculationTag } from "../graph/index.ts";
import type { LedgerEvent, RunOutcome } from "../ledger/index.ts";
import type { LocalAlternative, LocalRun, Observer } from "../local/index.ts";
import type { GraphFile } from "../protocol/index.ts";
import { type Run, STATUS_NAMES, Status } from "../scheduler/index.ts";
import { describeNoWinner, SPECULATION_WORDS } from "../words/index.ts";
import { createProgress, type Progress, type ProgressLine, type ProgressView } from "./progress.ts";
import { formatSpan } from "./progress-line.ts";
import { wantsColor } from "./terminal-text.ts";

/** Where a node stands, for the JSON result. */
export interface NodeResult {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  /** Done in an earlier run, and not run again. */
  readonly carried: boolean;
  readonly worker: string | null;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly error: string | null;
}

/** Of one alternative of a node: how it failed last, unless it did not. */
interface Tries {
  attempts: number;
  error: string | undefined;
}

/** Turns what happens in a run into the lines and the live block that its user sees. */
export class RunView implements Observer {
  readonly #progress: Progress;
  readonly #total: number;
  readonly #name: string;
  readonly #began = Date.now();
  readonly #startedAt = new Map<number, number>();
  readonly #endedAt = new Map<number, number>();
  readonly #errors = new Map<number, string>();
  /** By node, then tag. */
  readonly #tries = new Map<number, Map<string, Tries>>();
  #toldAt = 0;
  readonly #ends = new Map<number, LedgerEvent & { readonly attempt: number }>();
  #local: LocalRun | undefined;

  constructor(graph: GraphFile, options: { readonly quiet: boolean }) {
    this.#total = graph.nodes.length;
    this.#name = graph.name;
    const { stderr, env } = process;
    this.#progress = createProgress(stderr, {
      color: wantsColor(stderr),
      interactive: stderr.isTTY === true && env["TERM"] !== "dumb" && !env["CI"],
      columns: 80,
      rows: 24,
      quiet: options.quiet,
    });
  }

  get elapsedMs(): number {
    return Date.now() - this.#began;
  }

  watch(local: LocalRun): void {
    this.#local = local;
  }

  event(event: LedgerEvent, run: Run, now: number, alternative?: LocalAlternative): void {
    if (alternative) this.#noteAlternative(event, alternative);
    else this.#note(event, now);
    const lines = alternative
      ? alternativeLines(event, run, now, alternative)
      : this.#linesOf(event, run, now);
    for (const line of lines) this.#say(line);
    this.#progress.update(this.#view());
  }

  note(text: string): void {
    this.#progress.note(`orrery: ${text}`);
  }

  output(node: string, _stream: "stdout" | "stderr", text: string): void {
    this.#say({ type: "output", node, detail: text, atMs: Date.now() });
  }

  /** An event is told once it is committed, and what was printed meanwhile is told before: no time goes back. */
  #say(line: ProgressLine): void {
    this.#toldAt = Math.max(this.#toldAt, line.atMs);
    this.#progress.line({ ...line, atMs: this.#toldAt });
  }

  end(outcome: RunOutcome | "held"): void {
    this.#progress.end(this.#view(), outcome);
  }

  nodes(run: Run): NodeResult[] {
    const workers = this.#local?.state?.fleet.workers;
    return Array.from({ length: run.graph.size }, (_, node) => ({
      id: run.graph.idOf(node),
      status: STATUS_NAMES[run.statusOf(node)] as string,
      attempts: this.#attemptsOf(run, node),
      carried: run.carried.includes(node),
      worker: workers?.[run.worker[node] as number]?.id ?? null,
      startedAt: this.#startedAt.get(node) ?? null,
      endedAt: this.#endedAt.get(node) ?? null,
      error: this.#errors.get(node) ?? null,
    }));
  }

  #note(event: LedgerEvent, now: number): void {
    if (event.kind === "TaskSpeculated") this.#startedAt.set(event.node, now);
    if (event.kind === "VoteTaken") {
      this.#endedAt.set(event.node, now);
      const failures = this.#triesOf(event.node).map(({ error }) => error);
      if (event.winner === -1) this.#errors.set(event.node, describeNoWinner(failures));
    }
    if (!("node" in event) || !("startedAt" in event)) return;
    this.#startedAt.set(event.node, event.startedAt);
    if (event.kind === "AttemptStarted") return;
    this.#endedAt.set(event.node, now);
    if (event.kind === "AttemptFailed") this.#errors.set(event.node, event.message);
    else if (event.kind === "AttemptTimedOut") this.#errors.set(event.node, "timed out");
    else this.#errors.delete(event.node);
  }

  /** Of all alternatives, where there are some. */
  #attemptsOf(run: Run, node: number): number {
    const tries = this.#triesOf(node);
    if (tries.length === 0) return run.attempt[node] as number;
    return tries.reduce((sum, { attempts }) => sum + attempts, 0);
  }

  #triesOf(node: number): Tries[] {
    return [...(this.#tries.get(node)?.values() ?? [])];
  }

  #noteAlternative(event: LedgerEvent, { node, tag }: LocalAlternative): void {
    const tries = this.#tries.get(node) ?? new Map<string, Tries>();
    const one = tries.get(tag) ?? { attempts: 0, error: undefined };
    this.#tries.set(node, tries.set(tag, one));
    if (event.kind === "TaskAssigned") one.attempts++;
    else if (event.kind === "AttemptFailed") one.error = event.message;
    else if (event.kind === "AttemptTimedOut") one.error = "timed out";
    else if (event.kind === "AttemptFinished") one.error = undefined;
  }

  #linesOf(event: LedgerEvent, run: Run, now: number): ProgressLine[] {
    const line = (type: ProgressLine["type"], node: number, detail: string): ProgressLine[] => [
      { type, node: run.graph.idOf(node), detail, atMs: now },
    ];
    switch (event.kind) {
      case "RunSubmitted":
        this.#sayCarried(run);
        return [];
      case "TaskAssigned": {
        const worker = this.#local?.state?.worker(event.worker).id;
        return line(
          "started",
          event.node,
          `on ${worker}${event.attempt > 1 ? ` (attempt ${event.attempt})` : ""}`,
        );
      }
      case "TaskSpeculated": {
        const why = SPECULATION_WORDS[event.because];
        return line("started", event.node, `in ${event.count} alternatives (${why})`);
      }
      case "VoteTaken": {
        if (event.winner === -1) return [];
        const tag = speculationTag(event.winner);
        return line("finished", event.node, `with the result of ${tag}, by ${event.by}`);
      }
      case "AttemptFinished":
        return line("finished", event.node, `in ${formatSpan(now - event.startedAt)}`);
      case "AttemptFailed":
      case "AttemptTimedOut":
        this.#ends.set(event.node, event);
        return [];
      case "TaskRetried": {
        const { maxAttempts } = run.graph.taskOf(event.node);
        const attempt = this.#ends.get(event.node)?.attempt;
        const why = `attempt ${attempt} of ${maxAttempts}: ${this.#errors.get(event.node)}`;
        return line("retrying", event.node, `in ${formatSpan(event.dueAt - now)} (${why})`);
      }
      case "TaskFailed": {
        const timedOut = this.#ends.get(event.node)?.kind === "AttemptTimedOut";
        const limit = formatSpan(run.graph.taskOf(event.node).timeoutMs);
        if (timedOut) return line("timed-out", event.node, `after ${limit}`);
        return line("failed", event.node, this.#errors.get(event.node) ?? "");
      }
      case "TaskCancelled":
        return line("cancelled", event.node, "");
      case "TasksSkipped":
        return event.nodes.flatMap((node) =>
          line("skipped", node, `because ${run.graph.idOf(event.node)} did not complete`),
        );
      default:
        return [];
    }
  }

  #sayCarried(run: Run): void {
    const { length } = run.carried;
    if (length > 0) this.note(`${length} of ${run.graph.size} nodes are done already and are not run again`);
  }

  #view(): ProgressView {
    const run = this.#local?.current;
    const count = (...of: Status[]): number =>
      of.reduce<number>((sum, status) => sum + (run?.count(status) ?? 0), 0);
    return {
      name: this.#name,
      total: this.#total,
      completed: count(Status.completed),
      failed: count(Status.failed),
      skipped: count(Status.skipped),
      cancelled: count(Status.cancelled),
      waiting: count(Status.waiting, Status.held),
      ready: count(Status.ready, Status.delayed),
      running: (this.#local?.active ?? []).map((active) => ({
        id: active.node,
        worker: active.worker,
        attempt: active.attempt,
        startedAtMs: active.startedAt - this.#began,
        estimateMs: active.estimateMs,
      })),
      elapsedMs: this.elapsedMs,
      remainingMs: this.#local?.remainingMs(),
      cancelling: run?.cancelRequested ?? false,
    };
  }
}

/** Its end is not that of the node, so that it is told in fewer words. */
function alternativeLines(
  event: LedgerEvent,
  run: Run,
  now: number,
  { node, tag }: LocalAlternative,
): ProgressLine[] {
  const line = (type: ProgressLine["type"], detail: string): ProgressLine[] => [
    { type, node: `${run.graph.idOf(node)} ${tag}`, detail, atMs: now },
  ];
  switch (event.kind) {
    case "AttemptFinished":
      return line("finished", `in ${formatSpan(now - event.startedAt)}`);
    case "AttemptFailed":
      return line("failed", event.message);
    case "AttemptTimedOut":
      return line("timed-out", `after ${formatSpan(run.graph.taskOf(node).timeoutMs)}`);
    case "TaskRetried":
      return line("retrying", `in ${formatSpan(event.dueAt - now)}`);
    case "TaskCancelled":
      return line("cancelled", "");
    default:
      return [];
  }
}
