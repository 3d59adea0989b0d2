import type { BatchAnswer, ProblemDocument, SubmitBody } from "../protocol/api-schemas.ts";
import { type CallOptions, repeatablePost } from "./calls.ts";
import type { Connection } from "./connection.ts";
import type { OrreryError } from "./errors.ts";
import { refuseLoss } from "./json-loss.ts";
import { errorOf } from "./problem.ts";

/** A task to submit. The executor is "default" where none is named, as workers have it. */
export type Submission = Omit<SubmitBody, "executor"> & { readonly executor?: string };

/** How one task of a batch fared: `task`, or `problem` where it was refused. */
export type BatchResult = BatchAnswer["results"][number];

const DEFAULT_EXECUTOR = "default";
/** What the server takes at once. */
const MAX_TASKS = 10_000;
/** The server takes 64 MiB, and a character may take three bytes of them. */
const MAX_CHARACTERS = 20 * 1024 * 1024;

/**
 * What is sent for a task. It always has an idempotency key, so that sending it again after an answer that was lost
 * never makes a second task.
 */
export function submitBody({ idempotency_key, ...task }: Submission, name = ""): SubmitBody {
  refuseLossOfPayload(task, name);
  return { ...withExecutor(task), idempotency_key: idempotency_key ?? crypto.randomUUID() };
}

/** A payload that is not there is an empty one. */
export function refuseLossOfPayload({ payload }: { readonly payload?: unknown }, of = ""): void {
  if (payload !== undefined) refuseLoss(payload, `${of}payload`);
}

export function withExecutor<Task extends { readonly executor?: string }>(
  task: Task,
): Task & { executor: string } {
  return { executor: DEFAULT_EXECUTOR, ...task };
}

/**
 * Submits any number of tasks, as many at once as the server takes. The results have the order of the tasks. What may be taken later
 * is sent again, for as long as some of it is.
 */
export async function submitInBatches(
  connection: Connection,
  tasks: Iterable<Submission>,
  options: CallOptions,
): Promise<BatchResult[]> {
  const all: BatchResult[] = [];
  for (const batch of batchesOf(tasks))
    for (const result of await submitBatch(connection, batch, options)) all.push(result);
  return all;
}

async function submitBatch(
  connection: Connection,
  batch: readonly string[],
  options: CallOptions,
): Promise<BatchResult[]> {
  const send = async (bodies: readonly string[]): Promise<BatchResult[]> => {
    const request = repeatablePost("submit/batch", undefined, options);
    const body = `{"tasks":[${bodies.join(",")}]}`;
    return (await connection.send<BatchAnswer>({ ...request, body })).results;
  };
  const results = await send(batch);
  let open = refusedForNow(results);
  for (let sinceMs = performance.now(); open.error; ) {
    if (!(await connection.waitsFor(open.error, sinceMs, options.signal))) break;
    const again = await send(open.places.map((place) => batch[place] as string));
    for (const [at, place] of open.places.entries()) results[place] = again[at] as BatchResult;
    const left = refusedForNow(results);
    if (left.places.length < open.places.length) sinceMs = performance.now();
    open = left;
  }
  return results;
}

/** Which of them may be taken later, and the refusal of the one that may be so first. */
function refusedForNow(results: readonly BatchResult[]): {
  readonly places: readonly number[];
  readonly error?: OrreryError;
} {
  const places: number[] = [];
  let first: ProblemDocument | undefined;
  for (const [place, { problem }] of results.entries()) {
    if (problem?.retry_after === undefined) continue;
    places.push(place);
    if (problem.retry_after < (first?.retry_after ?? Number.POSITIVE_INFINITY)) first = problem;
  }
  return first ? { places, error: errorOf(first) } : { places };
}

function* batchesOf(tasks: Iterable<Submission>): Generator<string[]> {
  let batch: string[] = [];
  let characters = 0;
  let at = 0;
  for (const task of tasks) {
    const text = JSON.stringify(submitBody(task, `tasks[${at++}].`));
    if (batch.length === MAX_TASKS || (batch.length > 0 && characters + text.length > MAX_CHARACTERS)) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(text);
    characters += text.length + 1;
  }
  if (batch.length > 0) yield batch;
}
