import type { FastifyRequest } from "fastify";
import { Type } from "typebox";
import {
  type ErrorItem,
  Name,
  NewRunId,
  RunAnswer,
  RunBody,
  RunCancelled,
  RunPage,
  RunPlanAnswer,
} from "../../protocol/api-schemas.ts";
import { type GraphFile, type GraphFileResult, readGraphFile, readGraphValue } from "../../protocol/index.ts";
import type { RunSubmission } from "../api.ts";
import { runAnswer, runLine, sendRunPlan } from "./answers.ts";
import { callerOf } from "./auth.ts";
import { unsupported } from "./body-parsers.ts";
import { jsonReader } from "./json-body.ts";
import { Moment, MomentQuery, readingOf } from "./moments.ts";
import { invalid, Problem, problemOfRefusal } from "./problems.ts";
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
import { signalOf } from "./signal.ts";
import { submitRunTraced } from "./traced-submission.ts";
import { checkOf } from "./validation.ts";

const MAX_GRAPH_BYTES = 16 * MIB;
/** YAML takes some fifty times as long as JSON to read, and nothing else happens meanwhile. */
const MAX_YAML_CHARACTERS = 128 * 1024;
/** Nothing else happens either while a graph is read that is all wrong, or larger than it looks. */
const LIMITS = { maxNodes: 100_000, maxProblems: 100, maxCharacters: 32 * MIB };
const YAML_TYPES = ["application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"];

/** A body as it came: problems of a graph are told with their lines. */
interface GraphText {
  readonly text: string;
  /** Undefined: YAML. */
  readonly json: unknown;
}

const RunId = PathId("id", "A run's id.");
const RunQuery = Type.Object(
  {
    name: Type.Optional(Name("Beats the graph's own name.", "nightly")),
    id: Type.Optional(NewRunId),
    fail_fast: Type.Optional(Type.Boolean({ default: false, description: "A failed node ends the run." })),
  },
  { additionalProperties: false },
);
const checkRunBody = checkOf(RunBody, "body");

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
      config: { scopes: ["submit"], ignoresBody: true },
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

/** In a scope of its own, because its bodies are kept as they came. */
export function runSubmissionRoute(app: App, { api }: Edge): void {
  const readJson = jsonReader(app);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/json",
    { parseAs: "string" },
    async (request: FastifyRequest, text: string): Promise<GraphText> => ({
      text,
      json: readJson(request, text, refuseManyNodes),
    }),
  );
  app.addContentTypeParser(
    YAML_TYPES,
    { parseAs: "string" },
    async (_: FastifyRequest, text: string): Promise<GraphText> => {
      if (text.length > MAX_YAML_CHARACTERS)
        throw new Problem("too-large", "YAML may have 128 KiB; send larger graphs as JSON");
      return { text, json: undefined };
    },
  );
  app.addContentTypeParser("*", async () => {
    throw unsupported(
      "send a run as application/json, or a graph file as application/yaml or application/json",
    );
  });

  app.post(
    "/runs",
    {
      config: { scopes: ["submit"] },
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
      const run = readRun(request.body as unknown as GraphText | undefined, request.query);
      const submitted = await submitRunTraced(api, request, run);
      if ("accepted" in submitted) throw problemOfRefusal(submitted);
      const path = `${app.prefix}/runs/${encodeURIComponent(submitted.id)}`;
      return reply.code(201).header("location", path).send(runAnswer(submitted));
    },
  );
}

interface RunOptions {
  readonly name?: string;
  readonly id?: string;
  readonly fail_fast?: boolean;
}

function readRun(body: GraphText | undefined, query: RunOptions): RunSubmission {
  if (!body || body.text.trim() === "") {
    throw invalid([
      { in: "body", pointer: "", detail: "is missing; send a graph such as {nodes: {hello: {task: greet}}}" },
    ]);
  }
  if (!isEnvelope(body.json)) {
    const fileName = `${query.name ?? "graph"}.${body.json === undefined ? "yaml" : "json"}`;
    return submissionOf(graphOf(readGraphFile(body.text, fileName, LIMITS), ""), query);
  }
  const errors = checkRunBody(body.json);
  if (errors.length > 0) throw invalid(errors);
  const { graph, ...options } = body.json as RunBody;
  const read = readGraphValue(graph, "graph.json", LIMITS);
  return submissionOf(graphOf(read, "/graph"), { ...query, ...options });
}

/** At once: with more of them, even saying what is wrong would take too long. */
function refuseManyNodes(json: unknown): void {
  const { graph = json } = (json ?? {}) as { readonly graph?: unknown };
  const { nodes } = (graph ?? {}) as { readonly nodes?: unknown };
  const count = typeof nodes === "object" && nodes !== null ? Object.keys(nodes).length : 0;
  if (count <= LIMITS.maxNodes) return;
  const detail = `nodes has ${count} entries and the limit is ${LIMITS.maxNodes}; split the graph`;
  throw new Problem("too-many-nodes", detail);
}

/** A graph file has nodes; what has a graph instead is a request about one. */
function isEnvelope(json: unknown): boolean {
  return typeof json === "object" && json !== null && Object.hasOwn(json, "graph");
}

function submissionOf(graph: GraphFile, { name, id, fail_fast = false }: RunOptions): RunSubmission {
  return { id, graph: name === undefined ? graph : { ...graph, name }, failFast: fail_fast };
}

function graphOf(result: GraphFileResult, pointer: string): GraphFile {
  if (result.ok) return result.graph;
  const isFile = pointer === "";
  const errors = result.problems.map(({ line, column, path, message }): ErrorItem => {
    const place = isFile ? { line, column } : {};
    return { in: "body", pointer, detail: message, path, ...place };
  });
  const [first] = result.problems;
  const where = first && isFile ? `line ${first.line}: ` : "";
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  throw new Problem("invalid-graph", `${where}${first?.message ?? ""}${more}`, { errors });
}
