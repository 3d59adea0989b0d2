import type { RowChanges, SubmittedTask } from "../rows.ts";
import { Kinds } from "./kinds.ts";
import { arraysOf, type Columns, joinedOf, mayBeJoined, textOfValue } from "./parameters.ts";

/** What is added to the commit of a bare block. */
export interface Part {
  readonly name: string;
  readonly values: readonly (string | null)[];
}

type Added = Pick<RowChanges["submitted"][number], "task">;

/** The statement finds a kind by walking through all of them. */
const MAX_KINDS = 32;

/** In the order of the parameters of the files in `sql/` that the constants are named after. */
const LIKE_TASKS: readonly ((task: SubmittedTask) => string | number)[] = [
  (task) => task.enqueuedAt,
  (task) => task.zone,
  (task) => task.runAt,
  (task) => task.deadline,
  (task) => task.boostMicros,
  (task) => task.priority,
  (task) => task.priorityClass,
  (task) => task.executor,
  (task) => task.type,
  (task) => task.requestState,
  (task) => task.settings,
];

const NEW_TASKS_KIND: Columns<Added> = [
  ({ task }) => task.enqueuedAt,
  ({ task }) => task.zone,
  ({ task }) => task.boostMicros,
  ({ task }) => task.priority,
  ({ task }) => task.priorityClass,
  ({ task }) => task.executor,
  ({ task }) => task.type,
  ({ task }) => task.requestState,
  ({ task }) => task.settings,
];

const NEW_TASKS: Columns<Added> = [
  ({ task }) => task.id,
  ({ task }) => task.agent,
  ({ task }) => task.submittedSeq,
  ({ task }) => task.runAt,
  ({ task }) => task.deadline,
  ({ task }) => task.estimateMs,
  ({ task }) => task.payloadHash,
  ({ task }) => task.payload,
];

export const SUBMITTED: Columns<Added> = [
  ({ task }) => task.id,
  ({ task }) => task.zone,
  ({ task }) => task.agent,
  ({ task }) => task.submittedSeq,
  ({ task }) => task.enqueuedAt,
  ({ task }) => task.runAt,
  ({ task }) => task.deadline,
  ({ task }) => task.estimateMs,
  ({ task }) => task.boostMicros,
  ({ task }) => task.priority,
  ({ task }) => task.priorityClass,
  ({ task }) => task.run?.id,
  ({ task }) => task.run?.node,
  ({ task }) => task.executor,
  ({ task }) => task.type,
  ({ task }) => task.requestState,
  ({ task }) => task.payloadHash,
];

const TASKS: Columns<Added> = [...SUBMITTED, ({ task }) => task.settings, ({ task }) => task.payload];

/** Most blocks bring one task, or several of a kind. */
export function addTasks(parts: Part[], submitted: readonly Added[]): void {
  const [first] = submitted;
  if (!first) return;
  if (submitted.length === 1 && !first.task.run) parts.push(oneTask(first.task));
  else if (areAlike(submitted, first.task)) parts.push(likeTasks(submitted, first.task));
  else parts.push(...variousTasks(submitted));
}

function oneTask(task: SubmittedTask): Part {
  const { id, agent, submittedSeq, estimateMs, payloadHash, payload } = task;
  const own = [id, agent, submittedSeq, estimateMs, payloadHash, payload].map(textOfValue);
  return { name: "one-task", values: [...commonOf(task), ...own] };
}

function likeTasks(submitted: readonly Added[], first: SubmittedTask): Part {
  const own = [
    joinedOf(submitted, ({ task }) => task.id),
    joinedOf(submitted, ({ task }) => task.agent),
    `{${submitted.map(({ task }) => task.submittedSeq)}}`,
    `{${submitted.map(({ task }) => task.estimateMs)}}`,
    joinedOf(submitted, ({ task }) => task.payloadHash),
    joinedOf(submitted, ({ task }) => task.payload),
  ];
  return { name: "like-tasks", values: [...commonOf(first), ...own] };
}

function commonOf(task: SubmittedTask): string[] {
  return LIKE_TASKS.map((column) => textOfValue(column(task)));
}

/** Tasks of their own that are the same but for what every task has for itself. */
function areAlike(submitted: readonly Added[], first: SubmittedTask): boolean {
  for (const { task } of submitted) {
    if (task.run || !mayBeJoined(task.payload) || !mayBeJoined(task.agent)) return false;
  }
  return LIKE_TASKS.every((column) => {
    const value = column(first);
    return submitted.every(({ task }) => column(task) === value);
  });
}

function* variousTasks(submitted: readonly Added[]): Iterable<Part> {
  const kinds = new Kinds(NEW_TASKS_KIND, MAX_KINDS);
  const alone: Added[] = [];
  const others: Added[] = [];
  for (const row of submitted) (!row.task.run && kinds.add(row) ? alone : others).push(row);
  if (alone.length > 0)
    yield { name: "new-tasks", values: [...kinds.arrays(), ...arraysOf(alone, NEW_TASKS)] };
  if (others.length > 0) yield { name: "tasks", values: arraysOf(others, TASKS) };
}
