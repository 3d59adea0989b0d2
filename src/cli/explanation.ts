/**
 * Answers why a node ran where it did, or why it does not run yet, by replaying to that moment.
 *
 * The table of candidates needs the state just before the assignment, so it is taken while the ledger is
 * replayed, for every assignment of the node; the last one is kept.
 */

import { type SpeculationCause, speculationTag } from "../graph/index.ts";
import type { Block, LedgerEvent, TaskFailed, TaskRecalled, VoteTaken } from "../ledger/index.ts";
import { closest } from "../protocol/index.ts";
import { apply, eventsOf, State, type StatusName, type WaitReason } from "../scheduler/index.ts";
import type { AttemptOutcome } from "../words/index.ts";
import type { Assignment } from "./assignment.ts";
import type { CancelCause, Failure } from "./causes.ts";
import { NotFoundError, UsageError } from "./errors.ts";
import { replaying, soundBlocks } from "./ledger-reading.ts";
import { neutralise } from "./terminal-text.ts";
import { Watch } from "./watch.ts";

export interface Explanation {
  readonly run: { readonly id: string; readonly name: string; readonly submittedAt: number };
  readonly node: string;
  /** The event that the question is about: it was asked of the moment after it. */
  readonly seq: number;
  readonly now: number;
  readonly status: StatusName;
  /** Completed in an earlier run and taken over. */
  readonly carried: boolean;
  /** Why not yet, the primary reason first; empty for a node that does not wait. */
  readonly waiting: readonly WaitReason[];
  /** Why here; null for a node that was never assigned. */
  readonly assignment: Assignment | null;
  readonly earlierAttempts: readonly EarlierAttempt[];
  /** What happened to the node since it was assigned, or ever if it never was. */
  readonly aftermath: readonly Happening[];
}

export interface EarlierAttempt {
  readonly seq: number;
  readonly attempt: number;
  readonly worker: string;
  readonly outcome: AttemptOutcome;
  readonly error: Failure["error"];
}

/** Something that happened to the node, or that was decided about it. */
export type Happening = { readonly seq: number; readonly at: number } & (
  | { readonly type: "started" }
  | { readonly type: "ended"; readonly outcome: AttemptOutcome; readonly error: Failure["error"] }
  | { readonly type: "retried"; readonly dueAt: number }
  | { readonly type: "reserved"; readonly worker: string }
  | { readonly type: "room-reserved" }
  | ({ readonly type: "recalled"; readonly idle: string } & Pick<
      TaskRecalled,
      "waitMicros" | "queueMicros" | "moveMicros"
    >)
  | { readonly type: "cancel-signalled" | "cancel-requested" }
  | { readonly type: "speculated"; readonly alternatives: number; readonly because: SpeculationCause }
  | {
      readonly type: "voted";
      readonly winner: string | null;
      readonly by: VoteTaken["by"];
      readonly totals: readonly (number | null)[];
    }
  /** `error`: why none of several alternatives was taken. */
  | { readonly type: "failed"; readonly code: TaskFailed["code"]; readonly error: string | null }
  | { readonly type: "cancelled"; readonly because: CancelCause }
  | {
      readonly type: "skipped";
      readonly because: { readonly node: string; readonly failure: Failure | null };
    }
);

export interface Question {
  readonly run?: string;
  readonly at?: number;
}

export async function explain(path: string, node: string, question: Question): Promise<Explanation> {
  const at = question.at ?? Number.POSITIVE_INFINITY;
  const state = new State();
  let watch: Watch | undefined;
  for await (const block of soundBlocks(path)) {
    watch = replaying(path, block, () => follow(state, block, watch, node, question));
    if (block.seq + block.count > at) break;
  }
  if (question.at !== undefined && state.seq < question.at) {
    throw new UsageError(`there is no event ${question.at}: ${path} ends at ${state.seq}`);
  }
  if (!watch) throw await notFound(path, node, question);
  return watch.answer(state);
}

/** Takes a block as far as it is asked about, and says which node is watched then. */
function follow(state: State, block: Block, watch: Watch | undefined, node: string, question: Question) {
  let watched = watch;
  for (const recorded of eventsOf(block)) {
    const { event, seq, now } = recorded;
    if (seq > (question.at ?? seq)) break;
    watched?.take(state, recorded);
    apply(state, event, now);
    watched = watchFor(state, event, node, question) ?? watched;
  }
  return watched;
}

/** A node is watched from when its run is submitted, an alternative from when it is made. */
function watchFor(state: State, event: LedgerEvent, name: string, asked: Question): Watch | undefined {
  if (event.kind !== "RunSubmitted" && event.kind !== "TaskSpeculated") return undefined;
  const run = state.run(event.kind === "RunSubmitted" ? state.nextRun - 1 : event.run);
  if (!run.id.startsWith(asked.run ?? "")) return undefined;
  const node = run.graph.indexOf(name);
  if (event.kind === "RunSubmitted") return node === undefined ? undefined : new Watch({ run, node });
  const at = alternativeNamed(name, run.graph.idOf(event.node), event.count);
  if (at === -1 || node !== undefined) return undefined;
  const alternative = { tasks: state.singles, number: event.first + at, at };
  return new Watch({ run, node: event.node, alternative });
}

/** An alternative of a node is called by both names, as lists of tasks call it. */
function alternativeNamed(name: string, node: string, count: number): number {
  return Array.from({ length: count }, (_, at) => `${node} ${speculationTag(at)}`).indexOf(name);
}

async function notFound(path: string, node: string, { run, at }: Question): Promise<NotFoundError> {
  const nodes = new Set<string>();
  const runs = new Set<string>();
  for await (const block of soundBlocks(path)) {
    for (const { event, seq } of eventsOf(block)) {
      if (event.kind !== "RunSubmitted" || seq > (at ?? seq)) continue;
      runs.add(event.runId);
      if (run === undefined || event.runId.startsWith(run)) for (const id of event.graph.ids) nodes.add(id);
    }
  }
  const when = at === undefined ? "" : ` at event ${at}`;
  if (runs.size === 0) return new NotFoundError(`${path} has no run${when}`);
  if (run !== undefined && ![...runs].some((id) => id.startsWith(run))) {
    return new NotFoundError(`${path} has no run ${neutralise(run)}${when}${suggest(closest(run, runs))}`);
  }
  const [, tried = "", tag = ""] = /^(.+) (speculate:\w+)$/s.exec(node) ?? [];
  if (nodes.has(tried))
    return new NotFoundError(
      `${neutralise(tried)} was not tried in an alternative ${neutralise(tag)}${when}`,
    );
  const where = run === undefined ? `no run of ${path}` : `run ${neutralise(run)}`;
  const has = run === undefined ? `${where} has a node` : `${where} has no node`;
  return new NotFoundError(`${has} ${neutralise(node)}${when}${suggest(closest(node, nodes))}`);
}

function suggest(name: string | undefined): string {
  return name === undefined ? "" : `; did you mean ${neutralise(name)}?`;
}
