import {
  AgentAnswer,
  AgentBody,
  AgentsAnswer,
  ConcurrencyBody,
  CreditsBody,
  DrainAnswer,
  LimitAnswer,
  LimitBody,
  LimitsAnswer,
  PauseAnswer,
  PauseBody,
  WorkersAnswer,
  ZoneAnswer,
} from "../../protocol/api-schemas.ts";
import type { Rate } from "../../queue/index.ts";
import type { AgentView, LimitView } from "../api.ts";
import { microsText, parseMicros } from "./amounts.ts";
import { callerOf } from "./auth.ts";
import { emptyIfMissing } from "./body-parsers.ts";
import { workerAnswer } from "./fleet-routes.ts";
import { MomentQuery, readingOf } from "./moments.ts";
import { invalid, problemOfRefusal } from "./problems.ts";
import { type App, answers, type Edge, isName, notFound, PathId } from "./route.ts";

const read = { config: { scopes: ["read"] } } as const;
const tags = ["administration"];

/** What a zone's admins set, and what there is to see of it. */
export function adminRoutes(app: App, edge: Edge): void {
  const { api } = edge;
  app.get(
    "/workers",
    {
      ...read,
      schema: {
        summary: "List the zone's workers",
        tags,
        querystring: MomentQuery,
        response: answers({ 200: WorkersAnswer }),
      },
    },
    async (request) => {
      const reading = readingOf(edge, request);
      return { workers: (await reading.workers(callerOf(request))).map(workerAnswer) };
    },
  );

  app.post(
    "/workers/:id/drain",
    {
      config: { scopes: ["admin"], ignoresBody: true, audit: "worker.drain" },
      schema: {
        summary: "Give a worker nothing new",
        tags,
        params: PathId("id", "A worker's id."),
        response: answers({ 200: DrainAnswer }),
      },
    },
    async (request) => {
      const { id } = request.params;
      const draining = isName(id) && (await api.drainWorker(callerOf(request), id));
      if (!draining) throw notFound("worker");
      return { draining, worker_id: id };
    },
  );

  for (const [path, paused] of [
    ["/pause", true],
    ["/resume", false],
  ] as const) {
    app.post(
      path,
      {
        config: { scopes: ["admin"], audit: paused ? "queue.pause" : "queue.resume" },
        preValidation: emptyIfMissing,
        schema: {
          summary: paused ? "Start nothing of an executor, or of the zone" : "Start again what was paused",
          tags,
          body: PauseBody,
          response: answers({ 200: PauseAnswer }),
        },
      },
      async (request) => {
        const { executor } = request.body;
        await api.setPaused(callerOf(request), executor, paused);
        return { paused, executor: executor ?? null };
      },
    );
  }

  app.put(
    "/zone",
    {
      config: { scopes: ["admin"], audit: "zone.set" },
      schema: {
        summary: "Set how many tasks an agent of the zone may run at once",
        tags,
        body: ConcurrencyBody,
        response: answers({ 200: ZoneAnswer }),
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const { max_concurrent } = request.body;
      await api.setZoneLimit(caller, max_concurrent);
      return { zone: caller.zone, ...(max_concurrent === undefined ? {} : { max_concurrent }) };
    },
  );

  agentRoutes(app, edge);
  limitRoutes(app, edge);
}

function agentRoutes(app: App, edge: Edge): void {
  const { api } = edge;
  const Agent = PathId("agent", "An agent's name.");
  app.get(
    "/agents",
    {
      ...read,
      schema: {
        summary: "List the agents that are known",
        tags,
        querystring: MomentQuery,
        response: answers({ 200: AgentsAnswer }),
      },
    },
    async (request) => {
      const reading = readingOf(edge, request);
      return { agents: (await reading.agents(callerOf(request))).map(agentAnswer) };
    },
  );

  app.put(
    "/agents/:agent",
    {
      config: { scopes: ["admin"], audit: "agent.set" },
      schema: {
        summary: "Set how many tasks an agent may run at once, and how fast it may submit",
        description:
          "Null: no limit. Left out: as the zone or the configuration says. A submission above the rate is refused " +
          "with 429; a graph counts as one.",
        tags,
        params: Agent,
        body: AgentBody,
        response: answers({ 200: AgentAnswer }),
      },
    },
    async (request) => {
      const agent = named("agent", request.params.agent);
      const { max_concurrent: maxConcurrent, rate } = request.body;
      const limit = { maxConcurrent, rate: rate && rateOf(rate) };
      return agentAnswer(await api.setAgentLimit(callerOf(request), agent, limit));
    },
  );

  app.post(
    "/agents/:agent/credits",
    {
      config: { scopes: ["admin"], audit: "agent.credits" },
      schema: {
        summary: "Give an agent credits",
        tags,
        params: Agent,
        body: CreditsBody,
        response: answers({ 200: AgentAnswer }),
      },
    },
    async (request) => {
      const agent = named("agent", request.params.agent);
      const micros = parseMicros(request.body.amount);
      if (typeof micros !== "number")
        throw invalid([{ in: "body", pointer: "/amount", detail: micros.refusal }]);
      const granted = await api.grantCredits(callerOf(request), agent, micros);
      if ("accepted" in granted) throw problemOfRefusal(granted);
      return agentAnswer(granted);
    },
  );
}

function limitRoutes(app: App, edge: Edge): void {
  const { api } = edge;
  app.get(
    "/limits",
    {
      ...read,
      schema: {
        summary: "List the limits that tasks name",
        tags,
        querystring: MomentQuery,
        response: answers({ 200: LimitsAnswer }),
      },
    },
    async (request) => {
      const reading = readingOf(edge, request);
      return { limits: (await reading.limits(callerOf(request))).map(limitAnswer) };
    },
  );

  app.put(
    "/limits/:name",
    {
      config: { scopes: ["admin"], audit: "limit.set" },
      schema: {
        summary: "Set a limit that tasks name",
        description: "What is null or left out is not limited.",
        tags,
        params: PathId("name", "A limit's name."),
        body: LimitBody,
        response: answers({ 200: LimitAnswer }),
      },
    },
    async (request) => {
      const { concurrency = null, rate = null } = request.body;
      const limit = { name: named("name", request.params.name), concurrency, rate: rate && rateOf(rate) };
      return limitAnswer(await api.setLimit(callerOf(request), limit));
    },
  );
}

function rateOf({ count, per_seconds }: { count: number; per_seconds: number }): Rate {
  return { count, periodMs: Math.max(1, Math.round(per_seconds * 1000)) };
}

/** A name in a path that is about to be kept, rather than looked for. */
function named(parameter: string, name: string): string {
  if (isName(name)) return name;
  const detail = "must have 1 to 256 characters without control characters";
  throw invalid([{ in: "path", pointer: `/${parameter}`, detail }]);
}

function agentAnswer(view: AgentView): AgentAnswer {
  return {
    agent: view.agent,
    running_count: view.running,
    max_concurrent: view.maxConcurrent,
    own_max_concurrent: view.hasOwnMax,
    rate: perSeconds(view.rate),
    own_rate: view.hasOwnRate,
    credits: microsText(view.creditsMicros),
    reserved_credits: microsText(view.reservedMicros),
    cost: microsText(view.costMicros),
  };
}

function limitAnswer({ name, concurrency, rate, running }: LimitView): LimitAnswer {
  return { name, concurrency, rate: perSeconds(rate), running_count: running };
}

function perSeconds(rate: Rate | null): LimitAnswer["rate"] {
  return rate && { count: rate.count, per_seconds: rate.periodMs / 1000 };
}
