import type { Finding, Project } from "../plan/index.ts";
import { countOf, formatCount, neutralise, SPECULATION_WORDS } from "../words/index.ts";
import { fieldLines, hangingLines, tableLines } from "./layout.ts";
import type { Palette } from "./output.ts";
import { drawPlan, MOST_ROWS } from "./plan-chart.ts";
import type { PlanReport } from "./plan-report.ts";
import {
  amount,
  describeBound,
  describeCycle,
  describeOrder,
  describeSkip,
  formatTicks,
  labelsOf,
  listed,
} from "./plan-words.ts";
import { fitText, textWidth } from "./terminal-text.ts";

/** Of any list, the rest is counted. */
export const MOST_LISTED = 20;
export const NAME_SHARE = 0.3;
const LONG_NAME_SHARE = 0.5;
const WHY_SHARE = 0.55;

/** A plan as people read it. */
export function planLines(report: PlanReport, columns: number, palette: Palette): string[] {
  const { plan, project } = report;
  const sections = [
    headingLines(report, columns, palette),
    orderLines(report, columns, palette),
    plan.makespan === 0 ? [] : drawPlan(report, columns, palette),
    plan.schedule.length <= MOST_ROWS ? [] : scheduleLines(report, columns, palette),
    section("not planned", unplanned(report), columns, palette),
    section("cycles", plan.cycles.map(describeCycle), columns, palette),
    section(
      "blockers that do not exist",
      plan.dangling.map(
        ({ id, needs }) => `${neutralise(id)} needs ${neutralise(needs)}; it does not wait for it`,
      ),
      columns,
      palette,
    ),
    section("the file", findingTexts(project), columns, palette),
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .flatMap((lines, at) => (at === 0 ? lines : ["", ...lines]));
}

function headingLines(report: PlanReport, columns: number, palette: Palette): string[] {
  const { plan, project, capacities, seed } = report;
  const counts = new Map<string, number>();
  for (const { state } of project.activities) counts.set(state.is, (counts.get(state.is) ?? 0) + 1);
  const states = ["done", "running", "held"].flatMap((state) => {
    const count = counts.get(state) ?? 0;
    return count > 0 ? [`${formatCount(count)} ${state}`] : [];
  });
  const nodes = [countOf(project.activities.length, "node"), ...states, describeReady(report)];
  const limits = Object.entries(capacities).map(([resource, count]) => amount(count, resource));
  const tried = plan.mode === "plan" ? `, ${countOf(plan.schedules, "schedule")} tried, seed ${seed}` : "";
  const fields: [string, string][] = [
    ["nodes", nodes.join(", ")],
    ["makespan", describeMakespan(report)],
    ["critical path", describePath(report)],
    ["limits", limits.length === 0 ? "none" : limits.join(", ")],
    ["mode", `${plan.mode}${tried}`],
  ];
  fields.push(...speculationFields(report));
  return [palette.bold(fitText(neutralise(project.name), columns)), ...fieldLines(fields, palette, columns)];
}

/** What is larger than all there is has nothing to wait for, and yet never starts. */
function describeReady({ plan }: PlanReport): string {
  const never = plan.ready.length - plan.order.length;
  return `${formatCount(plan.ready.length)} ready${never > 0 ? ` (${formatCount(never)} can never start)` : ""}`;
}

function speculationFields(report: PlanReport): [string, string][] {
  const { plan, project, speculated, makespanWithout, mayDecideLater } = report;
  const startOf = new Map(plan.schedule.map(({ id, start }) => [id, start]));
  const fields = speculated.slice(0, MOST_LISTED).map(({ id, because, tags }): [string, string] => {
    const start = startOf.get(id) ?? 0;
    const when = start === 0 ? "now" : `at ${formatTicks(start, project.unit)}`;
    const tried = `${neutralise(id)} ${when}, in ${tags.length} alternatives`;
    return ["speculate", `${tried} (${SPECULATION_WORDS[because]})`];
  });
  if (speculated.length > MOST_LISTED)
    fields.push(["", `… and ${formatCount(speculated.length - MOST_LISTED)} more`]);
  if (makespanWithout !== undefined) fields.push(["", describeSpeculation(report, makespanWithout)]);
  if (mayDecideLater)
    fields.push([
      speculated.length === 0 ? "speculate" : "",
      `${speculated.length === 0 ? "nothing: " : ""}only what can start now is decided on; --mode online decides on each node when it starts`,
    ]);
  return fields;
}

function describeSpeculation({ plan, project: { unit } }: PlanReport, without: number): string {
  const longer = plan.makespan - without;
  if (longer === 0)
    return "without, all takes as long; only the end is compared, single nodes may start later with it";
  const by = `${formatTicks(Math.abs(longer), unit)} ${longer > 0 ? "longer" : "shorter"}`;
  return `which makes all take ${by}: ${formatTicks(without, unit)} without`;
}

function describeMakespan({ plan, project }: PlanReport): string {
  const { unit } = project;
  const { makespan, lowerBound, lowerBoundBy, gap, schedule } = plan;
  const open = project.activities.filter(({ state }) => state.is !== "done").length;
  const partial =
    open > schedule.length ? `${formatCount(schedule.length)} of ${countOf(open, "open node")}` : "";
  if (schedule.length === 0) return open === 0 ? "nothing to do" : `none: ${partial} planned`;
  const bound = `lower bound ${formatTicks(lowerBound, unit)} by ${describeBound(lowerBoundBy)}`;
  const distance = gap === 0 ? "optimal" : `at most ${formatPercent(gap)} above the optimum`;
  const of = partial === "" ? "" : ` for the ${partial} that can be planned`;
  return `${formatTicks(makespan, unit)}${of} (${bound}: ${distance})`;
}

export function formatPercent(share: number): string {
  return share < 0.001 ? "0.1 %" : `${Math.round(share * 1_000) / 10} %`;
}

const MOST_OF_PATH = 12;

function describePath({ plan: { criticalPath }, project: { unit } }: PlanReport): string {
  const { ids, length } = criticalPath;
  if (ids.length === 0) return "none";
  const half = MOST_OF_PATH / 2;
  const shown = ids.length <= MOST_OF_PATH ? ids : [...ids.slice(0, half), "…", ...ids.slice(-half)];
  const count = ids.length > MOST_OF_PATH ? `, ${countOf(ids.length, "node")}` : "";
  return `${shown.map(neutralise).join(" → ")}: ${formatTicks(length, unit)}${count}`;
}

/** What is ready, in the order in which it goes and why, and what keeps those that do not start now. */
function orderLines(report: PlanReport, columns: number, palette: Palette): string[] {
  const { plan, project } = report;
  if (plan.order.length === 0) return [];
  const first = plan.order.slice(0, MOST_LISTED).map(({ id }) => id);
  const labels = labelsOf(project, first);
  const startOf = new Map<string, number>();
  for (const { id, start } of plan.schedule) if (labels.has(id)) startOf.set(id, start);
  const rows = first.flatMap((id, at) => {
    const start = startOf.get(id) ?? 0;
    const when = start === 0 ? "now" : formatTicks(start, project.unit);
    const skip = plan.skipped.get(id);
    const why = describeOrder(plan, at, project.unit);
    const row = [String(at + 1), fitText(labels.get(id) ?? "", Math.floor(columns * NAME_SHARE)), when];
    if (skip === undefined) return [[...row, why]];
    const both = `${why}; ${describeSkip(skip)}`;
    const isShort = textWidth(both) <= columns * WHY_SHARE;
    return isShort
      ? [[...row, both]]
      : [
          [...row, `${why};`],
          ["", "", "", describeSkip(skip)],
        ];
  });
  const table = tableLines(
    [
      { title: "", align: "right" },
      { title: "ready" },
      { title: "starts", align: "right" },
      { title: "why" },
    ],
    rows,
    palette,
  );
  return [...table.map((line) => `  ${line}`), ...moreLines(plan.order.length, palette)];
}

/** Start, finish and lane of the first; all of them would fill many screens. */
function scheduleLines({ plan, project }: PlanReport, columns: number, palette: Palette): string[] {
  const { unit } = project;
  const nameWidth = Math.floor(columns * LONG_NAME_SHARE);
  const first = plan.schedule.slice(0, MOST_LISTED);
  const labels = labelsOf(
    project,
    first.map(({ id }) => id),
  );
  const rows = first.map(({ id, start, finish, lane, critical, slack }) => [
    `${critical ? "* " : "  "}${fitText(labels.get(id) ?? "", nameWidth)}`,
    formatTicks(start, unit),
    formatTicks(finish, unit),
    String(lane + 1),
    formatTicks(slack, unit),
  ]);
  const right = (title: string) => ({ title, align: "right" as const });
  const titles = [{ title: "  node" }, right("start"), right("finish"), right("lane"), right("slack")];
  return [
    ...tableLines(titles, rows, palette),
    ...moreLines(plan.schedule.length, palette, "; --json has all"),
  ];
}

/** What will not run by this plan, whatever ends; those of which the same is to be said together. */
function unplanned({ plan, project }: PlanReport): string[] {
  const open = project.activities.filter(({ state }) => state.is !== "done");
  if (open.length === plan.schedule.length) return [];
  const planned = new Set(plan.schedule.map(({ id }) => id));
  const idsOf = new Map<string, string[]>();
  for (const [id, skip] of plan.skipped) {
    if (planned.has(id) || skip.code === "Cycle") continue;
    const text = describeSkip(skip);
    const ids = idsOf.get(text);
    if (ids) ids.push(id);
    else idsOf.set(text, [id]);
  }
  return [...idsOf].map(([text, ids]) =>
    ids.length === 1 ? `${listed(ids)} ${text}` : `${listed(ids)}: each ${text}`,
  );
}

/** One by one, or where there are many the first of each kind. */
function findingTexts({ findings }: Project): string[] {
  const kinds = new Map<string, { first: Finding; count: number }>();
  for (const finding of findings) {
    const kind = kinds.get(finding.code);
    if (kind) kind.count++;
    else kinds.set(finding.code, { first: finding, count: 1 });
  }
  const lineOf = ({ line, message }: Finding): string => `line ${line}: ${neutralise(message)}`;
  if (findings.length <= MOST_LISTED) return findings.map(lineOf);
  return [...kinds.values()].map(({ first, count }) =>
    count === 1 ? lineOf(first) : `${lineOf(first)}; so on ${countOf(count - 1, "more line")}`,
  );
}

function section(title: string, texts: readonly string[], columns: number, palette: Palette): string[] {
  if (texts.length === 0) return [];
  const count = texts.length > MOST_LISTED ? ` (${formatCount(texts.length)})` : "";
  const lines = texts.slice(0, MOST_LISTED).flatMap((text) => hangingLines("  ", text, columns));
  return [palette.dim(`${title}${count}`), ...lines, ...moreLines(texts.length, palette)];
}

export function moreLines(count: number, { dim }: Palette, hint = ""): string[] {
  return count > MOST_LISTED ? [dim(`  … and ${formatCount(count - MOST_LISTED)} more${hint}`)] : [];
}
