import type { BatchAnswer, SubmitBody } from "../protocol/api-schemas.ts";
import { type CallOptions, repeatablePost } from "./calls.ts";
import type { Connection } from "./connection.ts";
import { refuseLoss } from "./json-loss.ts";

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

/** Submits any number of tasks, as many at once as the server takes. The results have the order of the tasks. */
export async function submitInBatches(
  connection: Connection,
  tasks: Iterable<Submission>,
  options: CallOptions,
): Promise<BatchResult[]> {
  const all: BatchResult[] = [];
  for (const batch of batchesOf(tasks)) {
    const request = repeatablePost("submit/batch", undefined, options);
    const body = `{"tasks":[${batch.join(",")}]}`;
    const { results } = await connection.send<BatchAnswer>({ ...request, body });
    for (const result of results) all.push(result);
  }
  return all;
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
