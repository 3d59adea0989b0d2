import type { ExpansionEnded, RunParent, RunSubmitted } from "../ledger/index.ts";
import type { Model } from "./model.ts";
import { chunkOf, shareInputs } from "./model-data.ts";
import { mayLink } from "./model-links.ts";
import { countCompleted, endAttempt } from "./model-moves.ts";
import { aboutTask, describeTask, isPlaced, type ModelRun, type ModelWorker } from "./model-tasks.ts";
import { isBeside } from "./places.ts";
import { noteEnded } from "./recalls.ts";
import { demand } from "./violation.ts";

/** Whether an attempt may end by adding this: it is the last of its task, nobody asked it to stop, and it adds no more than it may. */
export function mayGrow(model: Model, { graph }: RunSubmitted, parent: RunParent): boolean {
  const task = model.find(parent);
  if (!task?.run.hasData || task.attempt !== parent.attempt) return false;
  const isRunning = isPlaced(task) && task.status !== "cancelling" && !task.isAhead;
  const { links = [] } = parent;
  const isSmallEnough = graph.ids.length - links.length <= (task.spec.mayAdd ?? 0);
  return isRunning && isSmallEnough && links.every(([, run, node]) => mayLink(model, parent, { run, node }));
}

/** Its attempt has ended; it has not, before what it added has. */
export function growBy(model: Model, parent: RunParent, now: number): NonNullable<ModelRun["addedBy"]> {
  const task = model.taskAt(parent);
  const worker = task.worker as ModelWorker;
  task.reported.add(parent.attempt);
  endAttempt(task, "failed");
  if (!isBeside(worker, task)) noteEnded(worker, now);
  worker.executed.add(task.spec.type);
  shareInputs(task, worker);
  task.status = "expanded";
  return { task, tail: parent.tail, startedAt: parent.startedAt };
}

/** The result of the tail goes over to the node that added it. */
export function endGrowth(model: Model, event: ExpansionEnded, now: number): void {
  const task = model.taskAt(event);
  const { added } = task;
  const tail = added?.tasks[added.addedBy?.tail ?? -1];
  const isItsOwn = added?.number === event.child && added.outcome === "completed";
  demand(
    task.status === "expanded" && isItsOwn && tail !== undefined,
    "has-what-it-added",
    () => `${describeTask(task)} has the result of run ${event.child}, it added run ${added?.number}`,
    aboutTask(task),
  );
  task.status = "completed";
  task.resultHash = tail.resultHash;
  task.resultBytes = tail.resultBytes;
  task.isStored = tail.isStored;
  task.holders = tail.holders;
  task.origin = tail.isStored ? undefined : chunkOf(tail);
  task.timesMade++;
  tail.holders = [];
  countCompleted(model, task, now);
}

/** By the end of a turn: who added a run waits for it, and for no other. */
export function checkGrowth(run: ModelRun): void {
  for (const task of run.tasks) {
    if (task.status !== "expanded") continue;
    demand(
      task.added !== undefined && task.added.outcome === undefined,
      "ends-with-what-it-added",
      () => `${describeTask(task)} waits for run ${task.added?.number}, which has ended`,
      aboutTask(task),
    );
  }
}
