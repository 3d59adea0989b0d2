import { Type } from "typebox";
import {
  BatchAnswer,
  BatchBody,
  Cancelled,
  type ErrorItem,
  LogAnswer,
  Name,
  type SubmitBody,
  SubmitBody as SubmitBodySchema,
  TASK_STATUSES,
  TaskAnswer,
  TaskPage,
  WhyAnswer,
} from "../../protocol/api-schemas.ts";
import { closest } from "../../protocol/index.ts";
import type { ListFilter, TaskSubmission } from "../api.ts";
import { taskAnswer, taskSummary } from "./answers.ts";
import { callerOf, headerOf } from "./auth.ts";
import { instantText } from "./instants.ts";
import { documentOf, invalid, problemOfRefusal, retryAfter } from "./problems.ts";
import {
  type App,
  answers,
  type Edge,
  MIB,
  notFound,
  PageLimit,
  PathId,
  REQUEST_TIMEOUT_MS,
  taskId,
  Wait,
} from "./route.ts";
import { signalOf } from "./signal.ts";
import { readSubmission } from "./submission.ts";

/** What a submission needs beside its payload. */
const ENVELOPE = 64 * 1024;
const THROTTLE_MS = 1000;
const MAX_LOG_LINES = 10_000;

const submit = { config: { scopes: ["submit"] } } as const;
/** What is asked stands in the path alone. */
const act = { config: { scopes: ["submit"], ignoresBody: true } } as const;
const read = { config: { scopes: ["read"] } } as const;
const TaskId = PathId("id", "A task's id.");

