import { Type } from "typebox";
import { FilterText, Name, TASK_STATUSES, TaskPage } from "../../protocol/api-schemas.ts";
import { closest } from "../../protocol/index.ts";
import type { ListFilter } from "../api.ts";
import { taskSummary } from "./answers.ts";
import { callerOf } from "./auth.ts";
import { Moment, readingOf } from "./moments.ts";
import { invalid } from "./problems.ts";
import { type App, answers, type Edge, PageLimit } from "./route.ts";
import { filterOf } from "./task-filter.ts";

const read = { config: { scopes: ["read"] } } as const;

export function taskListRoute(app: App, edge: Edge): void {
  const { cursors } = edge;
  app.get(
    "/tasks",
    {
      ...read,
      schema: {
        summary: "List tasks, newest first",
        description:
          "Where few of many tasks fit, a page may hold fewer than asked for, or none, and still have a `next`.",
        tags: ["tasks"],
        querystring: Type.Object(
          {
            ...Moment,
            filter: Type.Optional(FilterText),
            status: Type.Optional(
              Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: TASK_STATUSES.length })], {
                description: "One, several with commas, or given several times.",
                examples: ["queued,running"],
              }),
            ),
            executor: Type.Optional(Name("Only of this executor.", "agent-worker-1")),
            task_type: Type.Optional(Name("Only of this type.", "resize_image")),
            run: Type.Optional(Name("Only of this run.", "nightly-2026-03-01")),
            agent: Type.Optional(Name("Only of this agent; for admins.", "alice")),
            limit: Type.Optional(PageLimit),
            cursor: Type.Optional(
              Type.String({ maxLength: 1024, description: "Where an earlier page said `next`." }),
            ),
          },
          { additionalProperties: false },
        ),
        response: answers({ 200: TaskPage }),
      },
    },
    async (request) => {
      const {
        filter: text = "",
        status,
        executor,
        task_type,
        run,
        agent,
        limit = 50,
        cursor,
      } = request.query;
      const filter: ListFilter = {
        ...filterOf(text, "query"),
        ...(status === undefined ? {} : { statuses: statusesOf(status) }),
        ...(executor === undefined ? {} : { executor }),
        ...(task_type === undefined ? {} : { type: task_type }),
        ...(run === undefined ? {} : { runId: run }),
        ...(agent === undefined ? {} : { agent }),
      };
      const reading = readingOf(edge, request);
      const after = cursor === undefined ? undefined : cursors.open(cursor);
      const { items, next } = await reading.tasks(callerOf(request), filter, after, limit);
      return { tasks: items.map(taskSummary), next: next ? cursors.seal(next) : null };
    },
  );
}

function statusesOf(given: string | readonly string[]): (typeof TASK_STATUSES)[number][] {
  const words = (typeof given === "string" ? [given] : given).flatMap((text) => text.split(","));
  return words.map((word) => {
    const status = TASK_STATUSES.find((known) => known === word);
    if (status) return status;
    const meant = closest(word, TASK_STATUSES);
    const hint = meant ? `did you mean "${meant}"?` : `there are ${TASK_STATUSES.join(", ")}`;
    throw invalid([{ in: "query", pointer: "/status", detail: `has no such status as "${word}"; ${hint}` }]);
  });
}
