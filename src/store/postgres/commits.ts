import type { Block } from "../../ledger/index.ts";
import {
  type AlternativeTask,
  type ChosenTask,
  type KeyedTask,
  type ProgressedTask,
  QUEUED,
  ROW_STATUSES,
  type RowChanges,
  type RunRow,
  type TaskProgress,
  type Usage,
} from "../rows.ts";
import { arraysOf, type Columns, textOfValue } from "./parameters.ts";
import { type Statement, sql } from "./sql.ts";

export interface Query extends Statement {
  readonly values: string[];
}

type Added = RowChanges["submitted"][number];
/** Nothing was written of it since it was submitted. */
type First = ProgressedTask & { readonly first: object };

/** The statement finds a kind by walking through all of them. */
const MAX_KINDS = 32;

const statusOf = ({ status }: TaskProgress): number => ROW_STATUSES.indexOf(status);

/** In the order of the parameters of the files in `sql/` that the constants are named after. */
const NEW_TASKS_KIND: Columns<Added> = [
  ({ task }) => task.enqueuedAt,
  ({ task }) => task.zone,
  ({ task }) => task.boostMicros,
  ({ task }) => task.priority,
  ({ task }) => task.priorityClass,
  ({ task }) => task.executor,
  ({ task }) => task.type,
  ({ task }) => task.requestState,
  ({ task }) => task.settings,
];

const NEW_TASKS: Columns<Added> = [
  ({ task }) => task.id,
  ({ task }) => task.agent,
  ({ task }) => task.submittedSeq,
  ({ task }) => task.runAt,
  ({ task }) => task.deadline,
  ({ task }) => task.estimateMs,
  ({ task }) => task.payloadHash,
  ({ task }) => task.payload,
];

const SUBMITTED: Columns<Pick<Added, "task">> = [
  ({ task }) => task.id,
  ({ task }) => task.zone,
  ({ task }) => task.agent,
  ({ task }) => task.submittedSeq,
  ({ task }) => task.enqueuedAt,
  ({ task }) => task.runAt,
  ({ task }) => task.deadline,
  ({ task }) => task.estimateMs,
  ({ task }) => task.boostMicros,
  ({ task }) => task.priority,
  ({ task }) => task.priorityClass,
  ({ task }) => task.run?.id,
  ({ task }) => task.run?.node,
  ({ task }) => task.executor,
  ({ task }) => task.type,
  ({ task }) => task.requestState,
  ({ task }) => task.payloadHash,
];

const TASKS: Columns<Added> = [...SUBMITTED, ({ task }) => task.settings, ({ task }) => task.payload];

const ALTERNATIVES: Columns<AlternativeTask> = [...SUBMITTED, ({ of }) => of];

const CHOSEN: Columns<ChosenTask> = [
  ({ id }) => id,
  ({ progress }) => statusOf(progress),
  ({ progress }) => progress.attempt,
  ({ progress }) => progress.worker,
  ({ progress }) => progress.startedAt,
  ({ progress }) => progress.endedAt,
  ({ progress }) => progress.seq,
  ({ progress }) => progress.resultHash,
  ({ of }) => of,
  ({ first }) => first?.zone,
  ({ first }) => first?.agent,
  ({ first }) => first?.seq,
];

const PROGRESS_KIND: Columns<ProgressedTask> = [
  ({ progress }) => statusOf(progress),
  ({ progress }) => progress.attempt,
  ({ progress }) => progress.worker,
  ({ progress }) => progress.endedAt,
  ({ progress }) => progress.errorCode,
];

const PROGRESS: Columns<ProgressedTask> = [
  ({ id }) => id,
  ({ progress }) => progress.startedAt,
  ({ progress }) => progress.costMicros,
  ({ progress }) => progress.seq,
  ({ progress }) => progress.errorMessage,
  ({ progress }) => progress.resultHash,
  ({ progress }) => progress.result,
];

const FIRST_PROGRESS_KIND: Columns<First> = [...PROGRESS_KIND, ({ first }) => first.zone];

const FIRST_PROGRESS: Columns<First> = [...PROGRESS, ({ first }) => first.seq, ({ first }) => first.agent];

const USAGES: Columns<Usage> = [
  ({ id }) => id,
  ({ used }) => `{${used}}`,
  ({ recharged }) => `{${recharged}}`,
];

const KEYS: Columns<KeyedTask> = [
  ({ zone }) => zone,
  ({ agent }) => agent,
  ({ key }) => key,
  ({ taskId }) => taskId,
  ({ bodyHash }) => bodyHash,
];

const RUNS: Columns<RunRow> = [
  ({ id }) => id,
  ({ zone }) => zone,
  ({ agent }) => agent,
  ({ name }) => name,
  ({ nodes }) => nodes,
  ({ submittedAt }) => submittedAt,
  ({ submittedSeq }) => submittedSeq,
  ({ outcome }) => outcome,
  ({ endedAt }) => endedAt,
];

const ENDED_RUNS: Columns<RowChanges["runsEnded"][number]> = [
  ({ id }) => id,
  ({ outcome }) => outcome,
  ({ endedAt }) => endedAt,
];

