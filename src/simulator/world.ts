import { NO_RUN } from "../placement/index.ts";
import type { State } from "../scheduler/index.ts";
import { Agenda } from "./agenda.ts";
import { Checker } from "./checker.ts";
import { Driver, type Turn } from "./driver.ts";
import type { Incident } from "./incidents.ts";
import { type AttemptName, nameOf } from "./messages.ts";
import { Network } from "./network.ts";
import { nonsense } from "./nonsense.ts";
import type { Random } from "./random.ts";
import { EXECUTORS, LIMITS, ZONES } from "./random-graph.ts";
import { AGENTS, type PlannedTask } from "./random-tasks.ts";
import { type PlannedRun, randomScenario, randomWorkerSpec, type Scenario } from "./scenario.ts";
import { Server } from "./server.ts";
import { SimWorker } from "./sim-worker.ts";
import type { Surroundings } from "./surroundings.ts";
import type { Tally } from "./tally.ts";
import { demand } from "./violation.ts";

/** Submissions that were refused are tried again this often. */
const TRIES = 6;

export type OnEvent = (seq: number, now: number, text: string) => void;

/** Everything that a scenario sets in motion. */
export class World {
  readonly agenda: Agenda = new Agenda();
  readonly driver: Driver;
  readonly checker: Checker;
  readonly scenario: Scenario;
  readonly #random: Random;
  readonly #tally: Tally;
  readonly #network: Network;
  readonly #server: Server;
  readonly #workers: readonly SimWorker[];
  readonly #accepted = new Set<string>();
  #arrived = 0;
  /** All attempts that any worker ever began. */
  readonly #begun = new Set<string>();
  readonly #onEvent: OnEvent | undefined;

  constructor(random: Random, tally: Tally, onEvent: OnEvent | undefined) {
    this.#onEvent = onEvent;
    this.scenario = randomScenario(random.stream("scenario"));
    this.#random = random.stream("world");
    this.#tally = tally;
    this.checker = new Checker(random.stream("checker"), tally);
    this.#network = new Network(this.agenda, random.stream("network"), this.scenario.weather, tally);
    this.driver = new Driver(this.agenda, random.stream("driver"), {
      onCommitted: (turn, state) => this.#check(turn, state),
      onEffects: (block) => this.#server.letOut(block),
      onRestarted: (blockLost) => {
        tally.count("server restarted");
        if (blockLost) tally.count("block lost");
        this.#server.begin(this.driver.blocks);
      },
    });
    const byId = new Map<string, SimWorker>();
    this.#server = new Server(this.driver, this.agenda, this.#network, byId, tally);
    const surroundings: Surroundings = {
      agenda: this.agenda,
      network: this.#network,
      random: random.stream("workers"),
      weather: this.scenario.weather,
      tally,
      server: this.#server,
      wallMs: () => this.driver.wallMs(),
      onBegun: (name) => this.#checkBegun(name),
    };
    const specs = [...this.scenario.workers.map(({ spec }) => spec), this.scenario.rescuer];
    this.#workers = specs.map((spec) => new SimWorker(spec, surroundings));
    for (const worker of this.#workers) byId.set(worker.spec.id, worker);
    this.#plan();
  }

  get isCalm(): boolean {
    return this.#network.calm;
  }

  #plan(): void {
    const { scenario, agenda } = this;
    this.driver.receive({ kind: "SchedulerConfigured", config: scenario.config });
    for (const [index, { joinsAtMs }] of scenario.workers.entries()) {
      agenda.at(joinsAtMs, () => this.#workers[index]?.start());
    }
    for (const run of scenario.runs) agenda.at(run.atMs, () => this.#submit(run, TRIES));
    for (const task of scenario.tasks) agenda.at(task.atMs, () => this.#submitTask(task, TRIES));
    for (const incident of scenario.incidents) agenda.at(incident.atMs, () => this.#happen(incident));
    agenda.at(scenario.calmAtMs, () => this.#calm());
  }

  #check(turn: Turn, state: State): void {
    const { block } = turn;
    if (block && this.#onEvent) {
      const { events } = JSON.parse(block.line) as { events: unknown[] };
      for (const [at, event] of events.entries())
        this.#onEvent(block.seq + at, block.now, JSON.stringify(event));
    }
    this.checker.check(turn, state);
  }

  /** Nothing runs that the ledger does not know of, and nothing runs twice. */
  #checkBegun(name: AttemptName): void {
    const key = nameOf(name);
    demand(!this.#begun.has(key), "one-start", () => `attempt ${key} began twice`, name);
    this.#begun.add(key);
    const task = this.checker.model.find(name);
    demand(
      task === undefined || task.attempt >= name.attempt,
      "commit-before-effect",
      () => `attempt ${key} began before it was committed`,
      name,
    );
  }

  #submit(run: PlannedRun, tries: number): void {
    const again = () => {
      if (tries > 1 && !this.#accepted.has(run.event.runId)) this.#submit(run, tries - 1);
    };
    this.#network.send("client", () =>
      this.driver.receive(run.event, (reply) => {
        if (reply.accepted || reply.code === "duplicate-run") this.#accepted.add(run.event.runId);
      }),
    );
    this.agenda.in(4_000, again);
  }

  #submitTask({ event }: PlannedTask, tries: number): void {
    this.#network.send("client", () =>
      this.driver.receive({ ...event, id: `${event.id}/${this.#arrived++}` }, (reply) => {
        if (reply.accepted || reply.code === "duplicate-task") this.#accepted.add(event.id);
      }),
    );
    this.agenda.in(4_000, () => {
      if (tries > 1 && !this.#accepted.has(event.id)) this.#submitTask({ event } as PlannedTask, tries - 1);
    });
  }

  #cancelTask(index: number): void {
    const id = this.scenario.tasks[index]?.event.id ?? "";
    const task = this.checker.model.singleById(id) ?? [...this.checker.model.singles.values()][0];
    if (task) this.driver.receive({ kind: "CancelRequested", run: NO_RUN, node: task.node });
  }

  /** Puts a task that has ended back into the queue. */
  #retryTask(index: number): void {
    const { past } = this.checker.model;
    const ended = [...past.values()];
    const task =
      past.get(this.scenario.tasks[index]?.event.id ?? "") ?? ended[index % Math.max(1, ended.length)];
    if (!task?.submission) return;
    const { attempt } = task;
    this.driver.receive({ ...task.submission, deadline: -1, runAt: -1, attempts: attempt, requeued: true });
  }

