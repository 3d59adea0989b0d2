import { Cron } from "croner";
import type { ScheduleRow } from "../../store/index.ts";

/** What says when. */
export type Timing = Pick<ScheduleRow, "cron" | "timeZone" | "startAt" | "endAt">;

const NICKNAME = /^@(yearly|annually|monthly|weekly|daily|hourly)$/;
const SECOND_MS = 1000;

/** What is wrong with when something shall come from now on, with the field it is in; undefined: nothing. */
export function timingProblem(
  timing: Timing,
  now: number,
): { readonly field: "cron" | "time_zone" | "end_at"; readonly detail: string } | undefined {
  const { cron, timeZone, startAt, endAt } = timing;
  const fields = cron.trim().split(/\s+/).length;
  if (fields !== 5 && fields !== 6 && !NICKNAME.test(cron.trim())) {
    const detail = `must have five fields such as "30 6 * * 1-5", or six with seconds before them; got ${fields}`;
    return { field: "cron", detail };
  }
  try {
    new Intl.DateTimeFormat("en", { timeZone });
  } catch {
    const detail = `must be an IANA time zone such as "Europe/Berlin" or "UTC"; got ${JSON.stringify(timeZone)}`;
    return { field: "time_zone", detail };
  }
  try {
    cronOf({ cron, timeZone });
  } catch (error) {
    return { field: "cron", detail: fieldProblem(cron) ?? `cannot be read: ${plainMessage(error as Error)}` };
  }
  if (endAt !== -1 && endAt < startAt) return { field: "end_at", detail: "must not be before start_at" };
  if (cronOf(timing).nextRuns(1, new Date(0)).length === 0) {
    const detail = `says a time that never comes, such as the 30th of February; got ${JSON.stringify(cron)}`;
    return { field: "cron", detail };
  }
  const [first] = nextTimes({ ...timing, endAt: -1 }, now, 1);
  if (endAt === -1 || first === undefined || first <= endAt) return undefined;
  const when = new Date(first).toISOString();
  return { field: "end_at", detail: `must not be before its first time, which is ${when}` };
}

/** The next times after one, as many as there are. */
export function nextTimes(timing: Timing, after: number, count: number): number[] {
  const { startAt, endAt } = timing;
  const from = new Date(Math.max(after, startAt - 1));
  const times = cronOf(timing).nextRuns(count, from).map(Number);
  return endAt === -1 ? times : times.filter((time) => time <= endAt);
}

/** The last times up to one that came after another, the latest first, at most so many. */
export function pastTimes(timing: Timing, after: number, upTo: number, count: number): number[] {
  const { startAt, endAt } = timing;
  const last = endAt === -1 ? upTo : Math.min(upTo, endAt);
  // It looks at whole seconds, and for what is before them.
  let before = (Math.floor(last / SECOND_MS) + 1) * SECOND_MS;
  const times: number[] = [];
  const runs = cronOf(timing);
  // One by one: most have passed but one, and each takes long to find.
  while (times.length < count) {
    const time = Number(runs.previousRuns(1, new Date(before))[0] ?? Number.NEGATIVE_INFINITY);
    if (time <= after || time < startAt) break;
    if (time <= last) times.push(time);
    before = time;
  }
  return times;
}

const known = new Map<string, Cron>();
const MAX_KNOWN = 10_000;

/** Reading an expression costs more than asking it for a time. */
function cronOf({ cron, timeZone }: Pick<Timing, "cron" | "timeZone">): Cron {
  const key = `${timeZone} ${cron}`;
  let read = known.get(key);
  if (!read) {
    read = new Cron(cron.trim(), { timezone: timeZone, mode: "5-or-6-parts", paused: true });
    const { pattern } = read["_states"] as { readonly pattern: { isFixedTime: boolean } };
    pattern.isFixedTime ||= saysTimesOfDay(cron);
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(key, read);
  }
  return read;
}

/**
 * Whether it says times of the day, each of which comes once also where clocks change, rather than how often in an hour or a day
 * something comes. That is what cron has always gone by; Croner by itself takes only a single time for one.
 */
function saysTimesOfDay(cron: string): boolean {
  const fields = cron.trim().split(/\s+/);
  const clock = fields.slice(0, fields.length - 3);
  return clock.length > 0 && !clock.some((field) => /[*?]/.test(field));
}

const CLOCK = 'such as "5", "1,15", "9-17" or "*/10"';
const FIELDS: readonly (readonly [name: string, may: string])[] = [
  ["a second", `from 0 to 59, ${CLOCK}`],
  ["a minute", `from 0 to 59, ${CLOCK}`],
  ["an hour", `from 0 to 23, ${CLOCK}`],
  ["a day of the month", 'from 1 to 31, such as "1", "1,15" or "*/2", or L for the last'],
  ["a month", 'from 1 to 12 or JAN to DEC, such as "3", "MAR-MAY" or "*/3"'],
  ["a day of the week", 'from 0 (Sunday) to 7 or SUN to SAT, such as "1-5", "MON,FRI" or "5#L"'],
];

/** The first field of an expression that cannot be read by itself, with what it may be. */
function fieldProblem(cron: string): string | undefined {
  const given = cron.trim().split(/\s+/);
  const known = FIELDS.slice(FIELDS.length - given.length);
  for (const [at, text] of given.entries()) {
    const alone = known.map((_, other) => (other === at ? text : "*")).join(" ");
    try {
      new Cron(alone, { mode: "5-or-6-parts", paused: true });
    } catch {
      const [name, may] = known[at] ?? ["", ""];
      return `has ${name} that cannot be read: must be ${may}; got ${JSON.stringify(text)}`;
    }
  }
  return undefined;
}

function plainMessage({ message }: Error): string {
  return message.replace(/^CronPattern: /, "");
}
