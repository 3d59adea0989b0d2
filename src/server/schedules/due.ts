import type { ScheduleRow } from "../../store/index.ts";
import { pastTimes } from "./cron.ts";

/** What is this late was not missed: a server was busy, or another took over. */
const GRACE_MS = 10_000;

/**
 * Which of the times that have passed make a task, the earliest first. However long nobody was there, and however
 * far a clock has jumped, it is the latest alone, unless the schedule wants all; and then it has a bound.
 */
export function dueTimes(row: ScheduleRow, now: number): number[] {
  const count = row.catchUp === "all" ? row.catchUpLimit : 1;
  const passed = pastTimes(row, row.seenTo, now, count);
  const wanted = row.catchUp === "none" ? passed.filter((time) => now - time <= GRACE_MS) : passed;
  return wanted.reverse();
}
