import type { ScheduleAnswer } from "../client/index.ts";
import { type Column, fieldLines, tableLines } from "./layout.ts";
import { type Palette, printLines, stdoutColumns, stdoutPalette } from "./output.ts";
import type { CreateScheduleOptions } from "./schedules.ts";
import { atService } from "./service.ts";
import type { ServiceOptions } from "./service-options.ts";
import { ago, printSafeJson, safeJson, shown } from "./service-text.ts";
import { instantOf, taskOf } from "./submission.ts";

const COLUMNS: readonly Column[] = [
  { title: "ID" },
  { title: "NAME" },
  { title: "CRON" },
  { title: "ZONE OF TIME" },
  { title: "LAST", align: "right" },
  { title: "NEXT" },
];

export async function createSchedule(type: string, options: CreateScheduleOptions): Promise<void> {
  const { cron, timeZone, name = type, catchUp, catchUpLimit, overlap, start, end, paused } = options;
  const task = await taskOf(type, options);
  const made = await atService(options, (client) =>
    client.schedules.create({
      name,
      cron,
      task,
      ...(timeZone !== undefined && { time_zone: timeZone }),
      ...(catchUp !== undefined && { catch_up: catchUp }),
      ...(catchUpLimit !== undefined && { catch_up_limit: catchUpLimit }),
      ...(overlap !== undefined && { overlap }),
      ...(start !== undefined && { start_at: instantOf("--start", start) }),
      ...(end !== undefined && { end_at: instantOf("--end", end) }),
      ...(paused !== undefined && { paused }),
    }),
  );
  if (options.json) return await printSafeJson(made);
  await printLines([made.id]);
  const [next] = made.next_times;
  process.stderr.write(`${made.paused ? "paused" : next ? `next: ${shown(next)}` : "it never fires"}\n`);
}

export async function listSchedules(options: ServiceOptions): Promise<void> {
  const schedules = await atService(options, (client) => client.schedules.list());
  if (options.json) return await printSafeJson({ schedules });
  if (schedules.length === 0) {
    process.stderr.write("there are no recurring tasks\n");
    return;
  }
  const rows = schedules.map((one) => [
    shown(one.id),
    shown(one.name),
    shown(one.cron),
    shown(one.time_zone),
    ago(one.last_fired_at),
    one.paused ? "paused" : shown(one.suspended_reason ?? one.next_times[0] ?? "over"),
  ]);
  await printLines(tableLines(COLUMNS, rows, stdoutPalette()));
}

export async function showSchedule(id: string, options: ServiceOptions): Promise<void> {
  await printOne(await atService(options, (client) => client.schedules.show(id)), options);
}

export async function pauseSchedule(id: string, options: ServiceOptions): Promise<void> {
  await printOne(await atService(options, (client) => client.schedules.pause(id)), options);
}

export async function resumeSchedule(id: string, options: ServiceOptions): Promise<void> {
  await printOne(await atService(options, (client) => client.schedules.resume(id)), options);
}

export async function runSchedule(id: string, options: ServiceOptions): Promise<void> {
  const task = await atService(options, (client) => client.schedules.run(id));
  await (options.json ? printSafeJson(task) : printLines([task.id]));
}

export async function deleteSchedule(id: string, options: ServiceOptions): Promise<void> {
  const deleted = await atService(options, (client) => client.schedules.delete(id));
  if (options.json) await printSafeJson(deleted);
  else process.stderr.write(`deleted ${shown(id)}\n`);
}

async function printOne(schedule: ScheduleAnswer, { json }: ServiceOptions): Promise<void> {
  await (json ? printSafeJson(schedule) : printLines(scheduleLines(schedule, stdoutPalette())));
}

function scheduleLines(schedule: ScheduleAnswer, palette: Palette): string[] {
  const { catch_up, catch_up_limit, last_fired_at } = schedule;
  const fields: readonly (readonly [string, string])[] = [
    ["name", shown(schedule.name)],
    ["cron", `${shown(schedule.cron)} in ${shown(schedule.time_zone)}`],
    ["agent", `${shown(schedule.agent_id)} in zone ${shown(schedule.zone)}`],
    ["catches up", catch_up === "all" ? `all, up to ${catch_up_limit}` : catch_up],
    ["overlap", schedule.overlap],
    ["not before", shown(schedule.start_at)],
    ["not after", shown(schedule.end_at)],
    ["last", last_fired_at === null ? "" : `${shown(last_fired_at)} (${ago(last_fired_at)})`],
    ["last task", shown(schedule.last_task_id)],
    ["last error", shown(schedule.last_error)],
    ["key", shown(schedule.key_id)],
    ["stands still", shown(schedule.suspended_reason)],
    ["next", schedule.next_times.map(shown).join(", ")],
    ["task", safeJson(schedule.task)],
  ];
  const known = fields.filter(([, value]) => value !== "");
  return [
    `${palette.bold(shown(schedule.id))}${schedule.paused ? " paused" : ""}`,
    ...fieldLines(known, palette, stdoutColumns()),
  ];
}
