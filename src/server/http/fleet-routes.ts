import { Type } from "typebox";
import { AttemptsAnswer, QueuesAnswer, type WorkerAnswer } from "../../protocol/api-schemas.ts";
import type { AttemptsView, WorkerView } from "../api.ts";
import { callerOf } from "./auth.ts";
import { instantText } from "./instants.ts";
import { Moment, MomentQuery, readingOf } from "./moments.ts";
import { type App, answers, type Edge } from "./route.ts";

const read = { config: { scopes: ["read"] } } as const;

/** More would hold up the scheduler for longer than a few milliseconds. */
const MAX_ATTEMPTS = 5_000;
const DEFAULT_ATTEMPTS = 1_000;

/** What workers do and what waits for them, for those who look. */
export function fleetRoutes(app: App, edge: Edge): void {
  app.get(
    "/attempts",
    {
      ...read,
      schema: {
        summary: "What the zone's workers did lately and do now, slot by slot",
        description:
          "As columns. To follow it, ask again with `since` from the `now_ms` before: attempts that have not ended " +
          "are told each time. Of other agents' attempts, whoever is no admin is told only when a slot was taken.",
        tags: ["administration"],
        querystring: Type.Object(
          {
            ...Moment,
            since: Type.Optional(
              Type.Integer({
                minimum: 0,
                maximum: 8.64e15,
                description:
                  "Milliseconds since 1970: what ended earlier is left out. By default five minutes ago.",
                examples: [1_770_000_000_000],
              }),
            ),
            limit: Type.Optional(
              Type.Integer({
                minimum: 1,
                maximum: MAX_ATTEMPTS,
                default: DEFAULT_ATTEMPTS,
                description: "The latest, if there are more.",
                examples: [1000],
              }),
            ),
          },
          { additionalProperties: false },
        ),
        response: answers({ 200: AttemptsAnswer }),
      },
    },
    async (request) => {
      const { since, limit = DEFAULT_ATTEMPTS } = request.query;
      const reading = readingOf(edge, request);
      return attemptsAnswer(await reading.attempts(callerOf(request), since, limit));
    },
  );

  app.get(
    "/queues",
    {
      ...read,
      schema: {
        summary: "What waits and runs, by executor, and what is paused",
        tags: ["administration"],
        querystring: MomentQuery,
        response: answers({ 200: QueuesAnswer }),
      },
    },
    async (request) => {
      const reading = readingOf(edge, request);
      const { zone, isPaused, maxConcurrent, hasOwnMax, queues } = await reading.queues(callerOf(request));
      return {
        zone,
        paused: isPaused,
        max_concurrent: maxConcurrent,
        own_max_concurrent: hasOwnMax,
        queues: queues.map(({ executor, isPaused: paused, ready, running, oldestWaitMs, workers }) => {
          return { executor, paused, ready, running, oldest_wait: oldestWaitMs / 1000, workers };
        }),
      };
    },
  );
}

/** Names by the place at which they were first met. */
class Places {
  readonly names: string[] = [];
  readonly #places = new Map<string, number>();

  of(name: string): number {
    const known = this.#places.get(name);
    if (known !== undefined) return known;
    this.#places.set(name, this.names.length);
    return this.names.push(name) - 1;
  }
}

function attemptsAnswer({ now, from, attempts }: AttemptsView): AttemptsAnswer {
  const workers = new Places();
  const types = new Places();
  const orNull = (at: number) => (at < 0 ? null : at);
  const transfers: AttemptsAnswer["transfers"] = { attempt: [], from: [], began_ms: [], took_ms: [] };
  const answer: AttemptsAnswer = {
    at: instantText(now),
    now_ms: now,
    from_ms: from,
    workers: workers.names,
    types: types.names,
    attempts: {
      worker: attempts.map(({ worker }) => workers.of(worker)),
      lane: attempts.map(({ lane }) => lane),
      task: attempts.map(({ task }) => task?.id ?? null),
      node: attempts.map(({ task }) => task?.node ?? null),
      attempt: attempts.map(({ task }) => task?.attempt ?? 0),
      type: attempts.map(({ task }) => (task ? types.of(task.type) : -1)),
      assigned_ms: attempts.map(({ assignedAt }) => assignedAt),
      started_ms: attempts.map(({ startedAt }) => orNull(startedAt)),
      ended_ms: attempts.map(({ endedAt }) => orNull(endedAt)),
      outcome: attempts.map(({ task }) => (task ? (task.outcome ?? "running") : "other work")),
    },
    transfers,
  };
  for (const [row, { transfers: brought }] of attempts.entries()) {
    for (const { from: holder, at, tookMs } of brought) {
      transfers.attempt.push(row);
      transfers.from.push(workers.of(holder));
      transfers.began_ms.push(at);
      transfers.took_ms.push(tookMs);
    }
  }
  return answer;
}

export function workerAnswer(worker: WorkerView): WorkerAnswer {
  return {
    id: worker.id,
    zone: worker.zone,
    zones: [...worker.zones],
    executors: [...worker.executors],
    task_types: [...worker.types],
    capabilities: [...worker.capabilities],
    status: worker.status,
    slots: worker.slots,
    held: worker.held,
    io_slots: worker.ioSlots,
    io_held: worker.ioHeld,
    cpu_millicores: worker.cpuMillicores,
    free_cpu_millicores: worker.freeCpuMillicores,
    memory_bytes: worker.memoryBytes,
    free_memory_bytes: worker.freeMemoryBytes,
    ...(worker.chunks && {
      chunks: {
        held_bytes: worker.chunks.held,
        spilled_bytes: worker.chunks.spilled,
        moved_bytes: worker.chunks.moved,
        freed_bytes: worker.chunks.freed,
      },
    }),
    running: worker.running.map(({ id, type, node = null, attempt, since, hasStarted }) => {
      return { id, task_type: type, node, attempt, since: instantText(since), started: hasStarted };
    }),
    rejects: { ...worker.rejects },
  };
}
