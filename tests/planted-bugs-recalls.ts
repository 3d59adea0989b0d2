import type { PlantedBug } from "./planted-bugs.ts";

/** In what workers are asked to give back while others stand idle. */
export const RECALL_BUGS: readonly PlantedBug[] = [
  {
    name: "a worker that has not answered is asked again",
    seed: 10,
    file: "scheduler/recalls",
    find: "asked.workers.has(worker.number) || soonestPay(worker) > now",
    replace: "soonestPay(worker) > now",
  },
  {
    name: "what was given back goes to the worker that gave it back",
    seed: 5,
    file: "placement/candidates",
    find: "if (this.#returnedBy && this.count > 1)",
    replace: "if (this.count < 0)",
  },
  {
    name: "bringing the inputs of what is recalled counts for nothing",
    seed: 99,
    file: "scheduler/recalls",
    find: "moveMicros: inputs ? moveMicros(this.worker, inputs, rates) : 0",
    replace: "moveMicros: 0",
  },
  {
    name: "a recall outlives the beginning of its task",
    seed: 5,
    file: "scheduler/apply",
    find: "state.fleet.recalls.delete(taskKey(event.run, event.node));",
    replace: "",
  },
  {
    name: "what a worker may be running is asked for",
    seed: 5,
    file: "scheduler/recalls",
    find: "Math.max(slots, keys.length - LOOKED_AT)",
    replace: "Math.max(slots - 1, keys.length - LOOKED_AT)",
  },
  {
    name: "all of a queue is asked for",
    seed: 5,
    file: "scheduler/recalls",
    find: "(worker.inSlots - worker.spec.slots) / 2",
    replace: "worker.inSlots - worker.spec.slots",
  },
  {
    name: "no turn is made when it begins to pay to ask",
    seed: 5,
    file: "scheduler/dispatch",
    find: "wake = Math.min(wake, nextRecallAt(state, after));",
    replace: "",
  },
  {
    name: "a silent worker keeps an idle one from asking others",
    seed: 10,
    file: "scheduler/recalls",
    find: "if (now - at < PATIENCE_MS)",
    replace: "if (now - at < 100 * PATIENCE_MS)",
  },
  {
    name: "a snapshot forgets what was asked for",
    seed: 40,
    file: "scheduler/restore",
    find: "of snapshot.recalls ?? []",
    replace: "of []",
  },
  {
    name: "a task that follows another is left behind when that is given back",
    seed: 154,
    file: "scheduler/recalls",
    find: "return !state.run(tasks.number).data?.followers.has(node);",
    replace: "return true;",
  },
];
