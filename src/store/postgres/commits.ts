import type { Block } from "../../ledger/index.ts";
import {
  type AlternativeTask,
  type AuditRow,
  type ChosenTask,
  type KeyedTask,
  type ProgressedTask,
  QUEUED,
  type RowChanges,
  type RunRow,
  type Usage,
} from "../rows.ts";
import { arraysOf, type Columns } from "./parameters.ts";
import { addFirstProgress, addProgress, type First, statusOf } from "./progress.ts";
import { type Statement, sql } from "./sql.ts";
import { addTasks, type Part, SUBMITTED } from "./submitted-tasks.ts";

export interface Query extends Statement {
  readonly values: (string | null)[];
}

type Added = RowChanges["submitted"][number];

/** In the order of the parameters of the files in `sql/` that the constants are named after. */
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

const AUDITS: Columns<AuditRow> = [
  ({ id }) => id,
  ({ at }) => at,
  ({ zone }) => zone,
  ({ keyId }) => keyId,
  ({ agent }) => agent,
  ({ action }) => action,
  ({ target }) => target,
  ({ before }) => before,
  ({ detail }) => detail,
  ({ seq }) => seq,
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
  addTasks(parts, changes.submitted);
  for (const row of changes.submitted) if (!isNew(row)) first.push(firstOf(row));
  addFirstProgress(parts, first);
  addProgress(parts, again);
  addColumns(parts, "alternatives", changes.alternatives, ALTERNATIVES);
  addColumns(parts, "chosen", changes.chosen, CHOSEN);
  addColumns(parts, "usages", changes.usages, USAGES);
  addColumns(parts, "keys", changes.keys, KEYS);
  addColumns(parts, "runs", changes.runs, RUNS);
  addColumns(parts, "ended-runs", changes.runsEnded, ENDED_RUNS);
  if (changes.audits) addColumns(parts, "audits", changes.audits, AUDITS);
  // A line is JSON, which has no character that PostgreSQL could not hold.
  const ofBlock: (string | null)[] = [
    prev,
    `${seq - 1}`,
    `${epoch}`,
    `${seq + count - 1}`,
    hash,
    `${count}`,
    `${now}`,
    line,
  ];
  return {
    ...statementOf(parts, ofBlock.length),
    values: parts.length === 0 ? ofBlock : ofBlock.concat(...parts.map(({ values }) => values)),
  };
}

function addColumns<T>(parts: Part[], name: string, rows: readonly T[], columns: Columns<T>): void {
  if (rows.length > 0) parts.push({ name, values: arraysOf(rows, columns) });
}

function isFirst(one: ProgressedTask): one is First {
  return one.first !== undefined;
}

/** What has become already of a task that came with this block. */
function firstOf({ task, progress }: Added): First {
  const { id, zone, agent, submittedSeq: seq } = task;
  return { id, progress, first: { zone, agent, seq } };
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
