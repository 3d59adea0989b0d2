import type { EventData, RunAnswer } from "../protocol/api-schemas.ts";
import { path } from "./calls.ts";
import type { Connection } from "./connection.ts";
import { type Place, sentEvents } from "./sent-events.ts";

/** Something that happened, and the id from which to go on after it. */
export type ServiceEvent = EventData & { readonly id: string };

export interface EventsOptions extends Place {
  /** Without an id: what happens from now on, or all that the server still has. */
  readonly from?: "now" | "start";
}

/** What happens in a run, and the run itself: first, whenever the connection was made again, and last. */
export type RunEvent =
  | { readonly type: "run"; readonly run: RunAnswer }
  | { readonly type: "event"; readonly event: ServiceEvent };

export async function* serviceEvents(
  connection: Connection,
  { from, ...place }: EventsOptions,
): AsyncGenerator<ServiceEvent, void, undefined> {
  for await (const { id, data } of sentEvents(connection, "events", { from }, place)) {
    if (id !== undefined) yield { ...(JSON.parse(data) as EventData), id };
  }
}

export async function* runEvents(
  connection: Connection,
  runId: string,
  { from, ...place }: EventsOptions,
): AsyncGenerator<RunEvent, void, undefined> {
  for await (const { id, kind, data } of sentEvents(
    connection,
    path`runs/${runId}/events`,
    { from },
    place,
  )) {
    const value: unknown = JSON.parse(data);
    if (kind === "Run") {
      const run = value as RunAnswer;
      yield { type: "run", run };
      if (run.status !== "running") return;
    } else if (id !== undefined) yield { type: "event", event: { ...(value as EventData), id } };
  }
}
