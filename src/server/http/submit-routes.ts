import { Type } from "typebox";
import { invariant } from "../../core/index.ts";
import {
  BatchAnswer,
  BatchBody,
  type ErrorItem,
  type SubmitBody,
  SubmitBody as SubmitBodySchema,
  TaskAnswer,
} from "../../protocol/api-schemas.ts";
import type { TaskSubmission } from "../api.ts";
import { sendTask, taskSummary } from "./answers.ts";
import { headerOf } from "./auth.ts";
import { documentOf, invalid, problemOfRefusal, retryAfter } from "./problems.ts";
import { type App, answers, type Edge, MIB } from "./route.ts";
import { readSubmission } from "./submission.ts";
import { submitTraced } from "./traced-submission.ts";

/** What a submission needs beside its payload. */
const ENVELOPE = 64 * 1024;
const THROTTLE_MS = 1000;

const submit = { config: { scopes: ["submit"] } } as const;

export function submitRoutes(app: App, { api }: Edge): void {
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
      const [submitted] = await submitTraced(api, request, [submission]);
      invariant(submitted, "a submission is answered");
      if (!submitted.accepted) throw problemOfRefusal(submitted);
      if (submitted.throttle) reply.header("retry-after", retryAfter(THROTTLE_MS));
      if (submitted.repeated) reply.header("idempotency-replayed", "true");
      else reply.header("location", `${app.prefix}/task/${submitted.id}`);
      return sendTask(reply.code(submitted.repeated ? 200 : 201), submitted.task);
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
      const submitted = await submitTraced(api, request, submissions);
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
