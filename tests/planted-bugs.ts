// Bugs that a scheduler like this one has had, as edits of the compiled sources. What the simulator does not
// notice when it is planted, it would not notice when someone makes it.

export interface PlantedBug {
  readonly name: string;
  /** In dist, without the ending. */
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly find: string;
  readonly replace: string;
  /**
   * One that is known to show it, and soon. What the simulator draws changes with it, and then another seed may be
   * needed: the test searches for one, says which, and takes long until that stands here.
   */
  readonly seed: number;
}

/** In the scheduling of graphs. */
export const GRAPH_BUGS: readonly PlantedBug[] = [
  {
    name: "a task is ready when one of its needs has completed",
    seed: 5,
    file: "scheduler/attempt-events",
    find: "if (!run.unblock(dependent))",
    replace: "if (!run.unblock(dependent) && run.status[dependent] !== Status.waiting)",
  },
  {
    name: "a failed attempt keeps its resources",
    seed: 4,
    file: "scheduler/attempt-events",
    find: "release(state, tasks, event.node);",
    replace: `{ const worker = state.worker(tasks.workerOf(event.node));
      const { freeCpu } = worker;
      release(state, tasks, event.node);
      if (event.kind === "AttemptFailed") worker.freeCpu = freeCpu; }`,
  },
  {
    name: "a cancelled attempt keeps its resources",
    seed: 5,
    file: "scheduler/attempt-events",
    find: "release(state, tasks, event.node);",
    replace: `{ const worker = state.worker(tasks.workerOf(event.node));
      const { freeMemory } = worker;
      release(state, tasks, event.node);
      if (event.kind === "AttemptCancelled") worker.freeMemory = freeMemory; }`,
  },
  {
    name: "a lost worker keeps the resources of what it held",
    seed: 3,
    file: "scheduler/apply",
    find: "release(state, tasks, nodeOfKey(key));",
    replace: `{ const { freeCpu, freeMemory } = worker;
      release(state, tasks, nodeOfKey(key));
      Object.assign(worker, { freeCpu, freeMemory }); }`,
  },
  {
    name: "ties between workers fall to the one that registered first",
    seed: 1,
    file: "placement/worker",
    find: "return compareText(a.id, b.id) || compareText(a.spec.zone, b.spec.zone);",
    replace: "return a.number - b.number;",
  },
  {
    name: "ids are compared by locale",
    seed: 1,
    file: "core/ids",
    find: "return a < b ? -1 : a > b ? 1 : 0;",
    replace: "return a.localeCompare(b);",
  },
  {
    name: "a retry falls due by the wall clock",
    seed: 3,
    file: "scheduler/endings",
    find: "dueAt: this.#now + waitMs",
    replace: "dueAt: Date.now() + waitMs",
  },
  {
    name: "the step draws a random number",
    seed: 2,
    file: "scheduler/endings",
    find: "dueAt: this.#now + waitMs",
    replace: "dueAt: this.#now + waitMs + (Math.random() < 0.5 ? 1 : 0)",
  },
  {
    name: "a report of an earlier attempt is accepted",
    seed: 5,
    file: "scheduler/reports",
    find: "tasks.attemptOf(report.node) !== report.attempt",
    replace: "tasks.attemptOf(report.node) < report.attempt",
  },
  {
    name: "a second start of an attempt is accepted",
    seed: 3,
    file: "scheduler/reports",
    find: 'report.kind === "AttemptStarted" ? status === Status.assigned : isPlaced(status)',
    replace: "isPlaced(status)",
  },
  {
    name: "a current report is refused",
    seed: 1,
    file: "scheduler/reports",
    find: 'report.kind === "AttemptStarted" ? status === Status.assigned : isPlaced(status)',
    replace:
      'report.kind === "AttemptStarted" ? status === Status.assigned : isPlaced(status) && status !== Status.assigned',
  },
  {
    name: "a draining worker gets work",
    seed: 25,
    file: "placement/fleet",
    find: 'return status === "Idle" || status === "Busy";',
    replace: 'return status === "Idle" || status === "Busy" || status === "Draining";',
  },
  {
    name: "an overloaded worker that is relieved is not looked at again",
    seed: 21,
    file: "placement/fleet",
    find: "if (wasOverloaded)",
    replace: "if (!wasOverloaded && wasOverloaded)",
  },
  {
    name: "capabilities are ignored",
    seed: 1,
    file: "placement/demand",
    find: "return needs.capabilities.every(",
    replace: "return needs.capabilities.length >= 0 || needs.capabilities.every(",
  },
  {
    name: "zones leak",
    seed: 1,
    file: "placement/demand",
    find: "worker.spec.zones.includes(needs.zone)",
    replace: "worker.spec.zones.length > 0",
  },
  {
    name: "a worker's queue takes one too many",
    seed: 3,
    file: "placement/fleet",
    find: "places < this.config.maxQueuePerWorker",
    replace: "places <= this.config.maxQueuePerWorker",
  },
  {
    name: "what does not fit blocks what stands behind it",
    seed: 4,
    file: "scheduler/dispatch",
    find: "if (state.fleet.relief !== relief)",
    replace: "if (!placed || state.fleet.relief !== relief)",
  },
  {
    name: "a worker that is kept free takes other work",
    seed: 4,
    file: "placement/candidates",
    find: "const free = roomy & ~fleet.reserved[word];",
    replace: "const free = roomy;",
  },
  {
    name: "reservations are made in the order of groups",
    seed: 2,
    file: "scheduler/dispatch",
    find: "return { offer, opening };",
    replace: `{
      const openingFor = ({ group }) => firstOpening(state.fleet, group.pool.demand, now);
      const one = overdueOffers(state, places, now).find(openingFor);
      return { offer: one, opening: openingFor(one) };
    }`,
  },
  {
    name: "the reservation of a cancelled task stays",
    seed: 9,
    file: "scheduler/attempt-events",
    find: "state.unreserve(tasks, node);\n    tasks.move(node, to,",
    replace: "tasks.move(node, to,",
  },
  {
    name: "a retry is offered before it is due",
    seed: 4,
    file: "scheduler/state",
    find: "at !== undefined && at <= now;",
    replace: "at !== undefined && at <= now + 1000;",
  },
  {
    name: "a retry does not wake the scheduler",
    seed: 4,
    file: "scheduler/dispatch",
    find: "state.nextDueAt() ?? Number.POSITIVE_INFINITY",
    replace: "Number.POSITIVE_INFINITY",
  },
  {
    name: "the wait before a retry doubles too early",
    seed: 4,
    file: "scheduler/endings",
    find: "Math.min(attempt - 1, 40)",
    replace: "Math.min(attempt, 40)",
  },
  {
    name: "a task gets one attempt too many",
    seed: 2,
    file: "scheduler/endings",
    find: "attempt >= maxAttempts ||",
    replace: "attempt > maxAttempts ||",
  },
  {
    name: "only direct dependents of a failed task are skipped",
    seed: 7,
    file: "scheduler/run",
    find: "next.push(dependent);",
    replace: "",
  },
  {
    name: "dependents of a cancelled task are forgotten",
    seed: 11,
    file: "scheduler/endings",
    find: 'this.emit({ kind: "TaskCancelled", run: tasks.number, node });\n            this.skipDependents(tasks, node);',
    replace: 'this.emit({ kind: "TaskCancelled", run: tasks.number, node });',
  },
  {
    name: "what runs is not told to stop when its run is cancelled",
    seed: 4,
    file: "scheduler/endings",
    find: "else if (isPlaced(status) || status === Status.speculating || status === Status.expanded)",
    replace: "else if (status === Status.speculating)",
  },
  {
    name: "round robin stays where it is",
    seed: 10,
    file: "scheduler/attempt-events",
    find: "state.fleet.cursor = worker;",
    replace: "",
  },
  {
    name: "memory is ignored",
    seed: 4,
    file: "placement/candidates",
    find: "const fits = fitsCpu & demand.fitsMemory[word];",
    replace: "const fits = fitsCpu;",
  },
  {
    name: "a run does not end with its last task",
    seed: 5,
    file: "scheduler/step",
    find: "this.emit(report);\n            this.endings.endIfDone(tasks);",
    replace: "this.emit(report);",
  },
  {
    name: "results that a worker lost in a restart count as held by it",
    seed: 102,
    file: "scheduler/locality",
    find: "run.lastSeq[input] < holder.registeredSeq",
    replace: "run.lastSeq[input] < 0",
  },
  {
    name: "what holds up more does not go first",
    seed: 4,
    file: "scheduler/run",
    find: "this.graph.weight[b] - this.graph.weight[a] ||",
    replace: "this.graph.weight[a] - this.graph.weight[b] ||",
  },
  {
    name: "what is kept of a limit is given to others",
    seed: 44,
    file: "scheduler/room",
    find: "if (!kept || kept.key === key)",
    replace: "if (!kept || kept.group)",
  },
  {
    name: "what becomes critical is not noticed",
    seed: 5,
    file: "scheduler/run",
    find: "if (criticalMs === this.#criticalMs)",
    replace: "if (criticalMs <= this.#criticalMs)",
  },
  {
    name: "what starves is raised like what has waited for a while",
    seed: 9,
    file: "scheduler/lane",
    find: "now - STARVED_AFTER * afterMs, STARVED)",
    replace: "-1, STARVED)",
  },
  {
    name: "the wait of nodes is not looked at again",
    seed: 6,
    file: "scheduler/run",
    find: "this.#watch.liftAt = Math.min(",
    replace: "void Math.min(",
  },
  {
    name: "a snapshot forgets where round robin stands",
    seed: 15,
    file: "scheduler/restore",
    find: "state.fleet.cursor = state.fleet.workers[snapshot.cursor];",
    replace: "",
  },
  {
    name: "the ledger drops why workers were rejected",
    seed: 3,
    file: "ledger/event-writer",
    find: "writeNumbers(to, event.rejected)",
    replace: "writeNumbers(to, [])",
  },
  {
    name: "a full backlog takes one more",
    seed: 14,
    file: "scheduler/accounts",
    find: "waiting + tasks > most.tasks",
    replace: "waiting + tasks > most.tasks + 1",
  },
  {
    name: "what is settling is told to stop",
    seed: 121,
    file: "scheduler/endings",
    find: "else if (isPlaced(status) || status === Status.speculating || status === Status.expanded)",
    replace:
      "else if (isPlaced(status) || [Status.speculating, Status.expanded, Status.settling].includes(status))",
  },
  {
    name: "the scheduler wants to be woken in the past",
    seed: 4,
    file: "scheduler/dispatch",
    find: "if (at > after)",
    replace: "if (at > state.now)",
  },
  {
    name: "the scheduler is not woken to keep room",
    seed: 32,
    file: "scheduler/dispatch",
    find: "Math.min(wake, overdue)",
    replace: "Math.min(wake, Number.POSITIVE_INFINITY)",
  },
  {
    name: "the scheduler is not woken to keep a worker free",
    seed: 4,
    file: "scheduler/dispatch",
    find: "Math.min(wake, at)",
    replace: "Math.min(wake, Number.POSITIVE_INFINITY)",
  },
  {
    name: "a new worker is not noticed where a reserved task was tried before",
    seed: 42,
    file: "scheduler/takers",
    find: "pool.blockedAt = candidates.count === 0 ? fleet.relief : -1;",
    replace: "if (!fleet.reservations.has(key)) pool.blockedAt = candidates.count === 0 ? fleet.relief : -1;",
  },
  {
    name: "a restored state miscounts what waits",
    seed: 4,
    file: "scheduler/restore",
    find: "if (status <= Status.delayed)",
    replace: "if (status < Status.delayed)",
  },
];
