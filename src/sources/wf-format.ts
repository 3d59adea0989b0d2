import type { Activity } from "../plan/index.ts";
import { shown } from "../protocol/index.ts";
import { Findings } from "./findings.ts";
import { lineOfItems } from "./item-lines.ts";
import { type Mapping, mappingOf, nameOf } from "./json-values.ts";
import { baseName, MAX_AMOUNT, MAX_TICKS, PLAIN, Problems, type ReadResult, refusal } from "./result.ts";

/** How long a task counts that nobody measured, so that a workflow without measurements is planned by its steps. */
const UNMEASURED_MS = 1_000;

const MAX_TASKS = 1_000_000;

/**
 * Workflows in WfFormat (wfcommons). From 1.5 on the graph (`specification`) and the measurements (`execution`) are
 * apart; before, one list of `tasks`, and first of all of `jobs`, had both, and tasks named one another by name.
 */
export function readWfFormat(text: string, root: Mapping, fileName: string): ReadResult {
  const list = taskList(mappingOf(root["workflow"]));
  if (!list) return refusal(1, "workflow must have specification.tasks, tasks or jobs, a list");
  if (list.tasks.length > MAX_TASKS)
    return refusal(1, `the workflow has ${list.tasks.length} tasks; at most ${MAX_TASKS} can be read`);
  const lineOf = lineOfItems(text, list.path);
  const problems = new Problems();
  const tasks = readTasks(list.tasks, lineOf, problems);
  if (!problems.isEmpty) return problems.result();
  const findings = new Findings();
  const needs = new Needs(tasks, findings);
  const measured = measurements(mappingOf(root["workflow"]));
  const activities = tasks.map((task) => ({
    id: task.id,
    ...(task.name === task.id ? {} : { title: task.name }),
    needs: needs.of(task),
    ...costs({ ...task.map, ...measured.get(task.id) }, task, findings),
    ...PLAIN,
  }));
  const name = nameOf(root["name"]) ?? baseName(fileName);
  const unit = { name: "seconds", ticks: 1_000 } as const;
  return { ok: true, project: { name, unit, activities, capacities: {}, findings: findings.list() } };
}

interface Task {
  readonly id: string;
  readonly name: string;
  readonly map: Mapping;
  readonly line: number;
}

interface TaskList {
  readonly tasks: readonly unknown[];
  readonly path: readonly string[];
}

function taskList(workflow: Mapping): TaskList | undefined {
  const specification = mappingOf(workflow["specification"])["tasks"];
  if (Array.isArray(specification))
    return { tasks: specification, path: ["workflow", "specification", "tasks"] };
  for (const key of ["tasks", "jobs"]) {
    const tasks = workflow[key];
    if (Array.isArray(tasks)) return { tasks, path: ["workflow", key] };
  }
  return undefined;
}

function readTasks(
  list: readonly unknown[],
  lineOf: (index: number) => number,
  problems: Problems,
): readonly Task[] {
  const firsts = new Map<string, number>();
  return list.flatMap((value, index) => {
    if (problems.isOver) return [];
    const map = mappingOf(value);
    const name = nameOf(map["name"]);
    const id = nameOf(map["id"]) ?? name;
    if (id === undefined) {
      problems.add(lineOf(index), `task ${index + 1} must be a map with an id or a name`);
      return [];
    }
    const first = firsts.get(id);
    if (first !== undefined)
      problems.add(lineOf(index), `task id ${shown(id)} is used twice, first on line ${lineOf(first)}`);
    else firsts.set(id, index);
    return [{ id, name: name ?? id, map, line: lineOf(index) }];
  });
}

/** Who comes before whom, as the parents say it and as the children do: files have either or both. */
class Needs {
  readonly #ids = new Map<string, string>();
  readonly #needs = new Map<string, Set<string>>();
  readonly #findings: Findings;

  constructor(tasks: readonly Task[], findings: Findings) {
    this.#findings = findings;
    // A name that several tasks have means none of them, unless it is an id too.
    for (const { id, name } of tasks) this.#ids.set(name, this.#ids.has(name) ? "" : id);
    for (const { id } of tasks) this.#ids.set(id, id);
    for (const { id } of tasks) this.#needs.set(id, new Set());
    for (const task of tasks) this.#add(task);
  }

  of(task: Task): readonly string[] {
    return [...(this.#needs.get(task.id) ?? [])];
  }

  #add(task: Task): void {
    for (const parent of this.#names(task, "parents"))
      this.#needs.get(task.id)?.add(this.#ids.get(parent) || parent);
    for (const child of this.#names(task, "children")) {
      const needs = this.#needs.get(this.#ids.get(child) ?? "");
      if (needs) needs.add(task.id);
      else
        this.#find(task, "unknown-child", `children names ${shown(child)}, which is no task; it is ignored`);
    }
  }

  #names(task: Task, key: string): string[] {
    const value = task.map[key] ?? [];
    const names = Array.isArray(value) ? value.map(nameOf) : [undefined];
    if (names.includes(undefined))
      this.#find(task, `bad-${key}`, `${key} must be a list of ids; what is none is ignored`);
    return names.filter((name) => name !== undefined);
  }

  #find({ id, line }: Task, code: string, message: string): void {
    this.#findings.add(line, code, message, id);
  }
}

function measurements(workflow: Mapping): ReadonlyMap<string, Mapping> {
  const list = mappingOf(workflow["execution"])["tasks"];
  const maps = Array.isArray(list) ? list.map(mappingOf) : [];
  return new Map(maps.flatMap((map) => (typeof map["id"] === "string" ? [[map["id"], map]] : [])));
}

function costs(map: Mapping, task: Task, findings: Findings): Pick<Activity, "duration" | "uses"> {
  const { id, line } = task;
  const seconds = map["runtimeInSeconds"] ?? map["runtime"];
  const cores = map["coreCount"] ?? map["cores"];
  let duration = typeof seconds === "number" ? Math.round(seconds * 1_000) : Number.NaN;
  if (!(duration >= 0 && duration <= MAX_TICKS)) {
    const got = seconds === undefined ? "is missing" : `must be a number from 0 on, not ${shown(seconds)}`;
    const message = `runtimeInSeconds ${got}; it counts as ${UNMEASURED_MS / 1_000} s`;
    findings.add(line, "no-runtime", message, id);
    duration = UNMEASURED_MS;
  }
  const cpu = typeof cores === "number" ? Math.ceil(cores) : Number.NaN;
  if (cpu > 0 && cpu <= MAX_AMOUNT) return { duration, uses: { slots: 1, cpu } };
  if (cores !== undefined) {
    const message = `coreCount must be a number above 0, not ${shown(cores)}; it is ignored`;
    findings.add(line, "bad-cores", message, id);
  }
  return { duration, uses: { slots: 1 } };
}
