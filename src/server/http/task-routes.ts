import { Type } from "typebox";
import { budgetOffWire } from "../../graph/index.ts";
import {
  Cancelled,
  HistoryAnswer,
  LogAnswer,
  RechargeBody,
  TaskAnswer,
  WhyAnswer,
} from "../../protocol/api-schemas.ts";
import { parseMemoryBytes } from "../../protocol/index.ts";
import { sendTask, whyAnswer } from "./answers.ts";
import { callerOf } from "./auth.ts";
import { eventData } from "./event-routes.ts";
import { instantText } from "./instants.ts";
import { Moment, MomentQuery, readingOf } from "./moments.ts";
import { invalid, problemOfRefusal } from "./problems.ts";
import { type App, answers, type Edge, notFound, PathId, REQUEST_TIMEOUT_MS, taskId, Wait } from "./route.ts";
import { signalOf } from "./signal.ts";

const MAX_LOG_LINES = 10_000;

/** What is asked stands in the path alone. */
const act = { config: { scopes: ["submit"], ignoresBody: true } } as const;
const read = { config: { scopes: ["read"] } } as const;
const TaskId = PathId("id", "A task's id.");

/** One task: what it is, why it waits, what it printed, and what can be done about it. */
export function taskRoutes(app: App, edge: Edge): void {
  taskRoute(app, edge);
  whyRoute(app, edge);
  logRoute(app, edge);
  historyRoute(app, edge);
  taskActions(app, edge);
}

function taskRoute(app: App, edge: Edge): void {
  app.get(
    "/task/:id",
    {
      config: { ...read.config, answerWithinMs: 3 * REQUEST_TIMEOUT_MS },
      schema: {
        summary: "Get a task, or wait for its end",
        tags: ["tasks"],
        params: TaskId,
        querystring: Type.Object({ ...Moment, wait: Type.Optional(Wait) }, { additionalProperties: false }),
        response: answers({ 200: TaskAnswer }),
      },
    },
    async (request, reply) => {
      const id = taskId(request.params.id);
      const { wait = 0, at } = request.query;
      const caller = callerOf(request);
      const look = (known: string) =>
        wait === 0 || at !== undefined
          ? readingOf(edge, request).task(caller, known)
          : edge.api.waitForTask(caller, known, wait * 1000, signalOf(reply.raw, edge.closing));
      const task = id === undefined ? undefined : await look(id);
      if (!task) throw notFound("task");
      return sendTask(reply, task);
    },
  );
}

function taskActions(app: App, { api }: Edge): void {
  app.post(
    "/task/:id/retry",
    {
      config: { ...act.config, audit: "task.retry" },
      schema: {
        summary: "Put a failed or cancelled task back into the queue",
        tags: ["tasks"],
        params: TaskId,
        response: answers({ 200: TaskAnswer }),
      },
    },
    async (request, reply) => {
      const id = taskId(request.params.id);
      const task = id === undefined ? undefined : await api.retry(callerOf(request), id);
      if (!task) throw notFound("task");
      if ("accepted" in task) throw problemOfRefusal(task);
      return sendTask(reply, task);
    },
  );

  app.post(
    "/task/:id/recharge",
    {
      config: { scopes: ["submit"], audit: "task.recharge" },
      schema: {
        summary: "Let a running task consume more than its budget",
        tags: ["tasks"],
        params: TaskId,
        body: RechargeBody,
        response: answers({ 200: TaskAnswer }),
      },
    },
    async (request, reply) => {
      const id = taskId(request.params.id);
      const amounts = rechargeAmounts(request.body);
      const task = id === undefined ? undefined : await api.recharge(callerOf(request), id, amounts);
      if (!task) throw notFound("task");
      if ("accepted" in task) throw problemOfRefusal(task);
      return sendTask(reply, task);
    },
  );

  app.post(
    "/task/:id/cancel",
    {
      config: { ...act.config, audit: "task.cancel" },
      schema: {
        summary: "Cancel a task",
        tags: ["tasks"],
        params: TaskId,
        response: answers({ 200: Cancelled }),
      },
    },
    async (request) => {
      const id = taskId(request.params.id);
      const cancelled = id === undefined ? false : await api.cancel(callerOf(request), id);
      return { cancelled, task_id: request.params.id };
    },
  );
}

function rechargeAmounts({ memory, ...rest }: RechargeBody): number[] {
  if (memory === undefined) return budgetOffWire(rest);
  const bytes = parseMemoryBytes(memory);
  if (typeof bytes === "number") return budgetOffWire({ ...rest, memory: bytes });
  throw invalid([{ in: "body", pointer: "/memory", detail: bytes.refusal }]);
}

function whyRoute(app: App, edge: Edge): void {
  app.get(
    "/task/:id/why",
    {
      ...read,
      schema: {
        summary: "Why a task waits, or runs where it does",
        tags: ["tasks"],
        params: TaskId,
        querystring: MomentQuery,
        response: answers({ 200: WhyAnswer }),
      },
    },
    async (request) => {
      const id = taskId(request.params.id);
      const reading = readingOf(edge, request);
      const why = id === undefined ? undefined : await reading.why(callerOf(request), id);
      if (!why) throw notFound("task");
      return whyAnswer(why);
    },
  );
}

function historyRoute(app: App, edge: Edge): void {
  app.get(
    "/task/:id/events",
    {
      ...read,
      schema: {
        summary: "What happened to a task, as far as it is remembered",
        tags: ["tasks", "events"],
        params: TaskId,
        querystring: MomentQuery,
        response: answers({ 200: HistoryAnswer }),
      },
    },
    async (request) => {
      const id = taskId(request.params.id);
      const reading = readingOf(edge, request);
      const events = id === undefined ? undefined : await reading.history(callerOf(request), id);
      if (!events) throw notFound("task");
      return { events: events.map(eventData) };
    },
  );
}

function logRoute(app: App, edge: Edge): void {
  app.get(
    "/task/:id/log",
    {
      ...read,
      schema: {
        summary: "What a task printed",
        tags: ["tasks"],
        params: TaskId,
        querystring: Type.Object(
          {
            ...Moment,
            after: Type.Optional(
              Type.Integer({ minimum: -1, default: -1, description: "The last line that is known." }),
            ),
            limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LOG_LINES, default: 1000 })),
          },
          { additionalProperties: false },
        ),
        response: answers({ 200: LogAnswer }),
      },
    },
    async (request) => {
      const id = taskId(request.params.id);
      const { after = -1, limit = 1000 } = request.query;
      const reading = readingOf(edge, request);
      const lines = id === undefined ? undefined : await reading.log(callerOf(request), id, after, limit);
      if (!lines) throw notFound("task");
      return {
        lines: lines.map(({ line, attempt, at, stream, text }) => ({
          line,
          attempt,
          at: instantText(at),
          stream,
          text,
        })),
      };
    },
  );
}
