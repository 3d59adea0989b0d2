import { canonicalJson } from "../core/index.ts";
import type { Rejection } from "../placement/index.ts";
import { lineBefore, type State, type WaitReason, whyHere, whyNotYet } from "../scheduler/index.ts";
import type { Model } from "./model.ts";
import { lanesThatMayWait } from "./model-data.ts";
import { aboutTask, describeTask, isDue, isWaiting, type ModelTask } from "./model-tasks.ts";
import { obstaclesFor, preference } from "./oracle.ts";
import type { Precedence } from "./ranking.ts";
import type { Tally } from "./tally.ts";
import { trueLine, trueReasons } from "./true-reasons.ts";
import { demand } from "./violation.ts";

/** What was found to be the true reason of something, each of which must have been. */
export type ReasonHappening =
  | `why: ${Exclude<WaitReason["code"], "Held" | "Admission" | "Pending">}`
  | `why: Held, ${Extract<WaitReason, { code: "Held" }>["by"]}`
  | `why: Admission, ${Extract<WaitReason, { code: "Admission" }>["barriers"][number]["by"]}`
  | "why: Unsatisfiable, exceeds a limit"
  | "why: Admission, kept for another"
  | "why: Capacity, a worker is kept free"
  | `why: Outranked, ${Precedence}`
  | `why not there: ${Rejection}`;

/** How many of those that go before a task are compared. */
const FIRST = 10;

/** Whatever waits says why, in full; and what goes before it, and who could take it. */
export function checkReasons(model: Model, state: State, now: number, tally: Tally): void {
  const mayWait = lanesThatMayWait(model, now);
  for (const task of model.tasks()) {
    if (task.run.outcome !== undefined) continue;
    // What fell due in a turn that recorded nothing is ahead of the state's time, at which it answers.
    const isAhead = now !== model.now && isDue(task, now);
    if (isAhead || (mayWait.has(task.laneKey) && isDue(task, model.now))) continue;
    checkTask(model, state, task, tally, now === model.now);
  }
}

function checkTask(model: Model, state: State, task: ModelTask, tally: Tally, isInTime: boolean): void {
  const tasks = state.tasks(task.run.number);
  const said = whyNotYet(state, tasks, task.node);
  const truth = isWaiting(task) ? trueReasons(model, task, model.now) : [];
  const told = (reasons: readonly WaitReason[]) =>
    canonicalJson(isInTime ? reasons : reasons.filter(({ code }) => code !== "Outranked"));
  demand(
    told(said) === told(truth),
    "why-not-yet",
    () => `${describeTask(task)} says ${told(said)}, ${told(truth)} is true`,
    aboutTask(task),
  );
  for (const reason of truth) for (const happening of happeningsOf(reason)) tally.count(happening);
  if (!isWaiting(task)) return;
  if (isInTime && isDue(task, model.now)) checkLine(model, state, task);
  if (isDue(task, model.now)) checkCandidates(model, state, task, tally);
}

function checkLine(model: Model, state: State, task: ModelTask): void {
  const { first } = lineBefore(state, state.tasks(task.run.number), task.node, model.now, FIRST);
  const said = first.map(({ id }) => id).join(" ");
  const truth = trueLine(model, task, model.now)
    .slice(0, FIRST)
    .map(({ publicId }) => publicId)
    .join(" ");
  demand(
    said === truth,
    "why-goes-first",
    () => `before ${describeTask(task)} are said to go ${said}, and go ${truth}`,
    aboutTask(task),
  );
}

/** Every worker that is known, with what speaks against it, or its place among those that could take the task. */
function checkCandidates(model: Model, state: State, task: ModelTask, tally: Tally): void {
  const obstacles = obstaclesFor(model, task);
  const ranked = model.workers
    .filter(({ number }) => obstacles[number] === undefined)
    .sort(preference(model, task));
  const truth = model.sortedWorkers().map((worker) => {
    const obstacle = obstacles[worker.number];
    return `${worker.spec.id}: ${obstacle ?? ranked.indexOf(worker) + 1}`;
  });
  const rows = whyHere(state, state.tasks(task.run.number), task.node, model.now);
  const said = rows.map(({ worker, rejection, rank }) => `${worker}: ${rejection ?? rank}`);
  demand(
    said.join() === truth.join(),
    "why-candidates",
    () => `${describeTask(task)}: ${said.join()} is said of workers, ${truth.join()} is true`,
    aboutTask(task),
  );
  for (const { rejection } of rows) if (rejection) tally.count(`why not there: ${rejection}`);
}

function happeningsOf(reason: WaitReason): ReasonHappening[] {
  switch (reason.code) {
    case "Unsatisfiable":
      return [reason.exceeds ? "why: Unsatisfiable, exceeds a limit" : "why: Unsatisfiable"];
    case "Held":
      return [`why: Held, ${reason.by}`];
    case "NotDue":
    case "Dependencies":
      return [`why: ${reason.code}`];
    case "Admission":
      return reason.barriers.flatMap((barrier): ReasonHappening[] => {
        const isKept = barrier.by === "concurrency" && barrier.kept > 0;
        return [
          `why: Admission, ${barrier.by}`,
          ...(isKept ? ["why: Admission, kept for another" as const] : []),
        ];
      });
    case "Capacity":
      return [reason.reservedWorker === undefined ? "why: Capacity" : "why: Capacity, a worker is kept free"];
    case "Outranked":
      return [reason.next.because ? `why: Outranked, ${reason.next.because}` : "why: Outranked"];
    // Between turns nothing is, since the turn would have placed it.
    case "Pending":
      return [];
  }
}
