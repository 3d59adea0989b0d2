import { type Static, Type } from "typebox";
import { KeyIdOrNull, Name, OrNull, SuspendedReason, Time, TimeOrNull } from "./api-parts.ts";
import { SubmitBody } from "./api-tasks.ts";

const closed = { additionalProperties: false };
const CATCH_UP = ["none", "latest", "all"] as const;
const OVERLAP = ["allow", "skip"] as const;
const MAX_CATCH_UP = 100;

const Cron = Type.String({
  minLength: 1,
  maxLength: 256,
  description: "Five fields (minute, hour, day, month, weekday), or six with seconds before them.",
  examples: ["30 6 * * 1-5"],
});
const TimeZone = Type.String({
  minLength: 1,
  maxLength: 64,
  default: "UTC",
  description: "The IANA time zone that the fields are in.",
  examples: ["Europe/Berlin"],
});
const CatchUp = Type.Enum([...CATCH_UP], {
  default: "latest",
  description: "What becomes of times that passed while no server was there.",
});
const Overlap = Type.Enum([...OVERLAP], {
  default: "allow",
  description: "skip: no task is made while the last one has not ended.",
});
const CatchUpLimit = Type.Integer({
  minimum: 1,
  maximum: MAX_CATCH_UP,
  default: MAX_CATCH_UP,
  description: "With catch_up all: at most so many of them, the latest.",
  examples: [10],
});
const Instant = (description: string) =>
  OrNull(Type.String({ maxLength: 64, description, examples: ["2026-03-01T10:00:00Z"] }));

export type ScheduleBody = Static<typeof ScheduleBody>;
export const ScheduleBody = Type.Object(
  {
    name: Name("What it is for.", "nightly report"),
    cron: Cron,
    time_zone: Type.Optional(TimeZone),
    task: Type.Omit(SubmitBody, ["idempotency_key", "run_at", "deadline"], {
      ...closed,
      title: "RecurringTask",
      description: "What is submitted each time.",
      examples: [{ executor: "default", task_type: "report" }],
    }),
    catch_up: Type.Optional(CatchUp),
    catch_up_limit: Type.Optional(CatchUpLimit),
    overlap: Type.Optional(Overlap),
    start_at: Type.Optional(Instant("Not before.")),
    end_at: Type.Optional(Instant("Not after.")),
    paused: Type.Optional(Type.Boolean({ default: false })),
  },
  { title: "NewSchedule", ...closed },
);

export type ScheduleAnswer = Static<typeof ScheduleAnswer>;
export const ScheduleAnswer = Type.Object(
  {
    id: Type.String({ format: "uuid", description: "A schedule's id." }),
    name: Type.String(),
    zone: Type.String(),
    agent_id: Type.String({ description: "Who made it, and submits its tasks." }),
    cron: Cron,
    time_zone: Type.String(),
    task: Type.Unknown({ description: "As it was given." }),
    catch_up: CatchUp,
    catch_up_limit: CatchUpLimit,
    overlap: Overlap,
    start_at: TimeOrNull("Not before."),
    end_at: TimeOrNull("Not after."),
    paused: Type.Boolean(),
    key_id: KeyIdOrNull,
    suspended_reason: SuspendedReason,
    created_at: Time("When it was made."),
    last_fired_at: TimeOrNull("The last time that was seen to: a task was made, or deliberately none."),
    last_task_id: OrNull(Type.String({ description: "The last task that it made." })),
    last_error: OrNull(Type.String({ description: "Why the last time made none." })),
    next_times: Type.Array(Time("When it fires."), {
      description: "The next five; none while it is paused or stands still, or when it is over.",
    }),
  },
  { title: "Schedule" },
);

export type SchedulesAnswer = Static<typeof SchedulesAnswer>;
export const SchedulesAnswer = Type.Object({ schedules: Type.Array(ScheduleAnswer) });

export type ScheduleDeleted = Static<typeof ScheduleDeleted>;
export const ScheduleDeleted = Type.Object({ deleted: Type.Boolean(), schedule_id: Type.String() });
