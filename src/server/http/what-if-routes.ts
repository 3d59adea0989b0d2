import { DEFAULT_SPECULATION, type Priority } from "../../graph/index.ts";
import {
  MOST_MOVED,
  PRIORITY_NAMES,
  WhatIfAnswer,
  WhatIfBody,
  type WhatIfChange,
} from "../../protocol/api-schemas.ts";
import type { Alteration, Moved, PlayedTask, Score } from "../../scheduler/index.ts";
import { callerOf } from "./auth.ts";
import { instantText } from "./instants.ts";
import { invalid } from "./problems.ts";
import { type App, answers, type Edge } from "./route.ts";

/** Two plays of a long ledger. */
const LIMIT_MS = 120_000;

/** What would happen goes by what all zones do, so it is for operators; what is told is of their zone. */
export function whatIfRoutes(app: App, { past }: Edge): void {
  app.post(
    "/what-if",
    {
      // The route is a POST for its body alone, and changes nothing.
      config: { scopes: ["operator"], answerWithinMs: LIMIT_MS, audit: "none" },
      schema: {
        summary: "Play on from a moment with something changed, and compare",
        description:
          "From that moment on, what came from outside comes again, and the scheduler decides, once as it was and once with the changes.",
        tags: ["ledger"],
        body: WhatIfBody,
        response: answers({ 200: WhatIfAnswer }),
      },
    },
    async (request) => {
      const { at, changes, durations = "actual" } = request.body;
      const { zone } = callerOf(request);
      const alterations = changes.map((change) => alterationOf(change, zone));
      const isActual = durations === "actual";
      const { seq, view } = await past.whatIf({ at, zone, alterations, isActual, listed: MOST_MOVED });
      if (view.unknownWorkers) throw unknownWorkers(changes, view.unknownWorkers);
      const { now, isWhole, leftOut, asIs, changed, moved } = view;
      return {
        at: seq,
        now: instantText(now),
        is_whole: isWhole,
        left_out: { ...leftOut },
        as_is: scoreAnswer(asIs),
        changed: scoreAnswer(changed),
        moved: { ...moved, tasks: moved.tasks.map(movedAnswer) },
      };
    },
  );
}

function unknownWorkers(changes: readonly WhatIfChange[], unknown: readonly string[]) {
  const items = changes.flatMap((change, at) => {
    const field = "worker" in change ? "worker" : "like" in change ? "like" : undefined;
    const worker = field && (change as unknown as Record<string, string>)[field];
    if (worker === undefined || !unknown.includes(worker)) return [];
    return [
      {
        in: "body" as const,
        pointer: `/changes/${at}/${field}`,
        detail: `names no worker that is there at that moment: ${worker}`,
      },
    ];
  });
  return invalid(items);
}

function alterationOf(change: WhatIfChange, zone: string): Alteration {
  switch (change.kind) {
    case "strategy":
      return { kind: "settings", settings: { strategy: change.strategy } };
    case "order":
      return { kind: "settings", settings: { order: change.order } };
    case "prefetch":
      return { kind: "settings", settings: { maxQueuePerWorker: change.prefetch } };
    case "speculation": {
      const { ways } = change;
      const parallel = { defaultParallelism: Math.max(1, ways), maxParallelism: Math.max(1, ways) };
      return {
        kind: "settings",
        settings: { speculation: { ...DEFAULT_SPECULATION, enabled: ways > 1, ...parallel } },
      };
    }
    case "priority": {
      const { agent, type } = change;
      const priority = PRIORITY_NAMES.indexOf(change.priority) as Priority;
      return { kind: "priority", of: { zone, agent, type }, priority };
    }
    case "agent-limit":
    case "limit":
      return { ...change, zone };
    default:
      return change;
  }
}

function scoreAnswer({ makespanMs, waits, utilisation, fairness, agents, ...counts }: Score) {
  return {
    ...counts,
    makespan: makespanMs / 1000,
    wait: {
      mean: waits.meanMs / 1000,
      p50: waits.p50Ms / 1000,
      p95: waits.p95Ms / 1000,
      max: waits.maxMs / 1000,
    },
    utilisation,
    fairness,
    agents: agents.map(({ agent, tasks, meanWaitMs }) => ({ agent, tasks, mean_wait: meanWaitMs / 1000 })),
  };
}

function movedAnswer({ name, before, after }: Moved) {
  const { id, runId, node, type, agent } = name;
  return {
    ...{ task_id: id, run_id: runId ?? null, node: node ?? null, type, agent },
    as_is: playedAnswer(before),
    changed: playedAnswer(after),
  };
}

function playedAnswer(played: PlayedTask | undefined) {
  if (!played) return null;
  const { worker, startedAt, endedAt } = played;
  return {
    worker,
    started_at: instantText(startedAt),
    ended_at: endedAt === undefined ? null : instantText(endedAt),
  };
}
