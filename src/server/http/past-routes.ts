import { Type } from "typebox";
import type { LedgerEventAnswer } from "../../protocol/api-schemas.ts";
import {
  InstantAnswer,
  LedgerEventsAnswer,
  MomentsAnswer,
  PlacementAnswer,
  ReplayAnswer,
  Uuid,
} from "../../protocol/api-schemas.ts";
import type { EntryView, Instant } from "../past/questions.ts";
import { candidateAnswer } from "./answers.ts";
import { callerOf } from "./auth.ts";
import { instantText, parseInstant } from "./instants.ts";
import { Moment } from "./moments.ts";
import { invalid } from "./problems.ts";
import { type App, answers, type Edge, notFound, PathId, taskId } from "./route.ts";

const operator = { config: { scopes: ["operator"] } } as const;
const tags = ["ledger"];
const MAX_BUCKETS = 500;
const MAX_EVENTS = 1_000;
const Seq = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** What a ledger that was replayed can tell. It spans all zones, so it is for operators. */
export function pastRoutes(app: App, edge: Edge): void {
  momentRoutes(app, edge);
  eventsRoute(app, edge);
  replayRoute(app, edge);
  placementRoute(app, edge);
}

function momentRoutes(app: App, { past }: Edge): void {
  app.get(
    "/ledger/moments",
    {
      ...operator,
      schema: {
        summary: "How much happened when",
        description:
          "In parts of as many events each. Where the ledger has to be replayed first, the answer is 503 with how far that is.",
        tags,
        querystring: Type.Object(
          {
            from: Type.Optional(Type.Integer({ ...Seq, default: 1, description: "The first event." })),
            to: Type.Optional(
              Type.Integer({ ...Seq, description: "The last one; by default that of the ledger." }),
            ),
            buckets: Type.Optional(
              Type.Integer({
                minimum: 1,
                maximum: MAX_BUCKETS,
                default: 100,
                description: "Into how many parts.",
              }),
            ),
          },
          { additionalProperties: false },
        ),
        response: answers({ 200: MomentsAnswer }),
      },
    },
    async (request) => {
      const { from = 1, to, buckets = 100 } = request.query;
      const moments = await past.moments(from, to, buckets);
      return {
        first: instantAnswer(moments.first),
        last: instantAnswer(moments.last),
        buckets: moments.buckets.map(({ kinds, ...instant }) => ({ ...instantAnswer(instant), kinds })),
      };
    },
  );

  app.get(
    "/ledger/at",
    {
      ...operator,
      schema: {
        summary: "The last event at a time or before it",
        tags,
        querystring: Type.Object(
          {
            time: Type.String({
              maxLength: 64,
              description: "With a zone.",
              examples: ["2026-03-01T10:00:00Z"],
            }),
          },
          { additionalProperties: false },
        ),
        response: answers({ 200: InstantAnswer }),
      },
    },
    async (request) => {
      const time = parseInstant(request.query.time);
      if (typeof time !== "number") throw invalid([{ in: "query", pointer: "/time", detail: time.refusal }]);
      return instantAnswer(await past.lastAt(time));
    },
  );
}

function eventsRoute(app: App, { past }: Edge): void {
  app.get(
    "/ledger/events",
    {
      ...operator,
      schema: {
        summary: "Events of the ledger, in either direction",
        tags,
        querystring: Type.Object(
          {
            after: Type.Optional(
              Type.Integer({ ...Seq, default: 0, description: "Later ones, oldest first." }),
            ),
            before: Type.Optional(Type.Integer({ ...Seq, description: "Earlier ones, newest first." })),
            limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_EVENTS, default: 100 })),
            kind: Type.Optional(
              Type.String({
                maxLength: 1024,
                description: "Only of this kind, or of several with commas.",
                examples: ["TaskAssigned,TaskRetried"],
              }),
            ),
            task: Type.Optional(Type.String({ ...Uuid, description: "Only about this task." })),
          },
          { additionalProperties: false },
        ),
        response: answers({ 200: LedgerEventsAnswer }),
      },
    },
    async (request) => {
      const { after = 0, before, limit = 100, kind, task } = request.query;
      const kinds = kind === undefined ? [] : kind.split(",");
      const taskId = task?.toLowerCase();
      const { entries, lastSeq } = await past.entries({ after, before, limit, kinds, taskId });
      return { events: entries.map(entryAnswer), last_seq: lastSeq };
    },
  );
}

function replayRoute(app: App, { past }: Edge): void {
  app.get(
    "/ledger/replay",
    {
      ...operator,
      schema: {
        summary: "Replay the ledger, and compare the state that it makes with the scheduler's",
        description: "Where that takes longer than a moment, the answer is 503 with how far it is.",
        tags,
        response: answers({ 200: ReplayAnswer }),
      },
    },
    async () => {
      const found = await past.compare();
      return { replay: found ? { seq: found.seq, equal: found.isEqual } : null };
    },
  );
}

function placementRoute(app: App, { past }: Edge): void {
  app.get(
    "/task/:id/placement",
    {
      ...operator,
      schema: {
        summary: "Every worker that a task could have gone to when it was placed",
        description: "Found again in the state that the choice was made in.",
        tags: ["tasks", "ledger"],
        params: PathId("id", "A task's id."),
        querystring: Type.Object(
          {
            ...Moment,
            attempt: Type.Optional(
              Type.Integer({ minimum: 1, maximum: 1_000_000, description: "By default the last one." }),
            ),
          },
          { additionalProperties: false },
        ),
        response: answers({ 200: PlacementAnswer }),
      },
    },
    async (request) => {
      const id = taskId(request.params.id);
      const { at, attempt } = request.query;
      const found = id === undefined ? undefined : await past.placement(callerOf(request), id, at, attempt);
      if (!found) throw notFound("placement");
      return {
        ...instantAnswer(found),
        attempt: found.attempt,
        worker_id: found.worker,
        decided_by: found.decidedBy,
        candidates: found.candidates.map(candidateAnswer),
      };
    },
  );
}

function instantAnswer({ seq, now }: Instant): InstantAnswer {
  return { seq, at: instantText(now) };
}

function entryAnswer(entry: EntryView): LedgerEventAnswer {
  return {
    ...instantAnswer(entry),
    kind: entry.kind,
    zone: entry.zone ?? null,
    task_id: entry.taskId ?? null,
    run_id: entry.runId ?? null,
    worker_id: entry.workerId ?? null,
    data: { ...entry.data },
  };
}
