import type { FastifyRequest } from "fastify";
import { Type } from "typebox";
import { EventData } from "../../protocol/api-schemas.ts";
import type { Api, Caller, EventsFrom, RunView, StreamEvent } from "../api.ts";
import { runAnswer } from "./answers.ts";
import { callerOf, headerOf } from "./auth.ts";
import { instantText } from "./instants.ts";
import { type App, answers, type Edge, isName, notFound, PathId } from "./route.ts";
import { sendEvents, textOf } from "./sse.ts";

/** The id of a run's last message: who comes back with it is told that there is nothing more. */
const END = "end";
/** Says that some are no longer kept; it may concern any run. */
const MISSED = "EventsMissed";
/** How long the events of an ended run may keep silent before they count as all told. */
const QUIET_MS = 2000;

const read = { config: { scopes: ["read"] } } as const;
const Place = Type.Object(
  {
    after: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        description: "An event's id; Last-Event-ID does the same.",
      }),
    ),
    from: Type.Optional(Type.Enum(["now", "start"], { default: "now", description: "Without an id." })),
  },
  { additionalProperties: false },
);
const Stream = Type.String({
  description: "text/event-stream; each `data` is an Event, as JSON on one line.",
  // OpenAPI 3.1 has no word of its own for what a stream is made of.
  "x-event-data": EventData,
});

export function eventRoutes(app: App, { api, keys, closing }: Edge): void {
  const optionsFor = (caller: Caller) => ({ closing, mayStay: () => keys.isStillValid(caller.keyId) });

  app.get(
    "/events",
    {
      ...read,
      schema: {
        summary: "What happens, as it happens",
        tags: ["events"],
        produces: ["text/event-stream"],
        querystring: Place,
        response: answers({ 200: Stream }),
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const from = fromOf(request, request.query);
      await sendEvents(reply, optionsFor(caller), async function* (signal) {
        for await (const event of api.events(caller, from, signal)) yield sent(event);
      });
      return reply;
    },
  );

  app.get(
    "/runs/:id/events",
    {
      ...read,
      schema: {
        summary: "What happens in a run, until it ends",
        description: "Begins and ends with an event `Run` that holds the run itself.",
        tags: ["events", "runs"],
        produces: ["text/event-stream"],
        params: PathId("id", "A run's id."),
        querystring: Place,
        response: answers({ 200: Stream, 204: Type.Null({ description: "All of it was told." }) }),
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const { id } = request.params;
      const run = isName(id) ? await api.run(caller, id) : undefined;
      if (!run) throw notFound("run");
      const from = fromOf(request, request.query);
      if (from.at === "after" && from.id === END) return reply.code(204).send(null);
      await sendEvents(reply, optionsFor(caller), (signal) => runEvents(api, caller, id, from, signal));
      return reply;
    },
  );
}

/** Listens before it looks, so that a run cannot end in between unnoticed. */
async function* runEvents(
  api: Api,
  caller: Caller,
  id: string,
  from: EventsFrom,
  signal: AbortSignal,
): AsyncIterable<string> {
  const ended = new AbortController();
  const events = api.events(caller, from, AbortSignal.any([signal, ended.signal]))[Symbol.asyncIterator]();
  let next = events.next();
  // Whoever stops waiting for it must not leave a rejection behind.
  next.catch(() => {});
  try {
    let run = await api.run(caller, id);
    if (run) yield snapshot(run);
    const isOld = run !== undefined && run.outcome !== "";
    while (run && !(isOld && from.at === "now")) {
      const result = await (isOld ? Promise.race([next, quiet()]) : next);
      if (result.done) break;
      next = events.next();
      next.catch(() => {});
      if (result.value.runId !== id && result.value.kind !== MISSED) continue;
      yield sent(result.value);
      if (result.value.kind === "RunEnded") break;
    }
    run = signal.aborted ? undefined : await api.run(caller, id);
    if (run && run.outcome !== "") yield snapshot(run, END);
  } finally {
    ended.abort();
    await events.return?.();
  }
}

function quiet(): Promise<IteratorReturnResult<undefined>> {
  return new Promise((resolve) => setTimeout(() => resolve({ done: true, value: undefined }), QUIET_MS));
}

function fromOf(
  request: FastifyRequest,
  { after, from }: { readonly after?: string; readonly from?: "now" | "start" },
): EventsFrom {
  const id = headerOf(request.headers, "last-event-id") ?? after;
  return id === undefined ? { at: from ?? "now" } : { at: "after", id };
}

/** The texts of events, which are written once for all who read them. */
const texts = new WeakMap<StreamEvent, string>();

function sent(event: StreamEvent): string {
  const known = texts.get(event);
  if (known !== undefined) return known;
  const text = textOf({ id: event.id, kind: event.kind, data: eventData(event) });
  texts.set(event, text);
  return text;
}

export function eventData({ id, kind, at, taskId, runId, data }: StreamEvent): EventData {
  return {
    id,
    kind,
    at: instantText(at),
    task_id: taskId ?? null,
    run_id: runId ?? null,
    data: { ...data },
  };
}

function snapshot(run: RunView, id?: string): string {
  return textOf({ kind: "Run", data: runAnswer(run), ...(id !== undefined && { id }) });
}
