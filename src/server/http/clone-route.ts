import { invariant } from "../../core/index.ts";
import { CloneBody, TaskAnswer } from "../../protocol/api-schemas.ts";
import type { TaskSubmission, TaskView } from "../api.ts";
import { sendTask } from "./answers.ts";
import { allows, callerOf, identityOf } from "./auth.ts";
import { Problem, problemOfRefusal } from "./problems.ts";
import { type App, answers, type Edge, MIB, notFound, PathId, taskId } from "./route.ts";

const ENVELOPE = 1024;

/** The same task once more, with another payload where one is given. */
export function cloneRoute(app: App, { api }: Edge): void {
  app.post(
    "/task/:id/clone",
    {
      // A submission is in the ledger.
      config: { scopes: ["submit"], audit: "none" },
      bodyLimit: MIB + ENVELOPE,
      schema: {
        summary: "Submit a task like this one",
        description: "With all that was asked of it but its deadline, its time and its idempotency key.",
        tags: ["tasks"],
        params: PathId("id", "A task's id."),
        body: CloneBody,
        response: answers({ 201: TaskAnswer }),
      },
    },
    async (request, reply) => {
      const id = taskId(request.params.id);
      const caller = callerOf(request);
      const task = id === undefined ? undefined : await api.task(caller, id);
      if (!task) throw notFound("task");
      if (task.run) throw new Problem("part-of-a-run", "it is part of a run; submit the run again");
      // The copy is submitted for the agent of the task, and on its credits.
      if (!allows(identityOf(request).key.agents, task.agent))
        throw new Problem("agent-not-allowed", `this key may not act for agent "${task.agent}"`);
      const { payload } = request.body;
      const copy = cloneOf(task, payload === undefined ? task.payload : JSON.stringify(payload));
      const [submitted] = await api.submit({ ...caller, agent: task.agent }, [copy]);
      invariant(submitted, "a submission is answered");
      if (!submitted.accepted) throw problemOfRefusal(submitted);
      reply.header("location", `${app.prefix}/task/${submitted.id}`);
      return sendTask(reply.code(201), submitted.task);
    },
  );
}

type Kept = Pick<
  TaskSubmission,
  "cpuMillicores" | "memoryBytes" | "capabilities" | "limits" | "maxAttempts" | "backoffMs" | "timeoutMs"
> &
  Partial<Pick<TaskSubmission, "amounts" | "budget">>;

function cloneOf(task: TaskView, payload: string): TaskSubmission {
  const kept = JSON.parse(task.settings) as Kept;
  const { executor, type, estimateMs, boostMicros } = task;
  const { cpuMillicores, memoryBytes, capabilities, limits, maxAttempts, backoffMs, timeoutMs } = kept;
  return {
    executor,
    type,
    payload,
    priority: task.priority as TaskSubmission["priority"],
    requestState: task.requestState as TaskSubmission["requestState"],
    estimateMs,
    boostMicros,
    deadline: -1,
    runAt: -1,
    idempotencyKey: undefined,
    bodyHash: "",
    cpuMillicores,
    memoryBytes,
    capabilities,
    limits,
    amounts: kept.amounts ?? [],
    budget: kept.budget ?? [],
    maxAttempts,
    backoffMs,
    timeoutMs,
  };
}
