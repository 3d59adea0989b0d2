import {
  Classified,
  ClassifyBody,
  OverviewAnswer,
  PRIORITY_NAMES,
  QueueMetrics,
} from "../../protocol/api-schemas.ts";
import { CLASS_NAMES, classify, REQUEST_STATES, type Tier } from "../../queue/index.ts";
import type { Overview } from "../api.ts";
import { callerOf } from "./auth.ts";
import { instantText } from "./instants.ts";
import { MomentQuery, readingOf } from "./moments.ts";
import { type App, answers, type Edge } from "./route.ts";

export function queueRoutes(app: App, edge: Edge): void {
  app.get(
    "/metrics",
    {
      config: { scopes: ["read"] },
      schema: {
        summary: "How the queue of the zone is",
        tags: ["queue"],
        querystring: MomentQuery,
        response: answers({ 200: QueueMetrics }),
      },
    },
    async (request) => {
      const metrics = await readingOf(edge, request).metrics(callerOf(request));
      const shares = Object.entries(metrics.fairShare).map(([agent, { running, max, available }]) => [
        agent,
        { running_count: running, max_concurrent: max, available_slots: available },
      ]);
      return {
        queue_by_class: CLASS_NAMES.map((name, number) => {
          const found = metrics.queueByClass.find(({ priorityClass }) => priorityClass === number);
          return {
            priority_class: name,
            cnt: found?.count ?? 0,
            avg_wait: (found?.avgWaitMs ?? 0) / 1000,
            max_wait: (found?.maxWaitMs ?? 0) / 1000,
          };
        }),
        fair_share: Object.fromEntries(shares) as QueueMetrics["fair_share"],
        use_hrrn: metrics.useHrrn,
        backend: metrics.backend,
        totals: { ...metrics.totals },
      };
    },
  );

  app.get(
    "/overview",
    {
      config: { scopes: ["read"] },
      schema: {
        summary: "The zone at a glance",
        description: "What `orrery top` shows. It costs the same however much waits.",
        tags: ["queue"],
        querystring: MomentQuery,
        response: answers({ 200: OverviewAnswer }),
      },
    },
    async (request) => overviewAnswer(await readingOf(edge, request).overview(callerOf(request))),
  );

  app.post(
    "/classify",
    {
      // The route is a POST for its body alone, and changes nothing.
      config: { scopes: ["read", "submit"], audit: "none" },
      schema: {
        summary: "The class that a task would start in",
        tags: ["queue"],
        body: ClassifyBody,
        response: answers({ 200: Classified }),
      },
    },
    async (request) => {
      const { priority = "normal", request_state } = request.body;
      const tier = PRIORITY_NAMES.indexOf(priority) as Tier;
      const state = REQUEST_STATES.find((known) => known === request_state) ?? "pending";
      return { priority_class: CLASS_NAMES[classify(tier, state)] };
    },
  );
}

function overviewAnswer(overview: Overview): OverviewAnswer {
  const { zone, now, classes, waiting, ended, activity, commitMs, workers, slots, agents, dataRuns } =
    overview;
  return {
    zone,
    at: instantText(now),
    classes: CLASS_NAMES.map((name, at) => ({
      priority_class: name,
      ready: classes[at]?.ready ?? 0,
      running: classes[at]?.running ?? 0,
      oldest_wait: (classes[at]?.oldestWaitMs ?? 0) / 1000,
    })),
    waiting: { ...waiting },
    ended,
    per_second: {
      submitted: activity.submittedPerSecond,
      started: activity.startedPerSecond,
      ended: activity.endedPerSecond,
    },
    last_minute: {
      submitted: [...activity.lastMinute.submitted],
      started: [...activity.lastMinute.started],
      ended: [...activity.lastMinute.ended],
    },
    wait: inSeconds(activity.waitMs),
    commit: inSeconds(commitMs),
    workers,
    slots: { ...slots },
    agents: agents.map(({ agent, running, maxConcurrent }) => ({
      agent,
      running_count: running,
      max_concurrent: maxConcurrent,
    })),
    data_runs: dataRuns.map(({ id, name, data: { held, moved, freed } }) => {
      return { id, name, held_bytes: held, moved_bytes: moved, freed_bytes: freed };
    }),
  };
}

function inSeconds(ms: Overview["commitMs"]): OverviewAnswer["commit"] {
  return ms ? { p50: ms.p50 / 1000, p95: ms.p95 / 1000, p99: ms.p99 / 1000 } : null;
}
