// Bugs of nodes that are tried in several alternatives.

import type { PlantedBug } from "./planted-bugs.ts";

export const SPECULATION_BUGS: readonly PlantedBug[] = [
  {
    name: "a vote is taken on the first result",
    seed: 5,
    file: "scheduler/votes",
    find: "if (!decided)",
    replace: 'if (!decided && outcome.type !== "won")',
  },
  {
    name: "the losers of a vote go on",
    seed: 82,
    file: "scheduler/step",
    find: "this.endings.cancelAlternatives(run, vote.node);",
    replace: "",
  },
  {
    name: "the alternatives of a cancelled node go on",
    seed: 29,
    file: "scheduler/endings",
    find: `if (run)
                this.cancelAlternatives(run, node);`,
    replace: "",
  },
  {
    name: "an alternative that its worker does not vouch for can win",
    seed: 17,
    file: "scheduler/speculated",
    find: "finished !== undefined && assessment.verified",
    replace: "finished !== undefined",
  },
  {
    name: "alternatives start without spare slots",
    seed: 1,
    file: "graph/speculation",
    find: "spare.slots - node.slots < SPARE_SLOTS",
    replace: "spare.slots - node.slots < 1",
  },
  {
    name: "alternatives go beyond a limit",
    seed: 37,
    file: "scheduler/speculated",
    find: "Math.min(decision.alternatives, others)",
    replace: "decision.alternatives",
  },
  {
    name: "alternatives go beyond a rate",
    seed: 383,
    file: "queue/rate-limit",
    find: "return Math.min(byRoom, Math.max(0, byRate));",
    replace: "return byRoom;",
  },
  {
    name: "alternatives go beyond the share of their agent",
    seed: 1,
    file: "scheduler/speculated",
    find: "Math.min(slots, max - shares.running(group.shareKey))",
    replace: "slots",
  },
  {
    name: "a risky node off the critical path is tried in several alternatives",
    seed: 39,
    file: "scheduler/speculated",
    find: "run.isCritical(node)",
    replace: "true",
  },
  {
    name: "a restored state forgets which alternatives have ended",
    seed: 29,
    file: "scheduler/restore",
    find: "speculated.ends[at] = end ?? undefined;",
    replace: "speculated.ends[at] = undefined;",
  },
  {
    name: "a node gets the result of the first alternative, whoever won",
    seed: 17,
    file: "driver/projection",
    find: "ends[winner] ?? {}",
    replace: "ends[0] ?? {}",
  },
];
