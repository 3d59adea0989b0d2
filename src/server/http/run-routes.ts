import type { FastifyRequest } from "fastify";
import { Type } from "typebox";
import {
  Name,
  NewRunId,
  RunAnswer,
  RunBody,
  RunCancelled,
  RunPage,
  RunPlanAnswer,
} from "../../protocol/api-schemas.ts";
import { runAnswer, runLine, sendRunPlan } from "./answers.ts";
import { callerOf } from "./auth.ts";
import { unsupported } from "./body-parsers.ts";
import { Moment, MomentQuery, readingOf } from "./moments.ts";
import { problemOfRefusal } from "./problems.ts";
import {
  type App,
  answers,
  type Edge,
  isName,
  MIB,
  notFound,
  PageLimit,
  PathId,
  REQUEST_TIMEOUT_MS,
  Wait,
} from "./route.ts";
import { shareOf } from "./shares.ts";
import { signalOf } from "./signal.ts";
import { submitRunTraced } from "./traced-submission.ts";

const MAX_GRAPH_BYTES = 16 * MIB;
const YAML_TYPES = ["application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"];

/** A body as it came. */
interface WholeBody {
  readonly bytes: Buffer;
  readonly isYaml: boolean;
}

const NO_BODY: WholeBody = { bytes: Buffer.alloc(0), isYaml: false };

const RunId = PathId("id", "A run's id.");
const RunQuery = Type.Object(
  {
    name: Type.Optional(Name("Beats the graph's own name.", "nightly")),
    id: Type.Optional(NewRunId),
    fail_fast: Type.Optional(Type.Boolean({ default: false, description: "A failed node ends the run." })),
  },
  { additionalProperties: false },
);

export function runRoutes(app: App, edge: Edge): void {
  const { api, cursors, closing } = edge;
  app.get(
    "/runs",
    {
      config: { scopes: ["read"] },
      schema: {
        summary: "List runs, newest first",
        tags: ["runs"],
        querystring: Type.Object(
          {
            ...Moment,
            limit: Type.Optional(PageLimit),
            cursor: Type.Optional(Type.String({ maxLength: 1024 })),
          },
          { additionalProperties: false },
        ),
        response: answers({ 200: RunPage }),
      },
    },
    async (request) => {
      const { limit = 50, cursor } = request.query;
      const after = cursor === undefined ? undefined : cursors.open(cursor);
      const reading = readingOf(edge, request);
      const { items, next } = await reading.runs(callerOf(request), after, limit);
      return { runs: items.map(runLine), next: next ? cursors.seal(next) : null };
    },
  );

  app.get(
    "/runs/:id",
    {
      config: { scopes: ["read"], answerWithinMs: 3 * REQUEST_TIMEOUT_MS },
      schema: {
        summary: "Get a run, or wait for its end",
        tags: ["runs"],
        params: RunId,
        querystring: Type.Object({ ...Moment, wait: Type.Optional(Wait) }, { additionalProperties: false }),
        response: answers({ 200: RunAnswer }),
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const { wait = 0, at } = request.query;
      const caller = callerOf(request);
      const look = () =>
        wait === 0 || at !== undefined
          ? readingOf(edge, request).run(caller, id)
          : api.waitForRun(caller, id, wait * 1000, signalOf(reply.raw, closing));
      const run = isName(id) ? await look() : undefined;
      if (!run) throw notFound("run");
      return runAnswer(run);
    },
  );

  app.get(
    "/runs/:id/plan",
    {
      config: { scopes: ["read"] },
      schema: {
        summary: "Get a run's plan",
        description:
          "What happened to each node, and when what remains should start and end: if it takes as long as it was " +
          "estimated, on the workers that are there, beside what they have now.",
        tags: ["runs"],
        params: RunId,
        querystring: MomentQuery,
        response: answers({ 200: RunPlanAnswer }),
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const reading = readingOf(edge, request);
      const plan = isName(id) ? await reading.runPlan(callerOf(request), id) : undefined;
      if (!plan) throw notFound("run");
      return sendRunPlan(reply, plan);
    },
  );

  app.post(
    "/runs/:id/cancel",
    {
      config: { scopes: ["submit"], ignoresBody: true, audit: "run.cancel" },
      schema: {
        summary: "Cancel a run",
        tags: ["runs"],
        params: RunId,
        response: answers({ 200: RunCancelled }),
      },
    },
    async (request) => {
      const { id } = request.params;
      const cancelled = isName(id) ? await api.cancelRun(callerOf(request), id) : false;
      return { cancelled, run_id: id };
    },
  );
}

/** In a scope of its own, because graph files may be YAML, and are read by a reader of their own. */
export function runSubmissionRoute(app: App, { api, bodies, closing }: Edge): void {
  app.removeAllContentTypeParsers();
  const types = ["application/json", ...YAML_TYPES];
  app.addContentTypeParser(
    types,
    { parseAs: "buffer" },
    async (request: FastifyRequest, bytes: Buffer): Promise<WholeBody> => ({
      bytes,
      isYaml: !/json/i.test(request.headers["content-type"] ?? ""),
    }),
  );
  app.addContentTypeParser("*", async () => {
    throw unsupported(
      "send a run as application/json, or a graph file as application/yaml or application/json",
    );
  });

  app.post(
    "/runs",
    {
      // A submission is in the ledger.
      config: { scopes: ["submit"], audit: "none" },
      bodyLimit: MAX_GRAPH_BYTES,
      // What the body may be is for the document only: a graph file is checked by its own reader.
      validatorCompiler: (route) =>
        route.httpPart === "body" ? () => true : (app.validatorCompiler?.(route) ?? (() => true)),
      schema: {
        summary: "Submit a run",
        description:
          "As JSON with the graph in it, or the graph file itself as JSON or YAML (up to 128 KiB).",
        tags: ["runs"],
        consumes: ["application/json", "application/yaml"],
        querystring: RunQuery,
        body: Type.Union([RunBody, Type.Record(Type.String(), Type.Unknown(), { title: "GraphFile" })]),
        response: answers({ 201: RunAnswer }),
      },
    },
    async (request, reply) => {
      const { bytes, isYaml } = (request.body as unknown as WholeBody | undefined) ?? NO_BODY;
      const form = { of: "run", isYaml, options: request.query } as const;
      const run = await bodies.run(shareOf(request), form, bytes, signalOf(reply.raw, closing));
      const submitted = await submitRunTraced(api, request, run);
      if ("accepted" in submitted) throw problemOfRefusal(submitted);
      const path = `${app.prefix}/runs/${encodeURIComponent(submitted.id)}`;
      return reply.code(201).header("location", path).send(runAnswer(submitted));
    },
  );
}
