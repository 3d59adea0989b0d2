import {
  ScheduleAnswer,
  ScheduleBody,
  ScheduleDeleted,
  SchedulesAnswer,
  type SubmitBody,
  TaskAnswer,
} from "../../protocol/api-schemas.ts";
import { timingProblem } from "../schedules/cron.ts";
import type { ScheduleSetting, ScheduleView } from "../schedules/schedules.ts";
import { sendTask } from "./answers.ts";
import { callerOf } from "./auth.ts";
import { instantOrNull, instantText, parseInstant } from "./instants.ts";
import { invalid, problemOfRefusal } from "./problems.ts";
import { type App, answers, type Edge, notFound, PathId } from "./route.ts";
import { readSubmission } from "./submission.ts";

const read = { config: { scopes: ["read"] } } as const;
const submit = { config: { scopes: ["submit"] } } as const;
const act = { config: { scopes: ["submit"], ignoresBody: true } } as const;
const tags = ["schedules"];
const Id = PathId("id", "A schedule's id.");
const DEFAULT_CATCH_UP_LIMIT = 100;

/** Recurring tasks: for the agent that made them, and for the zone's admins. */
export function scheduleRoutes(app: App, { keys, schedules }: Edge): void {
  const answerOf = (view: ScheduleView): ScheduleAnswer => ({
    ...scheduleAnswer(view),
    key_id: view.keyId === "" ? null : keys.ownerOf(view.keyId),
  });
  const found = (view: ScheduleView | undefined): ScheduleAnswer => {
    if (!view) throw notFound("schedule");
    return answerOf(view);
  };
  app.post(
    "/schedules",
    {
      config: { ...submit.config, audit: "schedule.create" },
      schema: {
        summary: "Make a recurring task",
        description: "Its task is submitted at each of its times, for the agent that asks.",
        tags,
        body: ScheduleBody,
        response: answers({ 201: ScheduleAnswer }),
      },
    },
    async (request, reply) => {
      const made = await schedules.create(callerOf(request), settingOf(request.body, schedules.now()));
      if ("accepted" in made) throw problemOfRefusal(made);
      return reply.code(201).header("location", `${app.prefix}/schedules/${made.id}`).send(answerOf(made));
    },
  );

  app.get(
    "/schedules",
    {
      ...read,
      schema: { summary: "List recurring tasks", tags, response: answers({ 200: SchedulesAnswer }) },
    },
    async (request) => ({ schedules: schedules.list(callerOf(request)).map(answerOf) }),
  );

  app.get(
    "/schedules/:id",
    {
      ...read,
      schema: {
        summary: "Look at a recurring task",
        tags,
        params: Id,
        response: answers({ 200: ScheduleAnswer }),
      },
    },
    async (request) => found(schedules.find(callerOf(request), request.params.id)),
  );

  for (const [word, paused] of [
    ["pause", true],
    ["resume", false],
  ] as const) {
    app.post(
      `/schedules/:id/${word}`,
      {
        config: { ...act.config, audit: paused ? "schedule.pause" : "schedule.resume" },
        schema: {
          summary: paused ? "Make no tasks until it is resumed" : "Go on with the next time",
          tags,
          params: Id,
          response: answers({ 200: ScheduleAnswer }),
        },
      },
      async (request) => found(await schedules.setPaused(callerOf(request), request.params.id, paused)),
    );
  }

  app.post(
    "/schedules/:id/run",
    {
      config: { ...act.config, audit: "schedule.run" },
      schema: { summary: "Submit its task now", tags, params: Id, response: answers({ 201: TaskAnswer }) },
    },
    async (request, reply) => {
      const submitted = await schedules.run(callerOf(request), request.params.id);
      if (!submitted) throw notFound("schedule");
      if (!submitted.accepted) throw problemOfRefusal(submitted);
      return sendTask(reply.code(201), submitted.task);
    },
  );

  app.delete(
    "/schedules/:id",
    {
      config: { ...act.config, audit: "schedule.delete" },
      schema: {
        summary: "Delete a recurring task",
        description: "The tasks that it made stay.",
        tags,
        params: Id,
        response: answers({ 200: ScheduleDeleted }),
      },
    },
    async (request) => {
      const { id } = request.params;
      if (!(await schedules.remove(callerOf(request), id))) throw notFound("schedule");
      return { deleted: true, schedule_id: id };
    },
  );
}

function settingOf(body: ScheduleBody, now: number): ScheduleSetting {
  const reading = readSubmission(body.task as SubmitBody, "/task");
  if (!reading.ok) throw invalid(reading.errors);
  const timing = {
    cron: body.cron,
    timeZone: body.time_zone ?? "UTC",
    startAt: instantOf("start_at", body.start_at),
    endAt: instantOf("end_at", body.end_at),
  };
  const problem = timingProblem(timing, now);
  if (problem) throw invalid([{ in: "body", pointer: `/${problem.field}`, detail: problem.detail }]);
  return {
    ...timing,
    name: body.name,
    task: JSON.stringify(body.task),
    catchUp: body.catch_up ?? "latest",
    catchUpLimit: body.catch_up_limit ?? DEFAULT_CATCH_UP_LIMIT,
    overlap: body.overlap ?? "allow",
    paused: body.paused ?? false,
  };
}

function instantOf(field: string, text: string | null | undefined): number {
  if (text === null || text === undefined) return -1;
  const at = parseInstant(text);
  if (typeof at === "number") return at;
  throw invalid([{ in: "body", pointer: `/${field}`, detail: at.refusal }]);
}

function scheduleAnswer(view: ScheduleView): Omit<ScheduleAnswer, "key_id"> {
  return {
    id: view.id,
    name: view.name,
    zone: view.zone,
    agent_id: view.agent,
    cron: view.cron,
    time_zone: view.timeZone,
    task: JSON.parse(view.task) as unknown,
    catch_up: view.catchUp,
    catch_up_limit: view.catchUpLimit,
    overlap: view.overlap,
    start_at: instantOrNull(view.startAt),
    end_at: instantOrNull(view.endAt),
    paused: view.paused,
    suspended_reason: view.suspendedReason ?? null,
    created_at: instantText(view.createdAt),
    last_fired_at: instantOrNull(view.lastFiredAt),
    last_task_id: view.lastTaskId === "" ? null : view.lastTaskId,
    last_error: view.lastError === "" ? null : view.lastError,
    next_times: view.nextTimes.map(instantText),
  };
}