/** What commits a block with its rows. */
export function commitOf(block: Block, changes: RowChanges): Query {
  const { prev, seq, epoch, count, hash, now, line } = block;
  const parts: Part[] = [];
  const first: First[] = [];
  const again: ProgressedTask[] = [];
  for (const one of changes.progressed) {
    if (isFirst(one)) first.push(one);
    else again.push(one);
  }
  if (changes.submitted.length > 0) parts.push(...tasksOf(changes.submitted, first));
  addKinds(parts, "first-progress", first, FIRST_PROGRESS_KIND, FIRST_PROGRESS);
  addKinds(parts, "progress", again, PROGRESS_KIND, PROGRESS);
  addColumns(parts, "alternatives", changes.alternatives, ALTERNATIVES);
  addColumns(parts, "chosen", changes.chosen, CHOSEN);
  addColumns(parts, "usages", changes.usages, USAGES);
  addColumns(parts, "keys", changes.keys, KEYS);
  addColumns(parts, "runs", changes.runs, RUNS);
  addColumns(parts, "ended-runs", changes.runsEnded, ENDED_RUNS);
  const ofBlock = [prev, seq - 1, epoch, seq + count - 1, hash, count, now, line].map(textOfValue);
  return {
    ...statementOf(parts, ofBlock.length),
    values: parts.length === 0 ? ofBlock : ofBlock.concat(...parts.map(({ values }) => values)),
  };
}

/** What is added to the commit of a bare block. */
interface Part {
  readonly name: string;
  readonly values: readonly string[];
}

function addColumns<T>(parts: Part[], name: string, rows: readonly T[], columns: Columns<T>): void {
  if (rows.length > 0) parts.push({ name, values: arraysOf(rows, columns) });
}

function addKinds<T>(
  parts: Part[],
  name: string,
  rows: readonly T[],
  ofKinds: Columns<T>,
  ofRows: Columns<T>,
): void {
  if (rows.length === 0) return;
  const kinds = new Kinds(ofKinds, Number.POSITIVE_INFINITY);
  for (const row of rows) kinds.add(row);
  parts.push({ name, values: [...kinds.arrays(), ...arraysOf(rows, ofRows)] });
}

function isFirst(one: ProgressedTask): one is First {
  return one.first !== undefined;
}

/** What has become of some of them already is added to what is written of tasks for the first time. */
function* tasksOf(submitted: readonly Added[], progressed: First[]): Iterable<Part> {
  const kinds = new Kinds(NEW_TASKS_KIND, MAX_KINDS);
  const alone: Added[] = [];
  const others: Added[] = [];
  for (const row of submitted) {
    (!row.task.run && kinds.add(row) ? alone : others).push(row);
    if (isNew(row)) continue;
    const { id, zone, agent, submittedSeq: seq } = row.task;
    progressed.push({ id, progress: row.progress, first: { zone, agent, seq } });
  }
  if (alone.length > 0)
    yield { name: "new-tasks", values: [...kinds.arrays(), ...arraysOf(alone, NEW_TASKS)] };
  if (others.length > 0) yield { name: "tasks", values: arraysOf(others, TASKS) };
}

/** Nothing has become of it but that it waits: what a task without progress is taken for. */
function isNew({ task, progress }: Added): boolean {
  return (
    progress.seq === task.submittedSeq &&
    progress.status === QUEUED.status &&
    progress.attempt === QUEUED.attempt &&
    progress.worker === QUEUED.worker &&
    progress.startedAt === QUEUED.startedAt &&
    progress.endedAt === QUEUED.endedAt &&
    progress.result === QUEUED.result &&
    progress.resultHash === QUEUED.resultHash &&
    progress.errorCode === QUEUED.errorCode &&
    progress.errorMessage === QUEUED.errorMessage &&
    progress.costMicros === QUEUED.costMicros
  );
}

/** Rows that are the same in some columns are of one kind. Kinds are counted from 1, as PostgreSQL counts. */
class Kinds<T> {
  readonly #columns: Columns<T>;
  readonly #limit: number;
  readonly #numbers = new Map<string, number>();
  /** One row of each kind. */
  readonly #examples: T[] = [];
  readonly #ofRows: number[] = [];
  #last = 0;

  constructor(columns: Columns<T>, limit: number) {
    this.#columns = columns;
    this.#limit = limit;
  }

  /** False: there are too many kinds already. */
  add(row: T): boolean {
    if (this.#last === 0 || !this.#isAlike(row, this.#examples[this.#last - 1] as T)) {
      const key = JSON.stringify(this.#columns.map((column) => column(row)));
      let number = this.#numbers.get(key);
      if (number === undefined) {
        if (this.#examples.length >= this.#limit) return false;
        number = this.#examples.push(row);
        this.#numbers.set(key, number);
      }
      this.#last = number;
    }
    this.#ofRows.push(this.#last);
    return true;
  }

  /** Those of the kinds, then that of the rows. */
  arrays(): string[] {
    return [...arraysOf(this.#examples, this.#columns), `{${this.#ofRows.join(",")}}`];
  }

  #isAlike(one: T, other: T): boolean {
    for (const column of this.#columns) if (column(one) !== column(other)) return false;
    return true;
  }
}

const statements = new Map<string, Statement>();

function statementOf(parts: readonly Part[], offset: number): Statement {
  const base = sql("commit");
  if (parts.length === 0) return base;
  const key = parts.reduce((names, part) => `${names} ${part.name}`, "");
  let statement = statements.get(key);
  if (!statement) {
    // A name made of the parts could be longer than PostgreSQL tells names apart.
    const name = `${base.name} ${statements.size + 1}`;
    statement = { name, text: textOf(base.text, parts, offset) };
    statements.set(key, statement);
  }
  return statement;
}

/** Each part counts its parameters from 1. */
function textOf(base: string, parts: readonly Part[], offset: number): string {
  let before = offset;
  let added = "";
  for (const { name, values } of parts) {
    const start = before;
    added += `, ${sql(`commit-${name}`)
      .text.replaceAll(/^--.*\n/gm, "")
      .trim()
      .replaceAll(/\$(\d+)/g, (_, number: string) => `$${Number(number) + start}`)}`;
    before += values.length;
  }
  const end = base.lastIndexOf("\nselect");
  return base.slice(0, end) + added + base.slice(end);
}
