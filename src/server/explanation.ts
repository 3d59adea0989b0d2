import { RecentMap } from "../core/index.ts";
import type { Fact } from "../driver/index.ts";
import type { TaskAssigned, TaskRecalled } from "../ledger/index.ts";
import { REJECTIONS } from "../placement/index.ts";
import { META_EXECUTOR } from "../protocol/index.ts";
import { type State, type WaitReason, whereInputsAre, whyNotYet } from "../scheduler/index.ts";
import {
  describeInput,
  describeReason,
  describeRecall,
  describeRejected,
  describeUnserved,
  describeWait,
} from "../words/index.ts";
import type { Caller, Explanation, Recalled, TaskView } from "./api.ts";
import { isOpen, isVisible, locate, type Place } from "./live-task.ts";
import { outlookOf } from "./outlook.ts";
import { apart } from "./task-types.ts";

interface LastAssignment {
  readonly assigned: TaskAssigned;
  /** Of this attempt, or of the one before it. */
  readonly recalled: TaskRecalled | undefined;
}

/** How tasks came to their workers, as the ledger says, for those that were placed lately; others are found only there. */
export class LastAssignments {
  readonly #assigned: RecentMap<string, TaskAssigned>;
  readonly #recalled: RecentMap<string, TaskRecalled>;

  constructor(remembered: number) {
    this.#assigned = new RecentMap(remembered);
    this.#recalled = new RecentMap(remembered);
  }

  follow(
    facts: readonly (Pick<Fact, "event"> & {
      readonly about: { readonly task: { readonly id: string } | undefined } | undefined;
    })[],
  ): void {
    for (const { event, about } of facts) {
      if (about?.task === undefined) continue;
      if (event.kind === "TaskAssigned") this.#assigned.set(about.task.id, event);
      else if (event.kind === "TaskRecalled") this.#recalled.set(about.task.id, event);
    }
  }

  of(taskId: string): LastAssignment | undefined {
    const assigned = this.#assigned.get(taskId);
    const recalled = this.#recalled.get(taskId);
    const isLast = assigned && recalled && recalled.attempt >= assigned.attempt - 1;
    return assigned && { assigned, recalled: isLast ? recalled : undefined };
  }
}

export function explanationOf(
  state: State,
  caller: Caller,
  task: TaskView,
  assignments: Pick<LastAssignments, "of">,
  now: number,
): Explanation {
  const place = isOpen(task.status) ? locate(state, task) : undefined;
  const waiting = place ? whyNotYet(state, place.tasks, place.node, now) : [];
  return {
    id: task.id,
    status: task.status,
    waiting: waiting
      .map((reason) => inTimeOfDay(state, withoutOthers(reason, caller)))
      .map((reason) => ({ ...reason, text: unsatisfiableText(state, task, reason, state.timeOfDay(now)) })),
    placed: placedOf(state, assignments.of(task.id)),
    inputs: place && inputsOf(state, place),
    outlook: place && waiting.length > 0 ? outlookOf(state, caller, place, waiting, now) : undefined,
  };
}

function inTimeOfDay(state: State, reason: WaitReason): WaitReason {
  return reason.code === "NotDue" ? { ...reason, dueAt: state.timeOfDay(reason.dueAt) } : reason;
}

/** What nobody can run because nobody knows it is the mistake that is made first, so it has words of its own. */
export function unsatisfiableText(
  state: State,
  { type, zone, executor }: Pick<TaskView, "type" | "zone" | "executor">,
  reason: WaitReason,
  now: number,
): string {
  if (reason.code !== "Unsatisfiable") return describeWait(reason, now);
  const serving = state.fleet
    .present()
    .filter(({ spec, status }) => status !== "Unreachable" && spec.executors.includes(executor))
    .filter(({ spec }) => spec.zone === zone || spec.zones.includes(zone));
  if (serving.length === 0 && executor === META_EXECUTOR) return NO_META;
  if (serving.length === 0) return describeUnserved({ executor, type, known: undefined });
  const types = new Set(serving.flatMap(({ spec }) => apart(spec.capabilities).types));
  if (types.has(type)) return describeWait(reason, now);
  return describeUnserved({ executor, type, known: types });
}

const NO_META =
  "It is a meta node, and no server runs those in this zone: start the server that leads with orrery serve --tasks FILE.";

/** Results that are listed. */
const LISTED_INPUTS = 100;

function inputsOf(state: State, { tasks, node }: Place): Explanation["inputs"] {
  const inputs = whereInputsAre(state, tasks, node);
  return inputs?.slice(0, LISTED_INPUTS).map((input) => ({ ...input, text: describeInput(input) }));
}

/** Of tasks that the caller may not see it says only that there are some. */
function withoutOthers(reason: WaitReason, caller: Caller): WaitReason {
  if (reason.code !== "Outranked" || isVisible(caller, reason.next)) return reason;
  return { ...reason, next: { id: "other work", zone: "", agent: "", node: undefined } };
}

function placedOf(state: State, last: LastAssignment | undefined): Explanation["placed"] {
  if (!last) return undefined;
  const { assigned } = last;
  const worker = state.worker(assigned.worker).id;
  const rejected: Record<string, number> = {};
  for (const [at, count] of assigned.rejected.entries()) {
    if (count > 0) rejected[REJECTIONS[at] as string] = count;
  }
  const others = describeRejected(rejected);
  return {
    worker,
    attempt: assigned.attempt,
    reason: { ...assigned.reason },
    runnerUp: state.fleet.workers[assigned.runnerUp]?.id,
    rejected,
    recalled: last.recalled && recalledOf(state, last.recalled),
    text: `Attempt ${assigned.attempt} went to ${worker} because ${describeReason(assigned.reason)}${others === "" ? "" : `; of the others, ${others}`}.${recallText(state, last)}`,
  };
}

function recalledOf(state: State, event: TaskRecalled): Recalled {
  const { attempt, waitMicros, queueMicros, moveMicros } = event;
  const [worker, idle] = [state.worker(event.worker).id, state.worker(event.idle).id];
  return { worker, idle, attempt, waitMicros, queueMicros, moveMicros };
}

function recallText(state: State, { assigned, recalled }: LastAssignment): string {
  if (!recalled) return "";
  const { worker, idle, attempt } = recalledOf(state, recalled);
  const why = describeRecall(recalled, idle);
  return attempt < assigned.attempt
    ? ` ${worker}, which had it before, gave it back because ${why}.`
    : ` It was asked to give it back because ${why}.`;
}