export function taskRoutes(app: App, { api, cursors, closing }: Edge): void {
  app.post(
    "/submit",
    {
      ...submit,
      bodyLimit: MIB + ENVELOPE,
      schema: {
        summary: "Submit a task",
        tags: ["tasks"],
        headers: Type.Object({ "idempotency-key": Type.Optional(Type.String()) }),
        body: SubmitBodySchema,
        response: answers({ 201: TaskAnswer, 200: TaskAnswer }),
      },
    },
    async (request, reply) => {
      const submission = accepted(withKey(request.body, headerOf(request.headers, "idempotency-key")));
      const [submitted] = await api.submit(callerOf(request), [submission]);
      if (!submitted?.accepted) throw submitted ? problemOfRefusal(submitted) : notFound("answer");
      if (submitted.throttle) reply.header("retry-after", retryAfter(THROTTLE_MS));
      if (submitted.repeated) reply.header("idempotency-replayed", "true");
      else reply.header("location", `${app.prefix}/task/${submitted.task.id}`);
      return reply.code(submitted.repeated ? 200 : 201).send(taskAnswer(submitted.task));
    },
  );

  app.post(
    "/submit/batch",
    {
      ...submit,
      bodyLimit: 64 * MIB,
      schema: {
        summary: "Submit many tasks",
        description: "Each is taken or refused by itself, but none is taken when the form of one is wrong.",
        tags: ["tasks"],
        body: BatchBody,
        response: answers({ 200: BatchAnswer }),
      },
    },
    async (request, reply) => {
      const submissions = acceptedBatch(request.body.tasks);
      const submitted = await api.submit(callerOf(request), submissions);
      if (submitted.some((one) => one.accepted && one.throttle))
        reply.header("retry-after", retryAfter(THROTTLE_MS));
      const results = submitted.map((one) => {
        if (one.accepted) return { status: one.repeated ? 200 : 201, task: taskSummary(one.task) };
        const problem = problemOfRefusal(one);
        return { status: problem.statusCode, problem: documentOf(problem, request.id) };
      });
      return reply.send({ results });
    },
  );

  app.get(
    "/task/:id",
    {
      ...read,
      handlerTimeout: 3 * REQUEST_TIMEOUT_MS,
      schema: {
        summary: "Get a task, or wait for its end",
        tags: ["tasks"],
        params: TaskId,
        querystring: Type.Object({ wait: Type.Optional(Wait) }, { additionalProperties: false }),
        response: answers({ 200: TaskAnswer }),
      },
    },
    async (request) => {
      const id = taskId(request.params.id);
      const { wait = 0 } = request.query;
      const caller = callerOf(request);
      const look = (known: string) =>
        wait === 0
          ? api.task(caller, known)
          : api.waitForTask(caller, known, wait * 1000, signalOf(request, closing));
      const task = id === undefined ? undefined : await look(id);
      if (!task) throw notFound("task");
      return taskAnswer(task);
    },
  );

  app.post(
    "/task/:id/retry",
    {
      ...act,
      schema: {
        summary: "Put a failed or cancelled task back into the queue",
        tags: ["tasks"],
        params: TaskId,
        response: answers({ 200: TaskAnswer }),
      },
    },
    async (request) => {
      const id = taskId(request.params.id);
      const task = id === undefined ? undefined : await api.retry(callerOf(request), id);
      if (!task) throw notFound("task");
      if ("accepted" in task) throw problemOfRefusal(task);
      return taskAnswer(task);
    },
  );

  app.post(
    "/task/:id/cancel",
    {
      ...act,
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

  app.get(
    "/task/:id/why",
    {
      ...read,
      schema: {
        summary: "Why a task waits, or runs where it does",
        tags: ["tasks"],
        params: TaskId,
        response: answers({ 200: WhyAnswer }),
      },
    },
    async (request) => {
      const id = taskId(request.params.id);
      const why = id === undefined ? undefined : await api.why(callerOf(request), id);
      if (!why) throw notFound("task");
      const { placed } = why;
      return {
        id: why.id,
        status: why.status,
        waiting: why.waiting.map((reason) => ({ ...reason })),
        placed: placed
          ? {
              worker_id: placed.worker,
              attempt: placed.attempt,
              reason: { ...placed.reason },
              runner_up: placed.runnerUp ?? null,
              rejected: { ...placed.rejected },
              text: placed.text,
            }
          : null,
      };
    },
  );

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
      const lines = id === undefined ? undefined : await api.log(callerOf(request), id, after, limit);
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

  app.get(
    "/tasks",
    {
      ...read,
      schema: {
        summary: "List tasks, newest first",
        tags: ["tasks"],
        querystring: Type.Object(
          {
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
      const { status, executor, task_type, run, agent, limit = 50, cursor } = request.query;
      const filter: ListFilter = {
        ...(status === undefined ? {} : { statuses: statusesOf(status) }),
        ...(executor === undefined ? {} : { executor }),
        ...(task_type === undefined ? {} : { type: task_type }),
        ...(run === undefined ? {} : { runId: run }),
        ...(agent === undefined ? {} : { agent }),
      };
      const after = cursor === undefined ? undefined : cursors.open(cursor);
      const { items, next } = await api.tasks(callerOf(request), filter, after, limit);
      return { tasks: items.map(taskSummary), next: next ? cursors.seal(next) : null };
    },
  );
}

/** The key may stand in the header or in the body; two different ones contradict each other. */
function withKey(body: SubmitBody, header: string | undefined): SubmitBody {
  if (header === undefined) return body;
  const inBody = body.idempotency_key ?? header;
  if (inBody !== header) {
    const detail = "differs from the Idempotency-Key header; send one of the two";
    throw invalid([{ in: "body", pointer: "/idempotency_key", detail }]);
  }
  return { ...body, idempotency_key: header };
}

function accepted(body: SubmitBody): TaskSubmission {
  const reading = readSubmission(body);
  if (!reading.ok) throw invalid(reading.errors);
  return reading.submission;
}

function acceptedBatch(bodies: readonly SubmitBody[]): TaskSubmission[] {
  const errors: ErrorItem[] = [];
  const submissions: TaskSubmission[] = [];
  for (const [index, body] of bodies.entries()) {
    const reading = readSubmission(body, `/tasks/${index}`);
    if (reading.ok) submissions.push(reading.submission);
    else errors.push(...reading.errors);
  }
  if (errors.length > 0) throw invalid(errors.slice(0, 100));
  return submissions;
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
