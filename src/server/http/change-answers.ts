import { partOnWire } from "../../graph/index.ts";
import type { ChangeAnswer } from "../../protocol/api-schemas.ts";
import type { OneToldChange, ToldChange } from "../../words/index.ts";
import { instantText } from "./instants.ts";

type OneAnswer = Exclude<ChangeAnswer, { kind: "together" }>;

/** What somebody could change, in the words of the wire. */
export function changeAnswer(change: ToldChange): ChangeAnswer {
  if (change.kind !== "together") return oneAnswer(change);
  return { kind: "together", changes: change.changes.map(oneAnswer) };
}

function oneAnswer(change: OneToldChange): OneAnswer {
  switch (change.kind) {
    case "resume":
      return { kind: change.kind, executors: [...change.executors] };
    case "rate": {
      const { kind, limit, from, to, periodMs } = change;
      return { kind, limit, from, to, per_seconds: periodMs / 1000 };
    }
    case "worker":
      return workerAnswer(change);
    case "at-once":
      return { kind: change.kind, due_at: instantText(change.dueAt) };
    case "cancel":
      return { kind: change.kind, task_id: change.task.id, node: change.task.node ?? null };
    case "recharge": {
      const { kind, task, part, amount } = change;
      return { kind, task_id: task.id, node: task.node ?? null, part: partOnWire(part), amount };
    }
    case "agent-limit":
    case "limit":
    case "priority":
      return { ...change };
  }
}

function workerAnswer({ kind, count, like, adds }: Extract<OneToldChange, { kind: "worker" }>): OneAnswer {
  const { executor, capabilities, types, cpuMillicores, memoryBytes } = adds;
  return {
    kind,
    count,
    like: like ?? null,
    adds: {
      ...(executor !== undefined && { executor }),
      ...(types && { task_types: [...types] }),
      ...(capabilities && { capabilities: [...capabilities] }),
      ...(cpuMillicores !== undefined && { cpu_millicores: cpuMillicores }),
      ...(memoryBytes !== undefined && { memory_bytes: memoryBytes }),
    },
  };
}
