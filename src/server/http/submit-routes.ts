import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest, FastifySchemaCompiler } from "fastify";
import { type TSchema, Type } from "typebox";
import { invariant } from "../../core/index.ts";
import {
  BatchAnswer,
  BatchBody,
  SubmitBody as SubmitBodySchema,
  TaskAnswer,
} from "../../protocol/api-schemas.ts";
import type { Api, Submitted, TaskSubmission } from "../api.ts";
import { sendTask, taskSummary } from "./answers.ts";
import { headerOf } from "./auth.ts";
import { ApartBody } from "./body-thread.ts";
import { documentOf, problemOfRefusal, retryAfter } from "./problems.ts";
import { readTask, readTasks } from "./read-body.ts";
import { type App, answers, type Edge, LARGEST_BODY, MIB } from "./route.ts";
import { shareOf } from "./shares.ts";
import { submitTraced } from "./traced-submission.ts";
import { validatorCompiler } from "./validation.ts";

/** What a submission needs beside its payload. */
const ENVELOPE = 64 * 1024;
const THROTTLE_MS = 1000;
/** Time of the main thread, in ms, that a refused task of a batch takes. */
const REFUSED_MS = 0.1;
/** Slices of a batch that are submitted before the first of them is committed. */
const SLICES_AHEAD = 3;

/** Submissions are in the ledger. */
const submit = { config: { scopes: ["submit"], audit: "none" } } as const;

export function submitRoutes(app: App, { api }: Edge): void {
  app.post(
    "/submit",
    {
      config: {
        ...submit.config,
        formOf: (request) => ({ of: "task", idempotencyKey: idempotencyKey(request) }),
      },
      validatorCompiler: checkedHere,
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
      const { body } = request;
      const key = idempotencyKey(request);
      const submission = body instanceof ApartBody ? await body.only() : readTask(body, key);
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
      config: { ...submit.config, formOf: () => ({ of: "batch" }) },
      validatorCompiler: checkedHere,
      bodyLimit: LARGEST_BODY,
      schema: {
        summary: "Submit many tasks",
        description: "Each is taken or refused by itself, but none is taken when the form of one is wrong.",
        tags: ["tasks"],
        body: BatchBody,
        response: answers({ 200: BatchAnswer }),
      },
    },
    async (request, reply) => {
      const { body } = request;
      if (body instanceof ApartBody) return await submitApart(api, request, reply, body);
      const submitted = await submitTraced(api, request, readTasks(body.tasks));
      chargeRefused(request, submitted);
      if (submitted.some(isThrottled)) reply.header("retry-after", retryAfter(THROTTLE_MS));
      return reply.send({ results: submitted.map((one) => resultOf(one, request.id)) });
    },
  );
}

/** A body that the body thread has read was checked there. */
const checkedHere: FastifySchemaCompiler<TSchema> = (part) => {
  const check = validatorCompiler(part);
  return (value: unknown) => (value instanceof ApartBody ? true : check(value));
};

function idempotencyKey({ headers }: FastifyRequest): string | undefined {
  return headerOf(headers, "idempotency-key");
}

/** Submits a large batch in slices, a few ahead of their commits, and answers in pieces of as many tasks. */
async function submitApart(
  api: Api,
  request: FastifyRequest,
  reply: FastifyReply,
  body: ApartBody,
): Promise<FastifyReply> {
  const pieces: Promise<Buffer>[] = [];
  let throttled = false;
  for await (const slice of body.slices()) {
    await pieces.at(-SLICES_AHEAD);
    const piece = submitTraced(api, request, slice as readonly TaskSubmission[]).then((submitted) => {
      throttled ||= submitted.some(isThrottled);
      chargeRefused(request, submitted);
      // Buffers, because answers to large batches would fill the heap.
      return Buffer.from(submitted.map((one) => JSON.stringify(resultOf(one, request.id))).join());
    });
    // A failure is seen when the pieces are collected.
    piece.catch(() => {});
    pieces.push(piece);
  }
  const made = await Promise.all(pieces);
  const length = made.reduce((sum, piece) => sum + piece.length, 0);
  const problem = shareOf(request).holdAnswer(length, reply.raw);
  if (problem) throw problem;
  if (throttled) reply.header("retry-after", retryAfter(THROTTLE_MS));
  return reply.type("application/json; charset=utf-8").send(Readable.from(resultsText(made)));
}

function* resultsText(pieces: readonly Buffer[]): Generator<Buffer | string> {
  yield '{"results":[';
  for (const [at, piece] of pieces.entries()) {
    if (at > 0) yield ",";
    yield piece;
  }
  yield "]}";
}

function resultOf(one: Submitted, requestId: string) {
  if (one.accepted) return { status: one.repeated ? 200 : 201, task: taskSummary(one.task) };
  const problem = problemOfRefusal(one);
  return { status: problem.statusCode, problem: documentOf(problem, requestId) };
}

/** Accepted tasks count towards the backlog. Refused ones would cost their sender nothing. */
function chargeRefused(request: FastifyRequest, submitted: readonly Submitted[]): void {
  shareOf(request).work.take(REFUSED_MS * submitted.filter(({ accepted }) => !accepted).length);
}

function isThrottled(one: Submitted): boolean {
  return one.accepted && one.throttle;
}
