import {
  type AttemptFailed,
  type AttemptFinished,
  type AttemptTimedOut,
  isDecision,
  type LedgerEvent,
} from "../../ledger/index.ts";
import {
  type Alteration,
  alteredCourse,
  asEstimated,
  type Course,
  comesFromOutside,
  type Endings,
  type Happening,
  type Moved,
  movedTasks,
  type Outcome,
  outcomeOf,
  type PlayedTask,
  type Score,
  type State,
  type Stimulus,
  scoreOf,
  takeSnapshot,
  unknownWorkers,
} from "../../scheduler/index.ts";
import type { Chronicle } from "./chronicle.ts";

export interface WhatIfQuery {
  readonly at: number;
  readonly zone: string;
  readonly alterations: readonly Alteration[];
  /** As long as they took, where that is known; otherwise as was estimated. */
  readonly isActual: boolean;
  /** Of the tasks that moved. */
  readonly listed: number;
}

export type WhatIfView =
  | { readonly unknownWorkers: readonly string[] }
  | {
      readonly unknownWorkers: undefined;
      readonly now: number;
      readonly isWhole: boolean;
      /** What happened and is not played, by kind. */
      readonly leftOut: Readonly<Record<string, number>>;
      readonly asIs: Score;
      readonly changed: Score;
      readonly moved: {
        readonly total: number;
        readonly sooner: number;
        readonly later: number;
        readonly elsewhere: number;
        readonly tasks: readonly Moved[];
      };
    };

/** Turns and attempts of a play: some seconds. */
const MOST = 200_000;

/** Plays what came after a moment twice: as it was, and with alterations. */
export function whatIf(chronicle: Chronicle, state: State, query: WhatIfQuery): WhatIfView {
  const { at, zone, alterations, isActual, listed } = query;
  // Before the first event there is no time yet.
  const snapshot = { ...takeSnapshot(state), now: chronicle.timeOf(at) };
  const unknown = unknownWorkers(snapshot, alterations);
  if (unknown.length > 0) return { unknownWorkers: unknown };
  const { happenings, leftOut } = happeningsAfter(chronicle, at);
  const course: Course = { snapshot, happenings };
  const endings = isActual ? asTheyWere(chronicle, at) : asEstimated;
  const asIs = outcomeOf(course, endings, MOST);
  const changed = outcomeOf(alteredCourse(course, alterations), endings, MOST);
  return {
    unknownWorkers: undefined,
    now: state.timeOfDay(snapshot.now),
    isWhole: asIs.isWhole && changed.isWhole,
    leftOut,
    asIs: scoreOf(asIs, zone),
    changed: scoreOf(changed, zone),
    moved: movedView(asIs, changed, zone, listed, state),
  };
}

function movedView(asIs: Outcome, changed: Outcome, zone: string, listed: number, state: State) {
  const all = movedTasks(asIs, changed, zone);
  const counts = { sooner: 0, later: 0, elsewhere: 0 };
  for (const { before, after } of all) {
    const [from, to] = [
      before?.startedAt ?? Number.POSITIVE_INFINITY,
      after?.startedAt ?? Number.POSITIVE_INFINITY,
    ];
    if (to < from) counts.sooner++;
    if (to > from) counts.later++;
    if (before && after && before.worker !== after.worker) counts.elsewhere++;
  }
  return {
    total: all.length,
    ...counts,
    tasks: all.slice(0, listed).map((moved) => inTimeOfDay(state, moved)),
  };
}

function inTimeOfDay(state: State, { name, before, after }: Moved): Moved {
  const told = (played: PlayedTask | undefined) =>
    played && {
      ...played,
      startedAt: state.timeOfDay(played.startedAt),
      endedAt: played.endedAt === undefined ? undefined : state.timeOfDay(played.endedAt),
    };
  return { name, before: told(before), after: told(after) };
}

/** What only answers decisions, or follows from them, is played and not repeated. */
const PLAYED: ReadonlySet<LedgerEvent["kind"]> = new Set([
  "AttemptStarted",
  "AttemptFinished",
  "AttemptFailed",
  "AttemptTimedOut",
  "AttemptLost",
  "AttemptCancelled",
  "ReportRefused",
  "SubmissionsRefused",
  "WorkerLoadReported",
]);

function happeningsAfter(
  chronicle: Chronicle,
  at: number,
): { readonly happenings: Happening[]; readonly leftOut: Record<string, number> } {
  const happenings: { at: number; stimuli: Stimulus[] }[] = [];
  const leftOut: Record<string, number> = {};
  for (const { event, now } of chronicle.between(at, chronicle.lastSeq)) {
    if (comesFromOutside(event)) {
      const last = happenings.at(-1);
      if (last?.at === now) last.stimuli.push(event as Stimulus);
      else happenings.push({ at: now, stimuli: [event as Stimulus] });
    } else if (!isDecision(event) && !PLAYED.has(event.kind))
      leftOut[event.kind] = (leftOut[event.kind] ?? 0) + 1;
  }
  return { happenings, leftOut };
}

type Reported = AttemptFinished | AttemptFailed | AttemptTimedOut;

/** Each attempt goes as the one of the same number went, or the last; where there was none, as was estimated. */
function asTheyWere(chronicle: Chronicle, after: number): Endings {
  const known = new Map<string, { readonly tookMs: number; readonly report: Reported }[]>();
  for (let seq = after + 1; seq <= chronicle.lastSeq; seq++) {
    const kind = chronicle.kindOf(seq);
    if (kind !== "AttemptFinished" && kind !== "AttemptFailed" && kind !== "AttemptTimedOut") continue;
    const { event, now, subject } = chronicle.entry(seq);
    const report = event as Reported;
    const { taskId = "" } = subject;
    const attempts = known.get(taskId) ?? [];
    attempts.push({ tookMs: report.startedAt < 0 ? 1 : Math.max(1, now - report.startedAt), report });
    known.set(taskId, attempts);
  }
  return (beginning) => {
    const { tasks, node, attempt } = beginning;
    const attempts = known.get(tasks.taskIdOf(node));
    const same = attempts?.find(({ report }) => report.attempt === attempt) ?? attempts?.at(-1);
    if (!same) return asEstimated(beginning);
    const { transfers: _, ...report } = same.report as AttemptFinished;
    return { tookMs: same.tookMs, report: { ...report, run: tasks.number, node, attempt } };
  };
}
