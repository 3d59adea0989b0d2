/** What a worker says of itself: a line per event, for people on stderr, as JSON on stdout. */

import { countOf, formatMs } from "../words/index.ts";
import type { WorkerEvent } from "../worker/index.ts";
import { warn } from "./output.ts";
import { neutralise } from "./terminal-text.ts";

interface Manner {
  readonly server: string;
  readonly quiet: boolean;
  readonly json: boolean;
}

const MAX_MESSAGE_CHARS = 300;
/** Tasks that are named where it waits for them. */
const NAMED = 5;

export function printEvent(event: WorkerEvent, { server, quiet, json }: Manner): void {
  if (json) {
    if (!quiet || isTrouble(event)) process.stdout.write(`${JSON.stringify(recordOf(event))}\n`);
  } else if (event.type === "warning") warn(neutralise(event.message));
  else if (!quiet || isTrouble(event)) process.stderr.write(`${neutralise(lineOf(event, server))}\n`);
}

function isTrouble(event: WorkerEvent): boolean {
  if (event.type === "connected") return event.again;
  return event.type === "disconnected" || event.type === "warning";
}

function recordOf(event: WorkerEvent): Readonly<Record<string, unknown>> {
  const at = Date.now();
  if (event.type !== "started" && event.type !== "ended") return { at, ...event };
  const { task, attempt, task_type, run, node } = event.assignment;
  const of = { type: event.type, task, attempt, task_type, run, node };
  if (event.type === "started") return { at, ...of };
  const { report, ms } = event;
  const failure = report.type === "failed" ? { code: report.code, message: report.message } : {};
  return { at, ...of, outcome: report.type, ...failure, ms: Math.round(ms) };
}

function lineOf(event: Exclude<WorkerEvent, { type: "warning" }>, server: string): string {
  switch (event.type) {
    case "connected":
      return `connected ${event.again ? "again " : ""}to ${server} as ${event.worker}`;
    case "disconnected":
      return `${event.wasConnected ? "lost the connection to" : "cannot reach"} ${server}: ${event.reason}; trying again until it is there`;
    case "started":
      return `started ${nameOf(event)}`;
    case "ended":
      return `${ENDS[event.report.type]} ${nameOf(event)} after ${formatMs(Math.round(event.ms))}${failureOf(event)}`;
    case "draining":
      return drainingLine(event);
  }
}

type Draining = Extract<WorkerEvent, { type: "draining" }>;

function drainingLine(event: Draining): string {
  const { running, returned } = event;
  const back = returned > 0 ? `, ${returned} given back` : "";
  if (running === 0) return `draining: nothing runs${back}`;
  return `draining: ${countOf(running, "task")} to finish${back}: ${runningTasks(event)}; again to leave at once`;
}

/** What runs, by type and id, as far as it is named. */
export function runningTasks({ tasks }: Pick<Draining, "tasks">): string {
  const named = tasks.slice(0, NAMED).map(taskName);
  const more = tasks.length > NAMED ? ` and ${tasks.length - NAMED} more` : "";
  return `${named.join(", ")}${more}`;
}

type Ended = Extract<WorkerEvent, { type: "ended" }>;

const ENDS: Readonly<Record<Ended["report"]["type"], string>> = {
  finished: "finished",
  failed: "failed",
  timed_out: "timed out",
  cancelled: "cancelled",
  returned: "gave back",
};

function nameOf({ assignment }: Extract<WorkerEvent, { type: "started" | "ended" }>): string {
  return taskName(assignment);
}

function taskName({ task_type, task, attempt, node }: Draining["tasks"][number]): string {
  const where = node === undefined ? "" : ` (${node})`;
  return `${task_type} ${task}${where}${attempt > 1 ? `, attempt ${attempt}` : ""}`;
}

function failureOf({ report }: Ended): string {
  if (report.type !== "failed") return "";
  return `: ${report.message.split("\n", 1)[0]?.slice(0, MAX_MESSAGE_CHARS) ?? ""} (${report.code})`;
}
