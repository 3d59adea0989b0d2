import type { Plan, Unit } from "../plan/index.ts";
import { formatCount, neutralise } from "../words/index.ts";
import { type Column, tableLines } from "./layout.ts";
import type { Palette } from "./output.ts";
import { movedNodes, type PlanReport } from "./plan-report.ts";
import { formatPercent, MOST_LISTED, moreLines, NAME_SHARE } from "./plan-text.ts";
import { amount, formatTicks, labelsOf } from "./plan-words.ts";
import { fitText } from "./terminal-text.ts";

/** What a change of limits moves, and how much sooner all ends. */
export function planDiffLines(
  before: PlanReport,
  after: PlanReport,
  columns: number,
  palette: Palette,
): string[] {
  const titles = [
    { title: "" },
    { title: "limits" },
    right("makespan"),
    right("lower bound"),
    right("start now"),
  ];
  const both = tableLines(titles, [sideOf("before", before), sideOf("after", after)], palette);
  return [
    palette.bold(fitText(neutralise(after.project.name), columns)),
    ...both.map((line) => `  ${line}`),
    "",
    `  ${describeSooner(before.plan, after.plan, after.project.unit)}`,
    ...movedLines(before, after, columns, palette),
  ];
}

function sideOf(name: string, { plan, capacities, project: { unit } }: PlanReport): string[] {
  return [
    name,
    Object.entries(capacities)
      .map(([resource, count]) => amount(count, resource))
      .join(", "),
    formatTicks(plan.makespan, unit),
    formatTicks(plan.lowerBound, unit),
    formatCount(plan.schedule.filter(({ start }) => start === 0).length),
  ];
}

function movedLines(before: PlanReport, after: PlanReport, columns: number, palette: Palette): string[] {
  const { unit } = after.project;
  const moved = movedNodes(before.plan, after.plan);
  if (moved.length === 0) return ["  No node starts at another time."];
  const time = (ticks: number | undefined): string =>
    ticks === undefined ? "never" : formatTicks(ticks, unit);
  const first = moved.slice(0, MOST_LISTED);
  const labels = labelsOf(
    after.project,
    first.map(({ id }) => id),
  );
  const rows = first.map(({ id, startBefore, startAfter }) => {
    const by =
      startBefore === undefined || startAfter === undefined ? "" : signed(startAfter - startBefore, unit);
    return [
      fitText(labels.get(id) ?? "", Math.floor(columns * NAME_SHARE)),
      time(startBefore),
      time(startAfter),
      by,
    ];
  });
  const titles = [
    { title: `moved (${formatCount(moved.length)})` },
    right("before"),
    right("after"),
    right("by"),
  ];
  const table = tableLines(titles, rows, palette).map((line) => `  ${line}`);
  return ["", ...table, ...moreLines(moved.length, palette, "; --json has all")];
}

function right(title: string): Column {
  return { title, align: "right" };
}

function describeSooner(before: Plan, after: Plan, unit: Unit): string {
  const sooner = before.makespan - after.makespan;
  if (sooner === 0) return "It ends at the same time.";
  const share = before.makespan === 0 ? "" : ` (${formatPercent(Math.abs(sooner) / before.makespan)})`;
  return `It ends ${formatTicks(Math.abs(sooner), unit)} ${sooner > 0 ? "sooner" : "later"}${share}.`;
}

function signed(ticks: number, unit: Unit): string {
  return `${ticks < 0 ? "−" : "+"}${formatTicks(Math.abs(ticks), unit)}`;
}
