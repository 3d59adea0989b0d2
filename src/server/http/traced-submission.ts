import type { FastifyRequest } from "fastify";
import {
  inSpan,
  isTraced,
  readTraceContext,
  submitAttributes,
  type TraceContext,
} from "../../telemetry/index.ts";
import type { Api, RunSubmission, Submitted, TaskSubmission } from "../api.ts";
import { callerOf } from "./auth.ts";

/** What a request says of the trace that it belongs to; what does not have the right form is ignored. */
function traceOf({ headers }: FastifyRequest): TraceContext | undefined {
  return readTraceContext(headers["traceparent"], headers["tracestate"]);
}

/** Submits tasks in a span, from which their own traces go on. */
export async function submitTraced(
  api: Api,
  request: FastifyRequest,
  submissions: readonly TaskSubmission[],
): Promise<readonly Submitted[]> {
  const caller = callerOf(request);
  const parent = traceOf(request);
  if (!parent && !isTraced()) return await api.submit(caller, submissions);
  const [first] = submissions;
  const name = submissions.length === 1 && first ? `submit ${first.type}` : "submit";
  const attributes = submitAttributes(submissions, caller.zone, caller.agent);
  return await inSpan(name, { kind: "PRODUCER", parent, attributes }, (trace) =>
    api.submit(caller, trace ? submissions.map((one) => ({ ...one, trace })) : submissions),
  );
}

export async function submitRunTraced(
  api: Api,
  request: FastifyRequest,
  run: RunSubmission,
): ReturnType<Api["submitRun"]> {
  const caller = callerOf(request);
  const parent = traceOf(request);
  if (!parent && !isTraced()) return await api.submitRun(caller, run);
  const tasks = run.graph.nodes.map(({ spec }) => spec.task);
  const attributes = submitAttributes(tasks, caller.zone, caller.agent);
  return await inSpan("submit run", { kind: "PRODUCER", parent, attributes }, (trace) =>
    api.submitRun(caller, { ...run, ...(trace && { trace }) }),
  );
}
