import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { Type } from "typebox";
import { taskSpecOf } from "../../graph/index.ts";
import { chromeTrace } from "../../history/index.ts";
import {
  EventData,
  NODE_STATUSES,
  RunForecastAnswer,
  RunGraphAnswer,
  RunNodesAnswer,
} from "../../protocol/api-schemas.ts";
import type { RunGraphView, RunNodesView, RunPlanView, StreamEvent } from "../api.ts";
import { callerOf } from "./auth.ts";
import { eventData } from "./event-routes.ts";
import { instantOrNull, instantText } from "./instants.ts";
import { Moment, MomentQuery, readingOf } from "./moments.ts";
import { Problem } from "./problems.ts";
import { type App, answers, type Edge, isName, notFound, PathId, REQUEST_TIMEOUT_MS } from "./route.ts";
import { shareOf } from "./shares.ts";
import { signalOf } from "./signal.ts";

const RunId = PathId("id", "A run's id.");
const JSON_TYPE = "application/json; charset=utf-8";
const NDJSON_TYPE = "application/jsonl";
const tags = ["runs"];
const read = { config: { scopes: ["read"] } } as const;
/** Errors and skipped nodes that are told of; all are among the tasks. */
const LISTED = 100;
const MESSAGE_CHARS = 500;
/** All that happened while the run went on is read for it. */
const TRACE_WITHIN_MS = 4 * REQUEST_TIMEOUT_MS;
const Trace = Type.Object(
  {
    displayTimeUnit: Type.String(),
    otherData: Type.Object({ start: Type.String() }),
    traceEvents: Type.Array(Type.Record(Type.String(), Type.Unknown())),
  },
  { title: "Trace" },
);

