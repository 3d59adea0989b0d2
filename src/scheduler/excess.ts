import { taskSpecOf } from "../graph/index.ts";
import type { RunSubmitted, TaskSubmitted } from "../ledger/index.ts";
import type { Excess } from "./accounts.ts";
import { zonedKey } from "./group.ts";
import type { State } from "./state.ts";
import { submittedRunBytes, taskBytes } from "./weights.ts";

/** More than any single task weighs that passed the checks at the edge: 20 names of each kind, of 256 characters. */
const AMPLE_BYTES = 256 * 1024;

/** Returns the limit of the backlog that a submission would exceed. A task is weighed only near a limit. */
export function excessOf({ accounts }: State, event: RunSubmitted | TaskSubmitted): Excess | undefined {
  const { zone, agent } = event;
  if (event.kind === "TaskSubmitted") {
    if (accounts.hasAmpleRoom(1, AMPLE_BYTES)) return undefined;
    return accounts.excess(zone, zonedKey(zone, agent), 1, taskBytes(taskSpecOf(event.spec)));
  }
  const { graph, parent } = event;
  const bytes = submittedRunBytes(graph, graph.specs.map(taskSpecOf), parent?.links?.length ?? 0);
  return accounts.excess(zone, zonedKey(zone, agent), graph.ids.length, bytes);
}
