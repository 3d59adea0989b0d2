import { writeFile } from "node:fs/promises";
import type { Command } from "commander";
import type { Settings } from "../config/index.ts";
import { type Project, raiseStarving } from "../plan/index.ts";
import { CliError, UsageError } from "./errors.ts";
import { type Palette, printJson, printLines, stdoutColumns, stdoutPalette } from "./output.ts";
import type { PlanOptions } from "./plan.ts";
import { planDiffLines } from "./plan-diff-text.ts";
import { capacitiesOf, givenAmounts, readPlanFile, warnOfUnused } from "./plan-input.ts";
import { type PlanReport, planDiffJson, planJson } from "./plan-report.ts";
import { planSvg } from "./plan-svg.ts";
import { planLines } from "./plan-text.ts";
import { Planner } from "./planning.ts";
import { settingsOf } from "./settings.ts";

const EFFORT_MS = 1_000;
const INTERRUPTED = 130;

export async function printPlan(file: string, options: PlanOptions, command: Command): Promise<void> {
  const given = givenAmounts(options);
  check(options, given);
  const settings = settingsOf(command, "plan");
  const starvationMs = settings.scheduling.starvationThresholdMs;
  const project = raiseStarving(await readPlanFile(file), starvationMs);
  warnOfUnused(project, given);
  const planner = new Planner({
    mode: options.mode,
    seed: options.seed,
    effortMs: options.effort ?? EFFORT_MS,
    schedules: options.schedules,
    speculation: settings.speculation,
    starvationMs,
  });
  const stop = (): void => planner.stop();
  process.once("SIGINT", stop);
  try {
    if (options.diff) await printDiff(planner, project, settings, given, options);
    else await printOne(await planner.plan(project, capacitiesOf(project, settings, given)), options);
  } finally {
    process.off("SIGINT", stop);
  }
  if (planner.isStopped) throw new CliError("", INTERRUPTED);
}

function check(options: PlanOptions, given: ReadonlyMap<string, number>): void {
  const searches = (["effort", "schedules"] as const).find((name) => options[name] !== undefined);
  if (options.mode === "online" && searches !== undefined)
    throw new UsageError(`--${searches} is for --mode plan: online there is nothing to search for`);
  if (options.diff && given.size === 0)
    throw new UsageError("--diff compares with what you change: give --slots, --tokens or --resource too");
}

async function printOne(report: PlanReport, options: PlanOptions): Promise<void> {
  await writeSvg(report, options.svg);
  if (options.json) await printJson(planJson(report));
  else await printLines(planLines(report, ...screen(options)));
}

async function printDiff(
  planner: Planner,
  project: Project,
  settings: Settings,
  given: ReadonlyMap<string, number>,
  options: PlanOptions,
): Promise<void> {
  const before = await planner.plan(project, capacitiesOf(project, settings, new Map()));
  const after = await planner.plan(project, capacitiesOf(project, settings, given));
  await writeSvg(after, options.svg);
  if (options.json) await printJson(planDiffJson(before, after));
  else await printLines(planDiffLines(before, after, ...screen(options)));
}

function screen({ width }: PlanOptions): [columns: number, palette: Palette] {
  return [width ?? Math.max(40, stdoutColumns()), stdoutPalette()];
}

async function writeSvg(report: PlanReport, path: string | undefined): Promise<void> {
  if (path === undefined) return;
  try {
    await writeFile(path, planSvg(report));
  } catch (cause) {
    throw new UsageError(`cannot write the chart: ${(cause as Error).message}`);
  }
  process.stderr.write(`wrote ${path}\n`);
}