/** A run by columns, for pictures of it. */
export function runGraphRoutes(app: App, edge: Edge): void {
  const { api, cursors, closing } = edge;
  app.get(
    "/runs/:id/graph",
    {
      ...read,
      schema: {
        summary: "Get a run's graph, by columns",
        description: "What does not change about it. Columns have a value for each node, in one order.",
        tags,
        params: RunId,
        querystring: MomentQuery,
        response: answers({ 200: RunGraphAnswer }),
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const found = isName(id) ? await readingOf(edge, request).runGraph(callerOf(request), id) : undefined;
      if (!found) throw notFound("run");
      if (found === "gone") throw gone();
      return send(reply, graphAnswer(found));
    },
  );

  app.get(
    "/runs/:id/graph/nodes",
    {
      ...read,
      schema: {
        summary: "Get where a run's nodes stand, by columns",
        description: "With `cursor`, only of those that changed since the answer whose `next` it was.",
        tags,
        params: RunId,
        querystring: Type.Object(
          { ...Moment, cursor: Type.Optional(Type.String({ maxLength: 1024 })) },
          { additionalProperties: false },
        ),
        response: answers({ 200: RunNodesAnswer }),
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const { cursor } = request.query;
      const place = cursor === undefined ? undefined : cursors.open(cursor);
      // A place in another run says nothing about this one.
      const after = place?.id === id ? place.submittedSeq : undefined;
      const reading = readingOf(edge, request);
      const found = isName(id) ? await reading.runNodes(callerOf(request), id, after) : undefined;
      if (!found) throw notFound("run");
      if (found === "gone") throw gone();
      const { seq } = found;
      const next = seq === undefined ? null : cursors.seal({ submittedSeq: seq, id });
      return send(reply, nodesAnswer(found, next));
    },
  );

  app.get(
    "/runs/:id/graph/forecast",
    {
      ...read,
      schema: {
        summary: "Get when what remains of a run should start and end, by columns",
        description: "As its plan has it, for the nodes of its graph.",
        tags,
        params: RunId,
        querystring: MomentQuery,
        response: answers({ 200: RunForecastAnswer }),
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const caller = callerOf(request);
      const reading = readingOf(edge, request);
      const plan = isName(id) ? await reading.runPlan(caller, id) : undefined;
      const graph = plan && (await reading.runGraph(caller, id));
      if (!graph || !plan) throw notFound("run");
      if (graph === "gone") throw gone();
      return send(reply, forecastAnswer(plan, graph));
    },
  );

  app.get(
    "/runs/:id/trace",
    {
      config: { scopes: ["read"], answerWithinMs: TRACE_WITHIN_MS },
      schema: {
        summary: "Get what ran when as a trace",
        description:
          "Of all attempts of a run, from the ledger: Chrome's trace events, which Perfetto (ui.perfetto.dev) opens.",
        tags,
        params: RunId,
        response: answers({ 200: Trace }),
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const signal = signalOf(reply.raw, closing);
      await shareOf(request).turnToRead(reply.raw);
      const history = isName(id) ? await api.runHistory(callerOf(request), id, signal) : undefined;
      if (!history) throw notFound("run");
      // Nobody waits for it any more.
      if (signal.aborted) return reply;
      return sendPieces(reply, JSON_TYPE, chromeTrace(history));
    },
  );

  app.get(
    "/runs/:id/history",
    {
      config: { scopes: ["read"], answerWithinMs: TRACE_WITHIN_MS },
      schema: {
        summary: "Get all that happened in a run",
        description: "Each line is an Event, as JSON; from the ledger, however long ago.",
        tags: ["events", ...tags],
        params: RunId,
        produces: [NDJSON_TYPE],
        response: answers({ 200: Type.String({ description: "JSON lines.", "x-event-data": EventData }) }),
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const signal = signalOf(reply.raw, closing);
      await shareOf(request).turnToRead(reply.raw);
      const events = isName(id) ? await api.runEvents(callerOf(request), id, signal) : undefined;
      if (!events) throw notFound("run");
      return sendPieces(reply, NDJSON_TYPE, linesOf(events));
    },
  );
}

async function* linesOf(events: AsyncIterable<StreamEvent>): AsyncGenerator<string> {
  for await (const event of events) yield `${JSON.stringify(eventData(event))}\n`;
}

function gone(): Problem {
  return new Problem("not-found", "the graph of this run is no longer in the ledger");
}

/** Written at once: to check each of some hundred thousand numbers again would take longer than all the rest. */
function send(reply: FastifyReply, answer: unknown): FastifyReply {
  return reply.type(JSON_TYPE).send(JSON.stringify(answer));
}

function sendPieces(
  reply: FastifyReply,
  type: string,
  pieces: Iterable<string> | AsyncIterable<string>,
): FastifyReply {
  return reply.type(type).send(Readable.from(pieces));
}

function graphAnswer({ run, graph, parent }: RunGraphView): RunGraphAnswer {
  const edges: number[] = [];
  const handed: number[] = [];
  for (const [node, needs] of graph.needs.entries()) {
    const inputs = graph.inputs?.[node] ?? 0;
    for (const [at, need] of needs.entries()) {
      if (at < inputs) handed.push(edges.length / 2);
      edges.push(need, node);
    }
  }
  return {
    run_id: run.id,
    nodes: [...graph.ids],
    kinds: graph.specs.map(taskSpecOf).map(({ type, executor, estimateMs }) => ({
      task_type: type,
      executor,
      estimate: estimateMs / 1000,
    })),
    kind: [...graph.spec],
    edges,
    handed: graph.inputs ? handed : null,
    parent: parent ? { run_id: parent.runId, node: parent.node } : null,
  };
}

function nodesAnswer(view: RunNodesView, next: string | null): RunNodesAnswer {
  const { run, now, nodes, columns } = view;
  const workers = [...new Set(columns.map(({ worker }) => worker))].filter((name) => name !== "");
  const places = new Map(workers.map((name, at) => [name, at]));
  const numbers = new Map(NODE_STATUSES.map((name, at) => [name, at]));
  const since = (at: number) => (at < 0 ? -1 : Math.max(0, at - run.submittedAt));
  const errors = columns.flatMap(({ status, errorCode, errorMessage }, at) =>
    status === "failed"
      ? [{ node: nodes?.[at] ?? at, code: errorCode, message: errorMessage.slice(0, MESSAGE_CHARS) }]
      : [],
  );
  return {
    run_id: run.id,
    at: instantText(now),
    next,
    nodes: nodes ? [...nodes] : null,
    statuses: [...NODE_STATUSES],
    status: columns.map(({ status }) => numbers.get(status) ?? 0),
    attempt: columns.map(({ attempt }) => attempt),
    started: columns.map(({ startedAt }) => since(startedAt)),
    ended: columns.map(({ endedAt }) => since(endedAt)),
    workers,
    worker: columns.map(({ worker }) => places.get(worker) ?? -1),
    bytes: columns.map(({ bytes }) => bytes),
    errors: errors.slice(0, LISTED),
    tried: view.tried.map((one) => ({ ...one, winner: one.winner ?? null })),
    added: view.added.map(({ node, runId }) => ({ node, run_id: runId })),
  };
}

function forecastAnswer({ run, now, forecast }: RunPlanView, { graph }: RunGraphView): RunForecastAnswer {
  const answer = { nodes: [] as number[], start: [] as number[], end: [] as number[] };
  const critical: number[] = [];
  const skipped: { node: number; code: string }[] = [];
  for (const [node, id] of graph.ids.entries()) {
    const expected = forecast?.nodes.get(id);
    const code = forecast?.skipped.get(id);
    if (code !== undefined) skipped.push({ node, code });
    if (!expected) continue;
    const startedAt = forecast?.startedAt.get(id);
    answer.nodes.push(node);
    answer.start.push((startedAt ?? expected.start) - run.submittedAt);
    answer.end.push(expected.end - run.submittedAt);
    if (expected.isCritical) critical.push(node);
  }
  return {
    run_id: run.id,
    planned_at: instantText(now),
    expected_end: instantOrNull(forecast?.end ?? -1),
    earliest_end: instantOrNull(forecast?.earliestEnd ?? -1),
    ...answer,
    critical,
    skipped: skipped.slice(0, LISTED),
  };
}
