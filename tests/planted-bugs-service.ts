// Bugs of a service: in the order and admission of tasks, in the driver, in the rows beside the ledger.

import type { PlantedBug } from "./planted-bugs.ts";

export const SERVICE_BUGS: readonly PlantedBug[] = [
  {
    name: "the share of an agent is not given back when a worker is lost",
    file: "scheduler/apply",
    find: "release(state, tasks, nodeOfKey(key));",
    replace: `release(state, tasks, nodeOfKey(key));
      state.shares.recordStart(tasks.groupOf(nodeOfKey(key)).shareKey);`,
  },
  {
    name: "a boost is charged when its task is cancelled",
    seed: 22,
    file: "scheduler/apply",
    find: "if (charge)",
    replace: "if (charge || single.status === Status.cancelled)",
  },
  {
    name: "a boost is charged at the price of today",
    seed: 22,
    file: "scheduler/apply",
    find: "state.credits.charge(group.shareKey, reservedMicros);",
    replace: "state.credits.charge(group.shareKey, Math.min(reservedMicros, state.config.boostTierMicros));",
  },
  {
    name: "a start counts twice under its limits",
    file: "scheduler/apply",
    find: "limit.start(now);",
    replace: "{ limit.start(now); limit.start(now); }",
  },
  {
    name: "a deadline counts as passed a millisecond late",
    file: "scheduler/step",
    find: "at <= this.#now;",
    replace: "at < this.#now;",
  },
  {
    name: "a task that came back forgets its deadline",
    seed: 10,
    file: "scheduler/apply",
    find: "state.watchDeadline(state.singles.get(node));",
    replace: "void state;",
  },
  {
    name: "equal response ratios fall to the larger id",
    file: "queue/rank",
    find: "return a.readyAt - b.readyAt || compareText(a.id, b.id);",
    replace: "return a.readyAt - b.readyAt || compareText(b.id, a.id);",
  },
  {
    name: "a boost does not change the class",
    file: "scheduler/state",
    find: "class: classify(tier, requestState),",
    replace: "class: classify(spec.priority, requestState),",
  },
  {
    name: "background starves for twice as long",
    file: "queue/classes",
    find: "waited > config.starveBackgroundMs",
    replace: "waited > 2 * config.starveBackgroundMs",
  },
  {
    name: "an agent is demoted at its threshold",
    seed: 26,
    file: "scheduler/admission",
    find: "cost.sum(now) > costThresholdMicros",
    replace: "cost.sum(now) >= costThresholdMicros",
  },
  {
    name: "a paused executor goes on",
    seed: 33,
    file: "scheduler/admission",
    find: "return state.paused.has(pool.place) || state",
    replace: "return state",
  },
  {
    name: "setting a limit again forgives what was used of it",
    seed: 40,
    file: "queue/rate-limit",
    find: "rateCount === null ? 0 : converted(debt, this.#periodMs, ratePeriodMs, rateCount)",
    replace: "0",
  },
  {
    name: "a limit that is used up does not wake the scheduler",
    file: "scheduler/dispatch",
    find: "Math.min(wake, admittedAt)",
    replace: "Math.min(wake, Number.POSITIVE_INFINITY)",
  },
  {
    name: "a task that is put back has used up its attempts before",
    seed: 12,
    file: "scheduler/state",
    find: "attemptsBefore: event.attempts,",
    replace: "attemptsBefore: 0,",
  },
  {
    name: "the first task of no run shares its key with none",
    file: "placement/worker",
    find: "return run === NO_RUN ? -2 - node : run * NODES_PER_RUN + node;",
    replace: "return run === NO_RUN ? (node === 0 ? -1 : -2 - node) : run * NODES_PER_RUN + node;",
  },
  {
    name: "effects are let out before the commit",
    file: "driver/driver",
    find: "await this.#commit(writer.seal(store.head, this.#epoch, now), recorder?.take());",
    replace:
      "void this.#commit(writer.seal(store.head, this.#epoch, now), recorder?.take()).catch(() => {});",
  },
  {
    name: "a refused commit goes unnoticed",
    file: "driver/driver",
    find: "if (!committed)",
    replace: "if (!committed && store.never)",
  },
  {
    name: "a reader sees what is not committed",
    file: "driver/driver",
    find: "if (this.#isAhead)",
    replace: "if (this.#isAhead && this.#closed)",
  },
  {
    name: "a driver that opens does not set its timer",
    file: "driver/driver",
    find: "driver.#armTimer();",
    replace: "void driver;",
  },
  {
    name: "a turn goes back behind the last",
    file: "driver/driver",
    find: "Math.max(this.#turnAt, this.#time())",
    replace: "Math.max(this.#state.now, this.#time())",
  },
  {
    name: "a key that comes twice in one turn makes two tasks",
    file: "driver/projection",
    find: "known.set(text, { taskId: key.taskId, bodyHash: key.bodyHash, of });",
    replace: "void of;",
  },
  {
    name: "a key of an earlier turn makes another task",
    file: "driver/projection",
    find: "known.set(textOf(found), {",
    replace: "known.set(found.taskId, {",
  },
  {
    name: "a row keeps the first progress of a turn",
    file: "driver/projection",
    find: "this.#progressed.set(id, progress);",
    replace: "if (!this.#progressed.has(id)) this.#progressed.set(id, progress);",
  },
  {
    name: "the row of a running task says that its worker was lost",
    file: "driver/projection",
    find: "!ending && isSettling(tasks.statusOf(node))",
    replace: "!ending && worker >= 0",
  },
];
