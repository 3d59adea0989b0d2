/**
 * Names of OpenTelemetry's semantic conventions for messaging, as of version 1.45. They are still in development and
 * have changed before, so they stand here and nowhere else.
 */
const SYSTEM = "messaging.system";
const OPERATION_NAME = "messaging.operation.name";
const OPERATION_TYPE = "messaging.operation.type";
const DESTINATION = "messaging.destination.name";
const MESSAGE_ID = "messaging.message.id";
const BATCH_COUNT = "messaging.batch.message_count";
export const ERROR_TYPE = "error.type";

export type Attributes = Readonly<Record<string, string | number>>;

export interface SubmittedWork {
  readonly executor: string;
  readonly type: string;
}

/** One task, or several that were submitted together. */
export function submitAttributes(tasks: readonly SubmittedWork[], zone: string, agent: string): Attributes {
  const [first] = tasks;
  const of: Attributes =
    tasks.length === 1 && first
      ? { [DESTINATION]: first.executor, "orrery.task.type": first.type }
      : { [BATCH_COUNT]: tasks.length };
  return { ...operation("submit", "send"), ...of, "orrery.zone": zone, "orrery.agent": agent };
}

export interface ProcessedWork extends SubmittedWork {
  readonly task: string;
  readonly attempt: number;
  readonly zone: string;
  readonly agent: string;
  readonly run?: string | undefined;
  readonly node?: string | undefined;
}

export function processAttributes(work: ProcessedWork): Attributes {
  const { task, attempt, executor, type, zone, agent, run, node } = work;
  return {
    ...operation("process", "process"),
    [DESTINATION]: executor,
    [MESSAGE_ID]: task,
    "orrery.task.type": type,
    "orrery.attempt": attempt,
    "orrery.zone": zone,
    "orrery.agent": agent,
    ...(run !== undefined && { "orrery.run": run }),
    ...(node !== undefined && { "orrery.node": node }),
  };
}

function operation(name: string, type: string): Attributes {
  return { [SYSTEM]: "orrery", [OPERATION_NAME]: name, [OPERATION_TYPE]: type };
}