  #cancel(index: number, node: number): void {
    const run = this.driver.state.runById(this.scenario.runs[index]?.event.runId ?? "")?.number;
    if (run !== undefined) this.driver.receive({ kind: "CancelRequested", run, node });
  }

  #happen(incident: Incident): void {
    switch (incident.type) {
      case "cancel run":
        this.#cancel(incident.run, -1);
        return;
      case "cancel node":
        this.#cancel(incident.run, incident.node);
        return;
      case "cancel task":
        this.#cancelTask(incident.task);
        return;
      case "retry task":
        this.#retryTask(incident.task);
        return;
      case "order":
        this.driver.receive(incident.order);
        return;
      case "nonsense":
        this.#tally.count("nonsense received");
        this.driver.receive(nonsense(this.driver.state, incident.choice));
        return;
      case "submit again": {
        const run = this.scenario.runs[incident.run];
        if (run && this.#accepted.has(run.event.runId)) this.#submit(run, 1);
        return;
      }
      case "restart server":
        this.driver.restart(incident.inCommit);
        return;
      case "jump clock":
        this.#tally.count(incident.byMs < 0 ? "clock jumped back" : "clock jumped ahead");
        this.driver.jumpClock(incident.byMs);
        return;
      case "reconfigure":
        this.driver.receive({ kind: "SchedulerConfigured", config: incident.config });
        return;
      default:
        this.#strike(incident, this.#busyWorker(incident.worker));
    }
  }

  /** The worker, or the next that holds something: what befalls an idle one tells little. */
  #busyWorker(index: number): SimWorker {
    const planned = this.scenario.workers.length;
    for (let step = 0; step < planned; step++) {
      const worker = this.#workers[(index + step) % planned];
      if (worker && worker.holds > 0) return worker;
    }
    return this.#workers[index] as SimWorker;
  }

  #strike(incident: Extract<Incident, { worker: number }>, worker: SimWorker): void {
    if (!worker.isUp) return;
    switch (incident.type) {
      case "crash":
        this.#tally.count("worker crashed");
        worker.stop();
        this.#comeBack(worker, incident.backAfterMs);
        break;
      case "leave":
        this.#tally.count("worker left");
        worker.leave();
        this.#comeBack(worker, incident.backAfterMs);
        break;
      case "drain":
        this.#server.drain(worker.spec.id);
        this.#comeBack(worker, incident.backAfterMs);
        break;
      case "hang":
        this.#tally.count("worker hung");
        worker.hang();
        this.agenda.in(incident.forMs, () => worker.resume());
        break;
      case "cut":
        this.#tally.count("worker cut off");
        worker.setCut(true);
        this.agenda.in(incident.forMs, () => worker.setCut(false));
        break;
      case "overload":
        this.#overload(worker, incident.forMs);
        break;
      case "forget":
        if (worker.forget()) this.#tally.count("attempt forgotten");
        break;
    }
  }

  /** Over the mark, then between the two marks, then below both; or on its own word. */
  #overload(worker: SimWorker, forMs: number): void {
    this.#tally.count("worker overloaded");
    const says = this.#random.chance(0.3);
    worker.setLoad(says ? 100 : this.#random.pick([950, 1_000]), says);
    this.agenda.in(Math.floor(forMs / 2), () => worker.setLoad(this.#random.pick([800, 949]), false));
    this.agenda.in(forMs, () => worker.setLoad(this.#random.pick([0, 799]), false));
  }

  #comeBack(worker: SimWorker, afterMs: number): void {
    this.agenda.in(afterMs, () => {
      if (worker.isUp) return;
      const other = this.#random.chance(0.3);
      worker.start(other ? randomWorkerSpec(this.#random, worker.spec.id) : worker.spec);
    });
  }

  /** Whoever is well goes on as before; the others begin anew. */
  #calm(): void {
    this.#network.calm = true;
    for (const zone of ZONES) {
      this.driver.receive({ kind: "ZoneConfigured", zone });
      for (const agent of AGENTS) this.driver.receive({ kind: "AgentConfigured", zone, agent });
      for (const executor of ["", ...EXECUTORS])
        this.driver.receive({ kind: "QueueResumed", zone, executor });
      for (const name of LIMITS) {
        const none = { concurrency: null, rateCount: null, ratePeriodMs: 1 };
        this.driver.receive({ kind: "LimitConfigured", zone, name, ...none });
      }
    }
    for (const worker of this.#workers) {
      worker.setCut(false);
      worker.setLoad(0, false);
      worker.resume();
      const draining = this.driver.state.fleet.byId(worker.spec.id)?.status === "Draining";
      if (!worker.isUp || draining || worker.isLeaving) worker.start();
    }
  }
}
