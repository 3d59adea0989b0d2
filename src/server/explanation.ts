import { RecentMap } from "../core/index.ts";
import type { Fact } from "../driver/index.ts";
import type { TaskAssigned } from "../ledger/index.ts";
import { REJECTIONS } from "../placement/index.ts";
import { META_EXECUTOR } from "../protocol/index.ts";
import { type State, type WaitReason, whyNotYet } from "../scheduler/index.ts";
import { describeReason, describeRejected, describeWait } from "../words/index.ts";
import type { Caller, Explanation, TaskView } from "./api.ts";
import { isOpen, isVisible, locate } from "./live-task.ts";
import { apart } from "./task-types.ts";

/** How tasks came to their workers, as the ledger says, for those that were placed lately; others are found only there. */
export class LastAssignments {
  readonly #byTask: RecentMap<string, TaskAssigned>;

  constructor(remembered: number) {
    this.#byTask = new RecentMap(remembered);
  }

  follow(facts: readonly Fact[]): void {
    for (const { event, about } of facts) {
      if (event.kind !== "TaskAssigned" || about?.task === undefined) continue;
      this.#byTask.set(about.task.id, event);
    }
  }

  of(taskId: string): TaskAssigned | undefined {
    return this.#byTask.get(taskId);
  }
}

export function explanationOf(
  state: State,
  caller: Caller,
  task: TaskView,
  assignments: LastAssignments,
  now: number,
): Explanation {
  const place = isOpen(task.status) ? locate(state, task) : undefined;
  const waiting = place ? whyNotYet(state, place.tasks, place.node, now) : [];
  return {
    id: task.id,
    status: task.status,
    waiting: waiting
      .map((reason) => withoutOthers(reason, caller))
      .map((reason) => ({ ...reason, text: textOf(state, task, reason, now) })),
    placed: placedOf(state, assignments.of(task.id)),
  };
}

/** What nobody can run because nobody knows it is the mistake that is made first, so it has words of its own. */
function textOf(state: State, { type, zone, executor }: TaskView, reason: WaitReason, now: number): string {
  if (reason.code !== "Unsatisfiable") return describeWait(reason, now);
  const serving = state.fleet
    .present()
    .filter(({ spec, status }) => status !== "Unreachable" && spec.executors.includes(executor))
    .filter(({ spec }) => spec.zone === zone || spec.zones.includes(zone));
  if (serving.length === 0 && executor === META_EXECUTOR) return NO_META;
  if (serving.length === 0) return `No worker serves the executor ${executor} in this zone.`;
  const types = new Set(serving.flatMap(({ spec }) => apart(spec.capabilities).types));
  if (types.has(type)) return describeWait(reason, now);
  const known = [...types].sort().slice(0, LISTED).join(", ");
  const more = types.size > LISTED ? ` and ${types.size - LISTED} more` : "";
  return `No worker of the executor ${executor} knows the task type ${type}; those that are there know ${known || "none"}${more}.`;
}

/** Types that are named. */
const LISTED = 20;

const NO_META =
  "It is a meta node, and no server runs those in this zone: start the server that leads with orrery serve --tasks FILE.";

/** Of tasks that the caller may not see it says only that there are some. */
function withoutOthers(reason: WaitReason, caller: Caller): WaitReason {
  if (reason.code !== "Outranked" || isVisible(caller, reason.next)) return reason;
  return { ...reason, next: { id: "other work", zone: "", agent: "", node: undefined } };
}

function placedOf(state: State, assigned: TaskAssigned | undefined): Explanation["placed"] {
  if (!assigned) return undefined;
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
    text: `Attempt ${assigned.attempt} went to ${worker} because ${describeReason(assigned.reason)}${others === "" ? "" : `; of the others, ${others}`}.`,
  };
}
