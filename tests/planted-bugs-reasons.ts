import type { PlantedBug } from "./planted-bugs.ts";

/** In what is said of why tasks wait. */
export const REASON_BUGS: readonly PlantedBug[] = [
  {
    name: "a rate that is used up is no reason to wait",
    seed: 40,
    file: "scheduler/admission",
    find: 'found.push({ by: "rate", limit: name, nextAt });',
    replace: ";",
  },
  {
    name: "room that is kept for another is said to be free",
    seed: 44,
    file: "scheduler/admission",
    find: 'found.push({ by: "concurrency", limit: name, running, max, needed, kept });',
    replace: 'found.push({ by: "concurrency", limit: name, running, max, needed, kept: 0 });',
  },
  {
    name: "of a run that goes first only one node is counted",
    seed: 2,
    file: "scheduler/ahead",
    find: "return isAhead(state, other, task, now) ? size : 0;",
    replace: "return isAhead(state, other, task, now) ? 1 : 0;",
  },
  {
    name: "what goes first is told last",
    seed: 2,
    file: "scheduler/ahead",
    find: "first: first.reverse()",
    replace: "first",
  },
  {
    name: "workers that have left are counted among those that cannot take a task",
    seed: 2,
    file: "scheduler/explain",
    find: "state.fleet.present().filter((worker) => servesZone(worker, needs))",
    replace: "state.fleet.known().filter((worker) => servesZone(worker, needs))",
  },
  {
    name: "a worker near the data is said to take what nobody has room for",
    seed: 11,
    file: "placement/table",
    find: "of near && hasTaker ? rejections",
    replace: "of near ? rejections",
  },
];
