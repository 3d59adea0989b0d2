import { type ProgressedTask, ROW_STATUSES, type TaskProgress } from "../rows.ts";
import { Kinds } from "./kinds.ts";
import { arraysOf, type Columns, joinedIfAny, joinedOf, mayBeJoined, textOfValue } from "./parameters.ts";
import type { Part } from "./submitted-tasks.ts";

/** Nothing was written of it since it was submitted. */
export type First = ProgressedTask & { readonly first: object };

export const statusOf = ({ status }: TaskProgress): number => ROW_STATUSES.indexOf(status);

/** In the order of the parameters of the files in `sql/` that the constants are named after. */
const LIKE_PROGRESS: readonly ((row: First) => string | number)[] = [
  ({ progress }) => statusOf(progress),
  ({ progress }) => progress.attempt,
  ({ progress }) => progress.endedAt,
  ({ progress }) => progress.costMicros,
  ({ progress }) => progress.errorCode,
  ({ progress }) => progress.errorMessage,
  ({ first }) => first.zone,
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

export function addProgress(parts: Part[], rows: readonly ProgressedTask[]): void {
  addKinds(parts, "progress", rows, PROGRESS_KIND, PROGRESS);
}

/** Most tasks of a block end alike: they completed. */
export function addFirstProgress(parts: Part[], rows: readonly First[]): void {
  const [first] = rows;
  if (!first) return;
  if (rows.length === 1) parts.push(oneProgress(first));
  else if (areAlike(rows, first)) parts.push(likeProgress(rows, first));
  else addKinds(parts, "first-progress", rows, FIRST_PROGRESS_KIND, FIRST_PROGRESS);
}

function oneProgress(row: First): Part {
  const { id, progress, first } = row;
  const { worker, startedAt, seq, resultHash, result } = progress;
  const own = [id, worker, first.agent, startedAt, seq, first.seq, resultHash].map(textOfValue);
  const values = [...commonOf(row), ...own, result === undefined ? null : textOfValue(result)];
  return { name: "one-progress", values };
}

function likeProgress(rows: readonly First[], first: First): Part {
  const own = [
    joinedOf(rows, ({ id }) => id),
    joinedOf(rows, ({ progress }) => progress.worker),
    joinedOf(rows, ({ first }) => first.agent),
    `{${rows.map(({ progress }) => progress.startedAt)}}`,
    `{${rows.map(({ progress }) => progress.seq)}}`,
    `{${rows.map(({ first }) => first.seq)}}`,
    joinedOf(rows, ({ progress }) => progress.resultHash),
    joinedIfAny(rows, ({ progress }) => progress.result),
  ];
  return { name: "like-progress", values: [...commonOf(first), ...own] };
}

function commonOf(row: First): string[] {
  return LIKE_PROGRESS.map((column) => textOfValue(column(row)));
}

function areAlike(rows: readonly First[], first: First): boolean {
  for (const { progress, first } of rows) {
    const { worker, result = "" } = progress;
    if (!mayBeJoined(result) || !mayBeJoined(worker) || !mayBeJoined(first.agent)) return false;
  }
  return LIKE_PROGRESS.every((column) => {
    const value = column(first);
    return rows.every((row) => column(row) === value);
  });
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
