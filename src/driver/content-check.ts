import type { Head, LedgerEvent } from "../ledger/index.ts";
import { BlockWriter } from "../ledger/index.ts";
import { NO_CHANGES, type RowChanges, type Store, type StoreError } from "../store/index.ts";
import type { Answer, Waiting } from "./request.ts";
import { Request } from "./request.ts";

/** The code of submissions, and of attempts, whose content the store refused. */
const REFUSED = "content-refused";

/** What a check builds on: the rows are tried in a block that would follow this head. */
export interface CheckedAt {
  readonly tip: Head;
  readonly epoch: number;
  readonly now: number;
}

/** Rows that one input brings, with the place of the input in its turn. */
export interface Content {
  readonly at: number;
  readonly rows: RowChanges;
}

/**
 * Returns the places of the inputs whose rows the store refuses, with the reason. A set of rows that is refused is
 * halved until each culprit is alone, so k culprits among n inputs cost about 2k log n calls.
 */
export async function refusedAmong(
  store: Pick<Store, "probe">,
  contents: readonly Content[],
  where: CheckedAt,
): Promise<ReadonlyMap<number, StoreError>> {
  const refused = new Map<number, StoreError>();
  const open = contents.length > 0 ? [contents] : [];
  for (let some = open.pop(); some; some = open.pop()) {
    const error = await store.probe(emptyBlock(where), together(some));
    if (!error) continue;
    const [first] = some;
    if (first && some.length === 1) refused.set(first.at, error);
    else {
      const half = Math.ceil(some.length / 2);
      open.push(some.slice(half), some.slice(0, half));
    }
  }
  return refused;
}

function emptyBlock({ tip, epoch, now }: CheckedAt): ReturnType<BlockWriter["seal"]> {
  const writer = new BlockWriter();
  writer.add({ kind: "SubmissionsRefused", agent: "", code: REFUSED, count: 0 });
  return writer.seal(tip, epoch, now);
}

/** A task is named only once in a list of rows: of two reports about the same attempt, the scheduler takes only the first. */
function together(contents: readonly Content[]): RowChanges {
  const progressed = new Map<string, RowChanges["progressed"][number]>();
  for (const { rows } of contents)
    for (const one of rows.progressed) if (!progressed.has(one.id)) progressed.set(one.id, one);
  return {
    ...NO_CHANGES,
    submitted: contents.flatMap(({ rows }) => rows.submitted),
    progressed: [...progressed.values()],
    keys: contents.flatMap(({ rows }) => rows.keys),
    runs: contents.flatMap(({ rows }) => rows.runs),
  };
}

/**
 * Replaces an input that the store refuses by one that records the refusal and can be stored. The submitter of a task or run
 * gets a refusal. An attempt whose result or error cannot be stored fails. Returns `undefined` for other inputs.
 */
export function withoutContent({ stimulus, request, at }: Waiting): Waiting | undefined {
  const failed = (event: Pick<AttemptFailed, "run" | "node" | "attempt" | "startedAt">, what: string) => {
    const { run, node, attempt, startedAt } = event;
    const message = `the store cannot take ${what}; the log of the server says why`;
    const of = { run, node, attempt, startedAt, costMicros: 0 };
    return {
      stimulus: { kind: "AttemptFailed", ...of, code: REFUSED, message, retry: false } as const,
      attached: undefined,
      request,
      at,
    };
  };
  switch (stimulus.kind) {
    case "TaskSubmitted":
      return refusedSubmission({ agent: stimulus.agent, id: stimulus.id }, request, at);
    case "RunSubmitted":
      if (stimulus.parent) return failed(stimulus.parent, "the nodes that it added");
      return refusedSubmission({ agent: stimulus.agent, id: stimulus.runId }, request, at);
    case "AttemptFinished":
      return failed(stimulus, "its result");
    case "AttemptFailed":
      return failed(stimulus, "its error message");
    default:
      return undefined;
  }
}

type AttemptFailed = Extract<LedgerEvent, { readonly kind: "AttemptFailed" }>;

function refusedSubmission(
  { agent, id }: { readonly agent: string; readonly id: string },
  request: Request,
  at: number,
): Waiting {
  const refusal: Answer = { accepted: false, code: REFUSED };
  return {
    stimulus: { kind: "SubmissionsRefused", agent, code: REFUSED, count: 1, id },
    attached: undefined,
    request: new Request(1, () => request.answer(at, refusal), request.fail),
    at: 0,
  };
}

/** Names the task or run for the log. `rows` is what the input brings. */
export function nameOf({ stimulus }: Waiting, rows: RowChanges | undefined): string {
  switch (stimulus.kind) {
    case "TaskSubmitted":
      return `task ${stimulus.id} of agent ${stimulus.agent}`;
    case "RunSubmitted":
      return `run ${stimulus.runId} of agent ${stimulus.agent}`;
    case "AttemptFinished":
    case "AttemptFailed":
      return `the report on attempt ${stimulus.attempt} of task ${rows?.progressed[0]?.id}`;
    default:
      return `an input of the kind ${stimulus.kind}`;
  }
}
