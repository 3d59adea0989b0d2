import { BulkAnswer, BulkBody } from "../../protocol/api-schemas.ts";
import type { Api, Caller, ListFilter, TaskLineView } from "../api.ts";
import { callerOf } from "./auth.ts";
import { type App, answers, type Edge } from "./route.ts";
import { filterOf } from "./task-filter.ts";

type Action = BulkBody["action"];

/** What each action can do something about. */
const CONCERNS: Readonly<Record<Action, ListFilter["statuses"]>> = {
  cancel: ["queued", "running"],
  retry: ["failed", "cancelled"],
};

/**
 * The same done to all tasks that fit a filter, some at a time: each answer says where to go on, so that whoever asks
 * sees how far it is, and may stop. What is submitted meanwhile is newer than the place, and stays as it is.
 */
export function bulkRoutes(app: App, { api, cursors }: Edge): void {
  app.post(
    "/tasks/bulk",
    {
      config: { scopes: ["submit"], audit: "tasks.bulk" },
      schema: {
        summary: "Cancel or retry all tasks that fit a filter, or count them",
        tags: ["tasks"],
        body: BulkBody,
        response: answers({ 200: BulkAnswer }),
      },
    },
    async (request) => {
      const { action, filter: text = "", cursor, dry_run = false, limit = 100 } = request.body;
      const caller = callerOf(request);
      const filter = narrowed(filterOf(text, "body"), action);
      const after = cursor === undefined ? undefined : cursors.open(cursor);
      if (filter.statuses?.length === 0) return { matching: 0, done: 0, next: null };
      if (dry_run) {
        const { count, next } = await api.countTasks(caller, filter, after);
        return { matching: count, done: 0, next: next ? cursors.seal(next) : null };
      }
      const { items, next } = await api.tasks(caller, filter, after, limit);
      const done = await Promise.all(items.map((task) => act(api, caller, action, task)));
      return {
        matching: items.length,
        done: done.filter(Boolean).length,
        next: next ? cursors.seal(next) : null,
      };
    },
  );
}

function narrowed(filter: ListFilter, action: Action): ListFilter {
  const concerned = CONCERNS[action] ?? [];
  const { statuses = concerned } = filter;
  return { ...filter, statuses: statuses.filter((status) => concerned.includes(status)) };
}

/** Whether something came of it: a node is not retried alone, and what ended meanwhile is not cancelled. */
async function act(api: Api, caller: Caller, action: Action, { id }: TaskLineView): Promise<boolean> {
  if (action === "cancel") return await api.cancel(caller, id);
  const task = await api.retry(caller, id);
  return task !== undefined && !("accepted" in task);
}
