import type { TaskFilter, TaskSummary } from "../client/index.ts";
import { type Column, tableLines } from "./layout.ts";
import { type Palette, printLines, stdoutPalette } from "./output.ts";
import { atService } from "./service.ts";
import { ago, errorOf, printSafeJson, ranFor, shown, statusOf } from "./service-text.ts";
import type { TasksOptions } from "./tasks.ts";

const MAX_PAGE = 1000;

export async function listTasks(options: TasksOptions): Promise<void> {
  const { status, executor, type, run, limit } = options;
  // Which statuses there are is the server's to say.
  const statuses = status as TaskFilter["status"];
  const tasks = await atService(options, (client) =>
    firstOf(
      client.tasks(
        { status: statuses, executor, task_type: type, run },
        { pageSize: Math.min(MAX_PAGE, limit + 1) },
      ),
      limit + 1,
    ),
  );
  const listed = tasks.slice(0, limit);
  if (options.json) await printSafeJson({ tasks: listed });
  else if (listed.length === 0) process.stderr.write("no tasks\n");
  else await printLines(taskTable(listed, stdoutPalette()));
  if (tasks.length > limit && !options.json)
    process.stderr.write(`there are more than these ${limit}; --limit shows more\n`);
}

export async function firstOf<Item>(items: AsyncIterable<Item>, count: number): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) {
    found.push(item);
    if (found.length >= count) break;
  }
  return found;
}

const COLUMNS: readonly Column[] = [
  { title: "ID" },
  { title: "STATUS" },
  { title: "TYPE" },
  { title: "EXECUTOR" },
  { title: "PRIORITY" },
  { title: "SUBMITTED", align: "right" },
  { title: "RAN", align: "right" },
  { title: "WORKER" },
  { title: "ERROR" },
];

function taskTable(tasks: readonly TaskSummary[], palette: Palette): string[] {
  const rows = tasks.map((task) => [
    shown(task.id),
    statusOf(task),
    shown(task.task_type),
    shown(task.executor_id),
    shown(task.priority_tier),
    ago(task.enqueued_at),
    ranFor(task),
    shown(task.worker_id),
    errorOf(task),
  ]);
  return tableLines(COLUMNS, rows, palette);
}
