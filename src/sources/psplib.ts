import type { Activity, Project } from "../plan/index.ts";
import { type NumberLine, numberLine } from "./number-lines.ts";
import { baseName, MAX_AMOUNT, MAX_TICKS, Problems, type ReadResult } from "./result.ts";

/**
 * The projects of PSPLIB (`.sm`): jobs with one mode each that need renewable resources.
 *
 * A file has three tables, each below a line with its name: who comes before whom, what each job takes, and what
 * there is of each resource. The first and the last job are dummies of no duration, and stay.
 */
export function readPsplib(text: string, fileName: string): ReadResult {
  const lines = text.split(/\r?\n/);
  const problems = new Problems();
  refuseKinds(lines, problems);
  const order = table(lines, "PRECEDENCE RELATIONS", problems);
  const requests = table(lines, "REQUESTS/DURATIONS", problems);
  const available = table(lines, "RESOURCEAVAILABILITIES", problems);
  if (problems.count > 0) return problems.result();

  const capacities = readCapacities(available, problems);
  const needs = readNeeds(order, problems);
  checkJobCount(lines, needs.size, problems);
  const activities = problems.count > 0 ? [] : readActivities(requests, needs, capacities, problems);
  if (problems.count > 0) return problems.result();
  const project: Project = {
    name: baseName(fileName),
    unit: { name: "units", ticks: 1 },
    activities,
    capacities: Object.fromEntries(capacities.map((amount, index) => [resourceName(index), amount])),
    findings: [],
  };
  return { ok: true, project };
}

interface Table {
  /** Of its name. */
  readonly line: number;
  readonly rows: readonly NumberLine[];
}

const NOTHING: Table = { line: 1, rows: [] };

/** The rows below a name, up to the next line of stars; the line of headings and rules are no rows. */
function table(lines: readonly string[], name: string, problems: Problems): Table {
  const at = lines.findIndex((line) => line.trimStart().startsWith(name));
  if (at === -1) {
    problems.add(lines.length, `the table "${name}:" is missing; the file is no whole .sm file`);
    return NOTHING;
  }
  const rows: NumberLine[] = [];
  for (let index = at + 1; index < lines.length; index++) {
    const line = lines[index] as string;
    if (line.startsWith("***")) break;
    if (line.trim() === "" || /^\s*(?:[A-Za-z]|-+\s*$)/.test(line)) continue;
    const row = numberLine(line, index + 1, problems);
    if (row) rows.push(row);
  }
  return { line: at + 1, rows };
}

/** Only what is given back when a job ends can be planned: what is used up for good is another problem. */
function refuseKinds(lines: readonly string[], problems: Problems): void {
  for (const [index, line] of lines.entries()) {
    const [, kind, count] = /^\s*- (nonrenewable|doubly constrained)\s*:\s*(\d+)/.exec(line) ?? [];
    if (kind === undefined || Number(count) === 0) continue;
    problems.add(index + 1, `${count} ${kind} resources: only renewable resources can be planned`);
  }
}

function readCapacities({ line, rows }: Table, problems: Problems): readonly number[] {
  const [row] = rows;
  if (!row || rows.length > 1) {
    problems.add(row?.line ?? line, "RESOURCEAVAILABILITIES must have one row of amounts");
    return [];
  }
  refuseLarge(row, row.numbers, MAX_AMOUNT, problems);
  return row.numbers;
}

/** What each job needs, from what comes after each. Jobs in the order of the file. */
function readNeeds({ rows }: Table, problems: Problems): ReadonlyMap<number, Set<number>> {
  const needs = new Map<number, Set<number>>();
  for (const { line, numbers } of rows) {
    const [job = 0, modes, count] = numbers;
    if (needs.has(job)) problems.add(line, `job ${job} is given twice`);
    needs.set(job, new Set());
    if (modes !== 1)
      problems.add(line, `job ${job} has ${modes} modes: only files with one mode can be planned`);
    if (count !== numbers.length - 3)
      problems.add(line, `job ${job} should have ${count} successors and has ${numbers.length - 3}`);
  }
  for (const { line, numbers } of rows) {
    const [job = 0, , , ...successors] = numbers;
    for (const successor of successors) {
      const before = needs.get(successor);
      if (before) before.add(job);
      else problems.add(line, `job ${job} comes before job ${successor}, which does not exist`);
    }
  }
  return needs;
}

function checkJobCount(lines: readonly string[], count: number, problems: Problems): void {
  const at = lines.findIndex((line) => /^\s*jobs\b.*:/.test(line));
  const expected = /:\s*(\d+)/.exec(lines[at] ?? "")?.[1];
  if (expected === undefined || Number(expected) === count) return;
  problems.add(at + 1, `the file should have ${expected} jobs and has ${count}`);
}

function readActivities(
  { line, rows }: Table,
  needs: ReadonlyMap<number, ReadonlySet<number>>,
  capacities: readonly number[],
  problems: Problems,
): Activity[] {
  const requests = new Map<number, NumberLine>();
  for (const row of rows) {
    const [job = 0] = row.numbers;
    if (!needs.has(job)) problems.add(row.line, `job ${job} is not among the PRECEDENCE RELATIONS`);
    else if (requests.has(job)) problems.add(row.line, `job ${job} is given twice`);
    else if (row.numbers.length !== capacities.length + 3)
      problems.add(row.line, `job ${job} must have a mode, a duration and ${capacities.length} amounts`);
    requests.set(job, row);
  }
  return [...needs].flatMap(([job, before]) => {
    const request = requests.get(job);
    if (request) return [activityOf(request, before, problems)];
    problems.add(line, `job ${job} has no row in REQUESTS/DURATIONS`);
    return [];
  });
}

function activityOf(row: NumberLine, needs: ReadonlySet<number>, problems: Problems): Activity {
  const [job = 0, , duration = 0, ...amounts] = row.numbers;
  refuseLarge(row, [duration], MAX_TICKS, problems);
  refuseLarge(row, amounts, MAX_AMOUNT, problems);
  const uses = amounts.flatMap((amount, index) =>
    amount > 0 ? [[resourceName(index), amount] as const] : [],
  );
  return {
    id: String(job),
    needs: [...needs].map(String),
    duration,
    uses: Object.fromEntries(uses),
    priority: 2,
    risk: "low",
    speculate: false,
    state: { is: "open" },
  };
}

function refuseLarge(
  { line }: NumberLine,
  numbers: readonly number[],
  max: number,
  problems: Problems,
): void {
  for (const number of numbers.filter((number) => number > max))
    problems.add(line, `${number} is too large; at most ${max} can be planned`);
}

function resourceName(index: number): string {
  return `R${index + 1}`;
}
