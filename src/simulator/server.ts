import type { Block, LedgerEvent, Report } from "../ledger/index.ts";
import type { WorkerSpec } from "../placement/index.ts";
import { eventsOf } from "../scheduler/index.ts";
import type { Agenda } from "./agenda.ts";
import type { Driver } from "./driver.ts";
import { LiveAttempts } from "./live-attempts.ts";
import { type AttemptName, type Heartbeat, nameOf, type ServerDoor } from "./messages.ts";
import type { Network } from "./network.ts";
import type { SimWorker } from "./sim-worker.ts";
import type { Tally } from "./tally.ts";

const LEASE_MS = 5_000;
/** How long an assignment may be on its way before a heartbeat that lacks it means that it is lost. */
const GRACE_MS = 2_500;

interface Session {
  readonly number: number;
  readonly incarnation: number;
  open: boolean;
  heardAtMs: number;
  load: string;
}

/**
 * The server's other half: sessions of workers, their leases, time limits. Knows what the ledger says and what
 * workers told it since it started, and nothing else.
 */
export class Server implements ServerDoor {
  readonly #driver: Driver;
  readonly #agenda: Agenda;
  readonly #network: Network;
  readonly #workers: ReadonlyMap<string, SimWorker>;
  readonly #tally: Tally;
  readonly #sessions = new Map<string, Session>();
  readonly #registering = new Map<string, number>();
  readonly #live = new LiveAttempts();

  constructor(
    driver: Driver,
    agenda: Agenda,
    network: Network,
    workers: ReadonlyMap<string, SimWorker>,
    tally: Tally,
  ) {
    this.#driver = driver;
    this.#agenda = agenda;
    this.#network = network;
    this.#workers = workers;
    this.#tally = tally;
    this.#watchLeases();
  }

  register(spec: WorkerSpec, incarnation: number): void {
    const known = Math.max(
      this.#sessions.get(spec.id)?.incarnation ?? 0,
      this.#registering.get(spec.id) ?? 0,
    );
    if (incarnation < known) return;
    if (incarnation === known) {
      if (this.#registering.get(spec.id) !== incarnation) this.#welcome(spec.id, incarnation);
      return;
    }
    this.#registering.set(spec.id, incarnation);
    this.#driver.receive({ kind: "WorkerRegistered", worker: spec }, () =>
      this.#welcome(spec.id, incarnation),
    );
  }

