// Bugs that a scheduler like this one has had, as edits of the compiled sources. What the simulator does not
// notice when it is planted, it would not notice when someone makes it.

export interface PlantedBug {
  readonly name: string;
  /** In dist, without the ending. */
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly find: string;
  readonly replace: string;
}

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: "a task is ready when one of its needs has completed",
    file: "scheduler/apply",
    find: "left === 0 &&",
    replace: "left >= 0 &&",
  },
  {
    name: "a failed attempt keeps its resources",
    file: "scheduler/apply",
    find: "state.fleet.release(state.worker(run.worker[event.node]), taskKey(event.run, event.node));",
    replace: `{ const worker = state.worker(run.worker[event.node]);
      const { freeCpu } = worker;
      state.fleet.release(worker, taskKey(event.run, event.node));
      if (event.kind === "AttemptFailed") worker.freeCpu = freeCpu; }`,
  },
  {
    name: "a cancelled attempt keeps its resources",
    file: "scheduler/apply",
    find: "state.fleet.release(state.worker(run.worker[event.node]), taskKey(event.run, event.node));",
    replace: `{ const worker = state.worker(run.worker[event.node]);
      const { freeMemory } = worker;
      state.fleet.release(worker, taskKey(event.run, event.node));
      if (event.kind === "AttemptCancelled") worker.freeMemory = freeMemory; }`,
  },
  {
    name: "a lost worker keeps the resources of what it held",
    file: "scheduler/apply",
    find: "state.fleet.release(worker, key);",
    replace: "worker.held.delete(key); state.fleet.heldTotal--;",
  },
  {
    name: "ties between workers fall to the one that registered first",
    file: "placement/worker",
    find: "return compareText(a.id, b.id);",
    replace: "return a.number - b.number;",
  },
  {
    name: "ids are compared by locale",
    file: "core/ids",
    find: "return a < b ? -1 : a > b ? 1 : 0;",
    replace: "return a.localeCompare(b);",
  },
  {
    name: "a retry falls due by the wall clock",
    file: "scheduler/step",
    find: "const dueAt = this.#now +",
    replace: "const dueAt = Date.now() +",
  },
  {
    name: "the step draws a random number",
    file: "scheduler/step",
    find: "const dueAt = this.#now +",
    replace: "const dueAt = this.#now + (Math.random() < 0.5 ? 1 : 0) +",
  },
  {
    name: "a report of an earlier attempt is accepted",
    file: "scheduler/step",
    find: "run.attempt[report.node] !== report.attempt",
    replace: "run.attempt[report.node] < report.attempt",
  },
  {
    name: "a second start of an attempt is accepted",
    file: "scheduler/step",
    find: 'report.kind === "AttemptStarted" ? status === Status.assigned : isPlaced(status)',
    replace: "isPlaced(status)",
  },
  {
    name: "a current report is refused",
    file: "scheduler/step",
    find: 'report.kind === "AttemptStarted" ? status === Status.assigned : isPlaced(status)',
    replace:
      'report.kind === "AttemptStarted" ? status === Status.assigned : isPlaced(status) && status !== Status.assigned',
  },
  {
    name: "a draining worker gets work",
    file: "placement/fleet",
    find: 'writeBit(this.open, ordinal, status === "Idle" || status === "Busy");',
    replace: 'writeBit(this.open, ordinal, status === "Idle" || status === "Busy" || status === "Draining");',
  },
  {
    name: "an overloaded worker that is relieved is not looked at again",
    file: "placement/fleet",
    find: "if (wasOverloaded)",
    replace: "if (!wasOverloaded && wasOverloaded)",
  },
  {
    name: "capabilities are ignored",
    file: "placement/demand",
    find: "return needs.capabilities.every(",
    replace: "return needs.capabilities.length >= 0 || needs.capabilities.every(",
  },
  {
    name: "zones leak",
    file: "placement/demand",
    find: "worker.spec.zones.includes(needs.zone)",
    replace: "worker.spec.zones.length > 0",
  },
  {
    name: "a worker's queue takes one too many",
    file: "placement/fleet",
    find: "worker.held.size < worker.spec.slots + this.config.maxQueuePerWorker",
    replace: "worker.held.size <= worker.spec.slots + this.config.maxQueuePerWorker",
  },
  {
    name: "what does not fit blocks what stands behind it",
    file: "scheduler/dispatch",
    find: "if (placed && group.ready > 0)",
    replace: "if (!placed)\n            break;\n        else if (group.ready > 0)",
  },
  {
    name: "a worker that is kept free takes other work",
    file: "placement/candidates",
    find: "const free = roomy & ~fleet.reserved[word];",
    replace: "const free = roomy;",
  },
  {
    name: "reservations are made in the order of groups",
    file: "scheduler/dispatch",
    find: "blocked.sort((a, b) => (goesFirst(a, b) ? -1 : 1))",
    replace: "blocked",
  },
  {
    name: "the reservation of a cancelled task stays",
    file: "scheduler/apply",
    find: "state.fleet.unreserve(taskKey(run.number, node));",
    replace: "",
  },
  {
    name: "a retry is offered before it is due",
    file: "scheduler/state",
    find: "at !== undefined && at <= now;",
    replace: "at !== undefined && at <= now + 1000;",
  },
  {
    name: "a retry does not wake the scheduler",
    file: "scheduler/dispatch",
    find: "state.nextDueAt() ?? Number.POSITIVE_INFINITY",
    replace: "Number.POSITIVE_INFINITY",
  },
  {
    name: "the wait before a retry doubles too early",
    file: "scheduler/step",
    find: "Math.min(attempt - 1, 40)",
    replace: "Math.min(attempt, 40)",
  },
  {
    name: "a task gets one attempt too many",
    file: "scheduler/step",
    find: "else if (attempt < task.maxAttempts)",
    replace: "else if (attempt <= task.maxAttempts)",
  },
  {
    name: "only direct dependents of a failed task are skipped",
    file: "scheduler/run",
    find: "next.push(dependent);",
    replace: "",
  },
  {
    name: "dependents of a cancelled task are forgotten",
    file: "scheduler/step",
    find: 'this.emit({ kind: "TaskCancelled", run: run.number, node });\n            this.#skipDependents(run, node);\n        }\n        else if (run.statusOf(node)',
    replace:
      'this.emit({ kind: "TaskCancelled", run: run.number, node });\n        }\n        else if (run.statusOf(node)',
  },
  {
    name: "what runs is not told to stop when its run is cancelled",
    file: "scheduler/step",
    find: "else if (isPlaced(run.statusOf(node)))",
    replace: "else if (isPlaced(run.statusOf(node)) && run.number < 0)",
  },
  {
    name: "round robin stays where it is",
    file: "scheduler/apply",
    find: "state.fleet.cursor = worker;",
    replace: "",
  },
  {
    name: "memory is ignored",
    file: "placement/candidates",
    find: "const fits = fitsCpu & demand.fitsMemory[word];",
    replace: "const fits = fitsCpu;",
  },
  {
    name: "a run does not end with its last task",
    file: "scheduler/step",
    find: 'if (report.kind === "AttemptFinished")\n            this.#endIfDone(run);\n        else if',
    replace: 'if (report.kind === "AttemptFinished")\n            void run;\n        else if',
  },
  {
    name: "results that a worker lost in a restart count as held by it",
    file: "scheduler/locality",
    find: "run.lastSeq[input] < holder.registeredSeq",
    replace: "run.lastSeq[input] < 0",
  },
  {
    name: "what holds up more does not go first",
    file: "scheduler/run",
    find: "holdsUpMs[b] - holdsUpMs[a]",
    replace: "holdsUpMs[a] - holdsUpMs[b]",
  },
  {
    name: "a snapshot forgets where round robin stands",
    file: "scheduler/snapshot",
    find: "state.fleet.cursor = state.fleet.workers[snapshot.cursor];",
    replace: "",
  },
  {
    name: "the ledger drops why workers were rejected",
    file: "ledger/codec",
    find: "{rejected}]",
    replace: "{[]}]",
  },
  {
    name: "a full backlog takes one more",
    file: "scheduler/step",
    find: "backlog + size > config.backlogLimit",
    replace: "backlog + size > config.backlogLimit + 1",
  },
  {
    name: "what is settling is told to stop",
    file: "scheduler/step",
    find: "else if (isPlaced(run.statusOf(node)))",
    replace: "else if (!isEnded(run.statusOf(node)))",
  },
  {
    name: "the scheduler wants to be woken in the past",
    file: "scheduler/dispatch",
    find: "overdueAt > after",
    replace: "overdueAt > state.now",
  },
  {
    name: "the scheduler is not woken to keep a worker free",
    file: "scheduler/dispatch",
    find: "Math.min(wake, overdueAt)",
    replace: "Math.min(wake, Number.POSITIVE_INFINITY)",
  },
  {
    name: "a new worker is not noticed where a reserved task was tried before",
    file: "scheduler/dispatch",
    find: "group.blockedAt = candidates.count === 0 ? fleet.relief : -1;",
    replace:
      "if (!fleet.reservations.has(taskKey(run.number, node))) group.blockedAt = candidates.count === 0 ? fleet.relief : -1;",
  },
  {
    name: "a restored state miscounts what waits",
    file: "scheduler/snapshot",
    find: "if (status <= Status.delayed)",
    replace: "if (status < Status.delayed)",
  },
];
