import { NO_RUN } from "../placement/index.ts";
import { Agenda } from "./agenda.ts";
import { Checker } from "./checker.ts";
import { Clients } from "./clients.ts";
import { Host } from "./host.ts";
import type { Incident } from "./incidents.ts";
import { type AttemptName, nameOf } from "./messages.ts";
import { Network } from "./network.ts";
import { nonsense } from "./nonsense.ts";
import type { Random } from "./random.ts";
import { EXECUTORS, LIMITS, ZONES } from "./random-graph.ts";
import { AGENTS } from "./random-tasks.ts";
import { randomScenario, randomWorkerSpec, type Scenario } from "./scenario.ts";
import { Server } from "./server.ts";
import { SimWorker } from "./sim-worker.ts";
import type { Surroundings } from "./surroundings.ts";
import type { Tally } from "./tally.ts";
import { demand } from "./violation.ts";

/** Everything that a scenario sets in motion. */
export class World {
  readonly agenda: Agenda = new Agenda();
  readonly host: Host;
  readonly checker: Checker;
  readonly scenario: Scenario;
  readonly #random: Random;
  readonly #tally: Tally;
  readonly #network: Network;
  readonly #server: Server;
  readonly #clients: Clients;
  readonly #workers: readonly SimWorker[];
  /** All attempts that any worker ever began. */
  readonly #begun = new Set<string>();

