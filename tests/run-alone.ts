// A run that has the workers for itself, on a clock that jumps from one end to the next.

import { Heap } from "../src/core/index.ts";
import type { NodeSpec } from "../src/graph/index.ts";
import type { LedgerEvent, TaskAssigned } from "../src/ledger/index.ts";
import { nextWakeAt, type Stimulus } from "../src/scheduler/index.ts";
import type { Loop } from "./builders.ts";

/** What was decided, and when. */
export interface Decided<Event extends LedgerEvent = LedgerEvent> {
  readonly at: number;
  readonly event: Event;
}

/**
 * All that is decided from the first turn on, at time 1, until nothing runs any more. Every node takes what was estimated.
 * The loop is where the turn of the last decision left it.
 */
export function* runAlone(
  loop: Loop,
  nodes: readonly NodeSpec[],
  ...stimuli: readonly Stimulus[]
): Generator<Decided> {
  const running = new Heap<Decided<TaskAssigned>>(
    (a, b) => (endOf(a) - endOf(b) || a.event.node - b.event.node) < 0,
  );
  const endOf = ({ at, event }: Decided<TaskAssigned>) => at + (nodes[event.node]?.task.estimateMs ?? 0);
  const nextEnd = () => {
    const next = running.peek();
    return next && endOf(next);
  };
  for (let now = 1, reports = stimuli; ; ) {
    for (const event of loop.turn(now, ...reports).events) {
      yield { at: now, event };
      if (event.kind === "TaskAssigned") running.push({ at: now, event });
    }
    const end = nextEnd();
    if (end === undefined) return;
    now = Math.min(end, nextWakeAt(loop.state, now) ?? end);
    const ended: TaskAssigned[] = [];
    while (nextEnd() === now) ended.push((running.pop() as Decided<TaskAssigned>).event);
    reports = ended.map(({ run, node, attempt }) => {
      const report = { run, node, attempt, startedAt: now, resultHash: "", resultBytes: 0 };
      return { kind: "AttemptFinished", ...report };
    });
  }
}
