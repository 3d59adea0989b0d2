// Rows for the tests of stores.

import { type Block, BlockWriter, type Head } from "../src/ledger/index.ts";
import {
  NO_CHANGES,
  QUEUED,
  type RowChanges,
  type RunRow,
  type SubmittedTask,
  type TaskProgress,
} from "../src/store/index.ts";

export function blockOn(head: Head, epoch = 1): Block {
  const writer = new BlockWriter();
  writer.add({ kind: "CancelRequested", run: 0, node: -1 });
  return writer.seal(head, epoch, 1000 + head.seq);
}

export function taskOf(id: string, changed: Partial<SubmittedTask> = {}): SubmittedTask {
  return {
    id,
    run: undefined,
    zone: "main",
    agent: "ada",
    executor: "shell",
    type: "build",
    priority: 2,
    requestState: "pending",
    priorityClass: 1,
    boostMicros: 0,
    estimateMs: 30_000,
    deadline: -1,
    runAt: -1,
    settings: "{}",
    payload: `{"id":"${id}"}`,
    payloadHash: "f".repeat(64),
    enqueuedAt: 1_794_738_955_269,
    submittedSeq: 1,
    ...changed,
  };
}

export function runOf(id: string, changed: Partial<RunRow> = {}): RunRow {
  return {
    id,
    zone: "main",
    agent: "ada",
    name: "nightly",
    nodes: 2,
    submittedAt: 5,
    submittedSeq: 1,
    outcome: "",
    endedAt: -1,
    ...changed,
  };
}

export function endedAt(time: number, changed: Partial<TaskProgress> = {}): TaskProgress {
  return {
    status: "completed",
    attempt: 1,
    worker: "w1",
    startedAt: time - 10,
    endedAt: time,
    result: '{"ok":true}',
    resultHash: "a".repeat(64),
    errorCode: "",
    errorMessage: "",
    costMicros: 12,
    seq: 2,
    ...changed,
  };
}

export function submitted(...tasks: readonly SubmittedTask[]): RowChanges {
  return { ...NO_CHANGES, submitted: tasks.map((task) => ({ task, progress: QUEUED })) };
}
