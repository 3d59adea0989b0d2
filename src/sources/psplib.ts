import type { Activity, Project } from "../plan/index.ts";
import { eachLine, type NumberRow, NumberRows } from "./number-rows.ts";
import { baseName, MAX_AMOUNT, MAX_TICKS, PLAIN, Problems, type ReadResult } from "./result.ts";

const ORDER = "PRECEDENCE RELATIONS";
const REQUESTS = "REQUESTS/DURATIONS";
const AVAILABLE = "RESOURCEAVAILABILITIES";
const TABLES = [ORDER, REQUESTS, AVAILABLE] as const;

/**
 * The projects of PSPLIB (`.sm`): jobs with one mode each that need renewable resources.
 *
 * A file has three tables, each below a line with its name: who comes before whom, what each job takes, and what
 * there is of each resource. The first and the last job are dummies of no duration, and stay.
 */
export function readPsplib(text: string, fileName: string): ReadResult {
  const problems = new Problems();
  const file = new SmFile(text, problems);
  if (!problems.isEmpty) return problems.result();

  const capacities = readCapacities(file.table(AVAILABLE), problems);
  const needs = readNeeds(file.table(ORDER), problems);
  file.checkJobs(needs.size);
  const activities = problems.isEmpty
    ? readActivities(file.table(REQUESTS), needs, capacities, problems)
    : [];
  if (!problems.isEmpty) return problems.result();
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
  readonly rows: NumberRow[];
}

/** The tables of a file and what its head says of them. */
class SmFile {
  readonly #problems: Problems;
  readonly #tables = new Map<string, Table>();
  #jobs: { readonly line: number; readonly count: number } | undefined;

  constructor(text: string, problems: Problems) {
    this.#problems = problems;
    const reader = new NumberRows(problems);
    let table: Table | undefined;
    let last = 1;
    eachLine(text, (line, number) => {
      last = number;
      const name = TABLES.find((name) => line.trimStart().startsWith(name));
      if (name) table = this.#begin(name, number);
      else if (line.startsWith("***")) table = undefined;
      else if (!table) this.#readHead(line, number);
      else if (!isHeading(line)) {
        const row = reader.read(line, number);
        if (row) table.rows.push(row);
      }
      return !problems.isOver;
    });
    for (const name of TABLES.filter((name) => !this.#tables.has(name)))
      problems.add(last, `the table "${name}:" is missing; this is no whole .sm file`);
  }

  table(name: (typeof TABLES)[number]): Table {
    return this.#tables.get(name) ?? { line: 1, rows: [] };
  }

  checkJobs(count: number): void {
    if (this.#jobs === undefined || this.#jobs.count === count) return;
    this.#problems.add(this.#jobs.line, `the file should have ${this.#jobs.count} jobs and has ${count}`);
  }

  #begin(name: string, line: number): Table {
    const table = { line, rows: [] };
    const first = this.#tables.get(name);
    if (first) this.#problems.add(line, `the table "${name}:" is given twice, first on line ${first.line}`);
    else this.#tables.set(name, table);
    return table;
  }

  /** Only what is given back when a job ends can be planned: what is used up for good is another problem. */
  #readHead(line: string, number: number): void {
    const [, kind = "", count = ""] = HEAD.exec(line) ?? [];
    if (kind.startsWith("jobs")) this.#jobs = { line: number, count: Number(count) };
    else if (Number(count) > 0)
      this.#problems.add(number, `${count} ${kind} resources: only renewable resources can be planned`);
  }
}

const HEAD = /^ {0,8}(?:- )?(nonrenewable|doubly constrained|jobs\b[^:]{0,80}) {0,80}: {0,80}(\d{1,9})/;

/** Headings of columns, rules and empty lines. */
function isHeading(line: string): boolean {
  return /^[A-Za-z-]|^$/.test(line.trimStart());
}

function readCapacities({ line, rows }: Table, problems: Problems): readonly number[] {
  const [row] = rows;
  if (!row || rows.length > 1) {
    problems.add(row?.line ?? line, `${AVAILABLE} must have one row of amounts`);
    return [];
  }
  for (const amount of row.numbers) refuseLarge(row.line, amount, MAX_AMOUNT, problems);
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
      problems.add(line, `job ${job} has ${modes ?? "no"} modes: only files with one mode can be planned`);
    if (count !== numbers.length - 3)
      problems.add(line, `job ${job} should have ${count} successors and has ${numbers.length - 3}`);
  }
  for (const { line, numbers } of rows) {
    const [job = 0] = numbers;
    for (let index = 3; index < numbers.length; index++) {
      const before = needs.get(numbers[index] as number);
      if (before) before.add(job);
      else problems.add(line, `job ${job} comes before job ${numbers[index]}, which does not exist`);
    }
  }
  return needs;
}

function readActivities(
  { line, rows }: Table,
  needs: ReadonlyMap<number, ReadonlySet<number>>,
  capacities: readonly number[],
  problems: Problems,
): Activity[] {
  const requests = new Map<number, NumberRow>();
  for (const row of rows) {
    const [job = 0] = row.numbers;
    if (!needs.has(job)) problems.add(row.line, `job ${job} is not among the ${ORDER}`);
    else if (requests.has(job)) problems.add(row.line, `job ${job} is given twice`);
    else if (row.numbers.length !== capacities.length + 3)
      problems.add(row.line, `job ${job} must have a mode, a duration and ${capacities.length} amounts`);
    requests.set(job, row);
  }
  const names = capacities.map((_, index) => resourceName(index));
  const activities: Activity[] = [];
  for (const [job, before] of needs) {
    const request = requests.get(job);
    if (request) activities.push(activityOf(request, before, names, problems));
    else problems.add(line, `job ${job} has no row in ${REQUESTS}`);
  }
  return activities;
}

function activityOf(
  row: NumberRow,
  needs: ReadonlySet<number>,
  names: readonly string[],
  problems: Problems,
): Activity {
  const { line, numbers } = row;
  const [job = 0, , duration = 0] = numbers;
  refuseLarge(line, duration, MAX_TICKS, problems);
  const uses: Record<string, number> = {};
  for (let index = 0; index < names.length; index++) {
    const amount = numbers[index + 3] as number;
    refuseLarge(line, amount, MAX_AMOUNT, problems);
    if (amount > 0) uses[names[index] as string] = amount;
  }
  const { priority, risk, speculate, state } = PLAIN;
  return {
    id: String(job),
    needs: Array.from(needs, String),
    duration,
    uses,
    priority,
    risk,
    speculate,
    state,
  };
}

function refuseLarge(line: number, number: number, max: number, problems: Problems): void {
  if (number > max) problems.add(line, `${number} is too large; at most ${max} can be planned`);
}

function resourceName(index: number): string {
  return `R${index + 1}`;
}
