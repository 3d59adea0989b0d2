import type { RunLink, RunParent, TaskReused } from "../ledger/index.ts";
import type { Model } from "./model.ts";
import { hasResult } from "./model-data.ts";
import { countCompleted } from "./model-moves.ts";
import {
  aboutTask,
  describeTask,
  isEnded,
  isToStopAll,
  type ModelRun,
  type ModelTask,
} from "./model-tasks.ts";
import { demand } from "./violation.ts";

/** The nodes of a run that is added stand for others from now on, and need their results. */
export function linkNodes(model: Model, run: ModelRun, links: readonly RunLink[]): void {
  for (const [node, ofRun, ofNode] of links) {
    const link = run.tasks[node] as ModelTask;
    const of = model.taskAt({ run: ofRun, node: ofNode });
    link.standsFor = of;
    link.borrows = true;
    of.links.push(link);
  }
}

/** Whether what an attempt adds may name that node: one above it that will have a result, and does not wait for what is added. */
export function mayLink(
  model: Model,
  parent: Pick<RunParent, "run" | "node">,
  of: { readonly run: number; readonly node: number },
): boolean {
  const adder = model.find(parent);
  const target = model.find(of);
  if (!adder || !target || target.standsFor || isDead(target)) return false;
  const above = runsAbove(adder.run);
  const adding = [adder, ...above.flatMap(({ addedBy }) => addedBy?.task ?? [])];
  return above.includes(target.run) && !hangsOn(target, new Set(adding));
}

function isDead(task: ModelTask): boolean {
  return isEnded(task) && task.status !== "completed";
}

/** A run, the one that it was added to, and so on. */
export function runsAbove(run: ModelRun): ModelRun[] {
  return [run, ...(run.addedBy ? runsAbove(run.addedBy.task.run) : [])];
}

/**
 * Whether a task completes only after one of these; or, where one of these had a result before, whether it may have been made of
 * that.
 */
function hangsOn(target: ModelTask, these: ReadonlySet<ModelTask>): boolean {
  const wereMade = [...these].some(({ timesMade }) => timesMade > 0);
  const seen = new Set<ModelTask>();
  const visit = (task: ModelTask): boolean => {
    if (these.has(task)) return true;
    if (seen.has(task) || (isEnded(task) && !wereMade)) return false;
    seen.add(task);
    const of = task.borrows && task.standsFor ? [task.standsFor] : [];
    const added = task.status === "expanded" ? (task.added?.tasks ?? []) : [];
    return [...task.needs, ...of, ...added].some(visit);
  };
  return visit(target);
}

/** It has the result of the node that it stands for. */
export function takeLinked(
  model: Model,
  link: ModelTask,
  of: ModelTask,
  event: TaskReused,
  now: number,
): void {
  const { taskId, resultHash, resultBytes } = event;
  const isIts =
    taskId === of.publicId && resultHash === (of.resultHash ?? "") && resultBytes === of.resultBytes;
  demand(
    link.status === "waiting" && of.status === "completed" && hasResult(of) && isIts,
    "has-what-it-stands-for",
    () => `${describeTask(link)} has the result of ${taskId}, it stands for ${describeTask(of)}`,
    aboutTask(link),
  );
  link.status = "completed";
  link.attempt++;
  link.resultHash = resultHash;
  link.resultBytes = resultBytes;
  link.timesMade++;
  countCompleted(model, link, now);
}

/** Of a run, the nodes whose results are made again in a run above: they wait once more. */
export function linksToWait(run: ModelRun): ModelTask[] {
  if (run.outcome !== undefined || isToStopAll(run)) return [];
  return run.tasks.filter(
    ({ status, standsFor, borrows }) =>
      status === "completed" && borrows && standsFor?.status !== "completed",
  );
}

/** By the end of a turn: no node waits for what the one that it stands for has, or will never have. */
export function checkLink(link: ModelTask, of: ModelTask): void {
  const isDue = (of.status === "completed" && hasResult(of)) || isDead(of);
  demand(
    link.status !== "waiting" || !isDue,
    "linked-in-time",
    () => `${describeTask(link)} waits, it stands for ${describeTask(of)}`,
    aboutTask(link),
  );
  demand(
    link.status !== "completed" || !link.borrows || hasResult(of),
    "linked-results-are-somewhere",
    () => `${describeTask(link)} has the result of ${describeTask(of)}, which is gone`,
    aboutTask(link),
  );
}