  constructor(random: Random, tally: Tally) {
    const { agenda } = this;
    this.scenario = randomScenario(random.stream("scenario"));
    this.#random = random.stream("world");
    this.#tally = tally;
    this.checker = new Checker(random.stream("checker"), tally);
    const { model } = this.checker;
    this.#network = new Network(agenda, random.stream("network"), this.scenario.weather, tally);
    this.host = new Host(agenda, random.stream("host"), tally, this.checker, this.scenario.config, {
      onEffects: (events) => this.#server.letOut(events),
      onOpened: () => this.#server.begin(this.host.disk.blocks),
    });
    const byId = new Map<string, SimWorker>();
    this.#server = new Server(this.host, model, agenda, this.#network, byId, tally);
    this.#clients = new Clients(this.host, model, agenda, this.#network);
    const surroundings: Surroundings = {
      agenda,
      network: this.#network,
      random: random.stream("workers"),
      weather: this.scenario.weather,
      tally,
      server: this.#server,
      data: this.scenario.data,
      growth: this.scenario.growth,
      dataRandom: random.stream("data workers"),
      recallRandom: random.stream("recalled workers"),
      fetch: (from, chunk) => byId.get(from)?.gives(chunk) ?? false,
      onPoisoned: (id) => this.#poisoned(byId.get(id)),
      wallMs: () => this.host.wallMs(),
      onBegun: (name) => this.#checkBegun(name),
    };
    const specs = [...this.scenario.workers.map(({ spec }) => spec), this.scenario.rescuer];
    this.#workers = specs.map((spec) => new SimWorker(spec, surroundings));
    for (const worker of this.#workers) byId.set(worker.spec.id, worker);
    this.#plan();
  }

  #plan(): void {
    const { scenario, agenda } = this;
    for (const [index, { joinsAtMs }] of scenario.workers.entries()) {
      agenda.at(joinsAtMs, () => this.#workers[index]?.start());
    }
    for (const run of scenario.runs) agenda.at(run.atMs, () => this.#clients.submitRun(run));
    for (const task of scenario.tasks) agenda.at(task.atMs, () => this.#clients.submitTask(task));
    for (const incident of scenario.incidents) agenda.at(incident.atMs, () => this.#happen(incident));
    agenda.at(scenario.calmAtMs, () => this.#calm());
    this.#read();
  }

  /** Somebody looks, again and again. */
  #read(): void {
    if (this.#network.calm) return;
    this.host.read();
    this.agenda.in(this.#random.int(1, 700), () => this.#read());
  }

  /** Nothing runs that the ledger does not know of, and nothing runs twice. */
  #checkBegun(name: AttemptName): void {
    const key = nameOf(name);
    const { model } = this.checker;
    demand(!this.#begun.has(key), "one-start", () => `attempt ${key} began twice`, name);
    this.#begun.add(key);
    const isKnown = name.run === NO_RUN ? name.node < model.nextTask : name.run < model.nextRun;
    const task = model.find(name);
    demand(
      isKnown && (task === undefined || task.attempt >= name.attempt),
      "commit-before-effect",
      () => `attempt ${key} began before it was committed`,
      name,
    );
  }

  #happen(incident: Incident): void {
    const { runs } = this.scenario;
    switch (incident.type) {
      case "cancel run":
        this.#clients.cancelRun(runs[incident.run], -1);
        return;
      case "cancel node":
        this.#clients.cancelRun(runs[incident.run], incident.node);
        return;
      case "cancel added":
        this.#clients.cancelAdded(incident.choice);
        return;
      case "charge":
        this.#clients.charge(incident.choice);
        return;
      case "crash holder":
        this.#crashHolder(incident.choice, incident.backAfterMs);
        return;
      case "data":
        this.#clients.sayOfData(incident.choice);
        return;
      case "cancel task":
        this.#clients.cancelTask(incident.task);
        return;
      case "retry task":
        this.#clients.retryTask(incident.task);
        return;
      case "submit again":
        this.#clients.submitRunAgain(runs[incident.run]);
        return;
      case "order":
        this.host.receive(incident.order);
        return;
      case "nonsense":
        this.#tally.count("nonsense received");
        this.host.receive(nonsense(this.checker.model, incident.choice));
        return;
      case "restart server":
        this.host.crash(incident.fate);
        return;
      case "take over":
        this.host.takeOver();
        return;
      case "lose keys":
        this.host.loseKeys(incident.forMs);
        return;
      case "jump clock":
        this.#tally.count(incident.byMs < 0 ? "clock jumped back" : "clock jumped ahead");
        this.host.jumpClock(incident.byMs);
        return;
      case "reconfigure":
        this.host.receive({ kind: "SchedulerConfigured", config: incident.config });
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

  /** A worker that has results that are needed. */
  #crashHolder(choice: number, backAfterMs: number): void {
    const held = [...this.checker.model.tasks()].flatMap(({ holders }) => holders);
    const id = held[choice % Math.max(1, held.length)]?.spec.id;
    const worker = this.#workers.find(({ spec }) => spec.id === id);
    if (!worker?.isUp) return;
    this.#tally.count("worker crashed");
    worker.stop();
    this.#comeBack(worker, backAfterMs);
  }

  #poisoned(worker: SimWorker | undefined): void {
    if (!worker?.isUp) return;
    this.#tally.count("worker killed by its task");
    worker.stop();
    this.#comeBack(worker, 3_000);
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
    this.#relax();
    for (const worker of this.#workers) {
      worker.setCut(false);
      worker.setLoad(0, false);
      worker.resume();
      const known = this.checker.model.workerById(worker.spec.id);
      const draining = known?.standing === "draining";
      if (!worker.isUp || draining || worker.isLeaving) worker.start();
    }
  }

  /** Nothing is paused, and nothing is limited but by the configuration. */
  #relax(): void {
    for (const zone of ZONES) {
      this.#clients.insist({ kind: "ZoneConfigured", zone });
      for (const agent of AGENTS) this.#clients.insist({ kind: "AgentConfigured", zone, agent });
      for (const executor of ["", ...EXECUTORS]) {
        this.#clients.insist({ kind: "QueueResumed", zone, executor });
      }
      for (const name of LIMITS) {
        const none = { concurrency: null, rateCount: null, ratePeriodMs: 1 };
        this.#clients.insist({ kind: "LimitConfigured", zone, name, ...none });
      }
    }
  }
}