  heartbeat(beat: Heartbeat): void {
    const session = this.#sessions.get(beat.id);
    if (!session || beat.incarnation > session.incarnation) return;
    if (!session.open || beat.incarnation < session.incarnation) {
      this.#tell(beat.id, (worker) => worker.expired(beat.incarnation));
      return;
    }
    session.heardAtMs = this.#agenda.nowMs;
    this.#compare(beat, session);
    const load = `${beat.loadPermille} ${beat.saysOverloaded}`;
    if (load === session.load) return;
    session.load = load;
    this.#driver.receive({
      kind: "WorkerLoadReported",
      worker: session.number,
      loadPermille: beat.loadPermille,
      saysOverloaded: beat.saysOverloaded,
    });
  }

  report(id: string, incarnation: number, report: Report): void {
    this.#driver.receive(report, (reply) => {
      this.#tell(id, (worker) => worker.acknowledge(incarnation, report));
      if (report.kind === "AttemptStarted" && reply.accepted) this.#limitTime(report, report.startedAt);
    });
  }

  goodbye(id: string, incarnation: number): void {
    const session = this.#sessions.get(id);
    if (session?.incarnation === incarnation && session.open) this.#lose(session, "left");
  }

  drain(id: string): void {
    const session = this.#sessions.get(id);
    if (!session) return;
    this.#driver.receive({ kind: "DrainRequested", worker: session.number }, (reply) => {
      if (!reply.accepted) return;
      this.#tally.count("worker drained");
      this.#tell(id, (worker) => worker.drain(session.incarnation));
    });
  }

  /** What a block means outside. */
  letOut(block: Block): void {
    for (const { event } of eventsOf(block)) {
      this.#follow(event);
      if (event.kind === "TaskAssigned") this.#assign(event);
      else if (event.kind === "CancelSignalled") this.#signal(event);
    }
  }

  /** Keeps in step with the ledger. */
  #follow(event: LedgerEvent): void {
    if (event.kind === "WorkerRegistered") {
      this.#live.forgetWorker(this.#driver.state.fleet.byId(event.worker.id)?.number ?? -1);
      this.#openSession(event.worker);
    }
    this.#live.follow(event, this.#agenda.nowMs);
  }

  /** A new process: everyone gets a fresh lease; what it knew only from messages is gone. */
  begin(blocks: readonly Block[]): void {
    this.#sessions.clear();
    this.#registering.clear();
    this.#live.clear();
    for (const block of blocks) for (const { event } of eventsOf(block)) this.#follow(event);
    for (const worker of this.#driver.state.fleet.workers) {
      const session = this.#sessions.get(worker.id);
      if (session) session.open = worker.status !== "Unreachable";
    }
  }

  #openSession(spec: WorkerSpec): void {
    this.#sessions.set(spec.id, {
      number: this.#driver.state.fleet.byId(spec.id)?.number ?? -1,
      incarnation: Number(spec.endpoint.slice("sim:".length)),
      open: true,
      heardAtMs: this.#agenda.nowMs,
      load: "0 false",
    });
  }

  #welcome(id: string, incarnation: number): void {
    if (this.#registering.get(id) === incarnation) this.#registering.delete(id);
    this.#tell(id, (worker) => worker.registered(incarnation));
  }

  #compare(beat: Heartbeat, session: Session): void {
    const told = new Set(beat.attempts.map(nameOf));
    for (const live of this.#live.of(session.number)) {
      if (live.reportedLost || told.has(nameOf(live.name))) continue;
      if (beat.sentAtMs - live.sentAtMs < GRACE_MS) continue;
      live.reportedLost = true;
      this.#driver.receive({ kind: "AttemptLost", ...live.name, startedAt: -1 });
    }
    for (const told of beat.attempts) {
      const live = this.#live.get(told);
      if (!live || live.cancelling) this.#tell(beat.id, (worker) => worker.cancel(beat.incarnation, told));
      else if (told.startedAt >= 0) this.#limitTime(told, told.startedAt);
    }
  }

  #limitTime(name: AttemptName, startedAt: number): void {
    const live = this.#live.get(name);
    const tasks = this.#driver.state.tasksAt(name.run);
    const timeoutMs = tasks?.has(name.node) ? tasks.taskOf(name.node).timeoutMs : 0;
    if (!live || live.timed || timeoutMs === 0) return;
    live.timed = true;
    this.#agenda.in(timeoutMs, () => {
      if (this.#live.get(name) !== live) return;
      const { run, node, attempt } = name;
      this.#driver.receive({ kind: "AttemptTimedOut", run, node, attempt, startedAt });
      this.#signal(live.name);
    });
  }

  #assign(event: AttemptName & { readonly worker: number }): void {
    const { run, node, attempt } = event;
    const task = this.#driver.state.tasks(run).taskOf(node);
    const spec = this.#driver.state.worker(event.worker).spec;
    const incarnation = this.#sessions.get(spec.id)?.incarnation ?? 0;
    this.#tell(spec.id, (worker) => worker.assign(incarnation, { run, node, attempt }, task));
  }

  #signal(name: AttemptName): void {
    const live = this.#live.get(name);
    if (!live) return;
    const id = this.#driver.state.worker(live.worker).id;
    const incarnation = this.#sessions.get(id)?.incarnation ?? 0;
    this.#tell(id, (worker) => worker.cancel(incarnation, live.name));
  }

  #tell(id: string, words: (worker: SimWorker) => void): void {
    const worker = this.#workers.get(id);
    if (worker) this.#network.send(`to ${id}`, () => words(worker));
  }

  #watchLeases(): void {
    for (const session of this.#sessions.values()) {
      if (!session.open || this.#agenda.nowMs - session.heardAtMs <= LEASE_MS) continue;
      this.#tally.count("lease expired");
      this.#lose(session, "lease");
    }
    this.#agenda.in(500, () => this.#watchLeases());
  }

  #lose(session: Session, code: "lease" | "left"): void {
    session.open = false;
    this.#driver.receive({ kind: "WorkerLost", worker: session.number, code });
  }
}
