import type { Answer, Attachment } from "../driver/index.ts";
import type { Block, ChunksFreed, LedgerEvent, Report, TasksWithdrawn } from "../ledger/index.ts";
import type { WorkerSpec } from "../placement/index.ts";
import { eventsOf } from "../scheduler/index.ts";
import type { Agenda } from "./agenda.ts";
import { attachedTo, growthOf } from "./growth.ts";
import type { Host } from "./host.ts";
import { LiveAttempts } from "./live-attempts.ts";
import {
  type AttemptName,
  type Enclosed,
  type Heartbeat,
  type MissingCopy,
  nameOf,
  type ServerDoor,
} from "./messages.ts";
import type { Model } from "./model.ts";
import { chunkOf, isToKeep, sourceOf } from "./model-data.ts";
import { aboutTask, isPlaced } from "./model-tasks.ts";
import type { Network } from "./network.ts";
import type { Addition } from "./random-growth.ts";
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
  readonly #host: Host;
  /** What the ledger says. */
  readonly #model: Model;
  readonly #agenda: Agenda;
  readonly #network: Network;
  readonly #workers: ReadonlyMap<string, SimWorker>;
  readonly #tally: Tally;
  readonly #sessions = new Map<string, Session>();
  readonly #registering = new Map<string, number>();
  readonly #live = new LiveAttempts();
  /** The last attempt of each task, by run and node. */
  readonly #attempts = new Map<string, number>();

  constructor(
    host: Host,
    model: Model,
    agenda: Agenda,
    network: Network,
    workers: ReadonlyMap<string, SimWorker>,
    tally: Tally,
  ) {
    this.#host = host;
    this.#model = model;
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
    this.#host.receive({ kind: "WorkerRegistered", worker: spec }, () => this.#welcome(spec.id, incarnation));
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
    this.#host.receive({
      kind: "WorkerLoadReported",
      worker: session.number,
      loadPermille: beat.loadPermille,
      saysOverloaded: beat.saysOverloaded,
    });
  }

  report(id: string, incarnation: number, report: Report, enclosed: Enclosed = {}): void {
    const { missing = [], addition } = enclosed;
    if (addition) {
      this.#add(id, incarnation, report, addition);
      return;
    }
    if (isCurrentIn(this.#model, report)) for (const copy of missing) this.#lostCopy(report, copy);
    const result: Attachment | undefined =
      report.kind === "AttemptFinished" ? { type: "result", result: `"${nameOf(report)}"` } : undefined;
    const onAnswer = (answer: Answer) => {
      this.#tell(id, (worker) => worker.acknowledge(incarnation, report));
      if (report.kind === "AttemptStarted" && answer.accepted) this.#limitTime(report, report.startedAt);
    };
    this.#host.receive(report, onAnswer, result);
  }

  #add(id: string, incarnation: number, report: Report, addition: Addition): void {
    const acknowledge = () => this.#tell(id, (worker) => worker.acknowledge(incarnation, report));
    const event = growthOf(this.#model, report, addition);
    if (!event) acknowledge();
    else this.#host.receive(event, acknowledge, attachedTo(event));
  }

  goodbye(id: string, incarnation: number): void {
    const session = this.#sessions.get(id);
    if (session?.incarnation === incarnation && session.open) this.#lose(session, "left");
  }

  drain(id: string): void {
    const session = this.#sessions.get(id);
    if (!session) return;
    this.#host.receive({ kind: "DrainRequested", worker: session.number }, (reply) => {
      if (!reply.accepted) return;
      this.#tally.count("worker drained");
      this.#tell(id, (worker) => worker.drain(session.incarnation));
    });
  }

  /** What a block means outside. */
  letOut(events: readonly LedgerEvent[]): void {
    for (const event of events) {
      if (event.kind === "TasksWithdrawn") this.#withdraw(event);
      this.#follow(event);
      if (event.kind === "TaskAssigned") this.#assign(event);
      else if (event.kind === "CancelSignalled") this.#signal(event);
      else if (event.kind === "TaskRecalled") this.#recall(event);
      else if (event.kind === "ChunksFreed") this.#free(this.#chunksOf(event));
      else if (event.kind === "CacheEvicted") this.#free(this.#model.evicted.splice(0));
    }
  }

  /** Keeps in step with the ledger. */
  #follow(event: LedgerEvent): void {
    if (event.kind === "WorkerRegistered") {
      this.#live.forgetWorker(this.#numberOf(event.worker.id));
      this.#openSession(event.worker);
    }
    if (event.kind === "TaskAssigned") this.#attempts.set(`${event.run}/${event.node}`, event.attempt);
    this.#live.follow(event, this.#agenda.nowMs);
  }

  /** A new process: everyone gets a fresh lease; what it knew only from messages is gone. */
  begin(blocks: readonly Block[]): void {
    this.#sessions.clear();
    this.#registering.clear();
    this.#live.clear();
    this.#attempts.clear();
    for (const block of blocks) for (const { event } of eventsOf(block)) this.#follow(event);
    for (const { spec, standing } of this.#model.sortedWorkers()) {
      const session = this.#sessions.get(spec.id);
      if (session) session.open = standing !== "unreachable";
    }
  }

  #numberOf(id: string): number {
    return this.#model.workerById(id)?.number ?? -1;
  }

  #openSession(spec: WorkerSpec): void {
    this.#sessions.set(spec.id, {
      number: this.#numberOf(spec.id),
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
      this.#host.receive({ kind: "AttemptLost", ...live.name, startedAt: live.startedAt });
    }
    for (const told of beat.attempts) {
      const live = this.#live.get(told);
      if (!live || live.cancelling) this.#tell(beat.id, (worker) => worker.cancel(beat.incarnation, told));
      else if (told.startedAt >= 0) this.#limitTime(told, told.startedAt);
      else if (this.#model.find(told)?.recall) this.#recall(told);
    }
  }

  #limitTime(name: AttemptName, startedAt: number): void {
    const live = this.#live.get(name);
    const timeoutMs = this.#model.find(name)?.spec.timeoutMs ?? 0;
    if (!live || live.timed || timeoutMs === 0) return;
    live.timed = true;
    this.#agenda.in(timeoutMs, () => {
      if (this.#live.get(name) !== live) return;
      const { run, node, attempt } = name;
      this.#host.receive({ kind: "AttemptTimedOut", run, node, attempt, startedAt });
      this.#signal(live.name);
    });
  }

  #assign(event: AttemptName & { readonly worker: number }): void {
    const { run, node, attempt } = event;
    const task = this.#model.find(event);
    const spec = this.#model.workers[event.worker]?.spec;
    // Another process may have gone on from what this one stored.
    if (!task || !spec) return;
    const inputs = task.run.hasData && task.attempt === attempt ? task.given : undefined;
    if (task.run.hasData && !inputs) return;
    const incarnation = this.#sessions.get(spec.id)?.incarnation ?? 0;
    this.#tell(spec.id, (worker) => worker.assign(incarnation, { run, node, attempt }, task.spec, inputs));
  }

  /** A copy of the current result is not where it should be. */
  #lostCopy(of: AttemptName, { chunk, worker: id }: MissingCopy): void {
    const worker = this.#numberOf(id);
    const sources = new Set(this.#model.find(of)?.inputs.map(sourceOf));
    const missed = [...sources].filter((source) => nameOf(chunkOf(source)) === nameOf(chunk));
    if (worker === -1) return;
    for (const source of missed) this.#host.receive({ kind: "ChunkLost", ...aboutTask(source), worker });
  }

  #withdraw({ run, nodes }: TasksWithdrawn): void {
    for (const node of nodes) {
      const live = this.#live.ofTask(run, node);
      if (live) this.#signal(live.name);
    }
  }

  /** What was borrowed is only given back. */
  #chunksOf({ run, nodes }: ChunksFreed): AttemptName[] {
    return nodes.flatMap((node) => {
      const task = this.#model.find({ run, node });
      const made = { run, node, attempt: this.#attempts.get(`${run}/${node}`) ?? 0 };
      return task?.standsFor ? [] : [task?.origin ?? made];
    });
  }

  /** All are told that keep it for nobody, though few have it. */
  #free(chunks: readonly AttemptName[]): void {
    for (const [id, { incarnation, open, number }] of this.#sessions) {
      const worker = this.#model.workers[number];
      const freed = chunks.filter((chunk) => worker && !isToKeep(this.#model, worker, chunk));
      if (open) this.#tell(id, (told) => told.free(incarnation, freed));
    }
  }

  #signal(name: AttemptName): void {
    const live = this.#live.get(name);
    if (!live) return;
    const id = this.#model.workerAt(live.worker).spec.id;
    const incarnation = this.#sessions.get(id)?.incarnation ?? 0;
    this.#tell(id, (worker) => worker.cancel(incarnation, live.name));
  }

  #recall(name: AttemptName): void {
    const live = this.#live.get(name);
    if (!live) return;
    const id = this.#model.workerAt(live.worker).spec.id;
    const incarnation = this.#sessions.get(id)?.incarnation ?? 0;
    this.#tell(id, (worker) => worker.recall(incarnation, live.name));
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
    this.#host.receive({ kind: "WorkerLost", worker: session.number, code });
  }
}

/** Whether the ledger says that the attempt is on its worker. */
function isCurrentIn(model: Model, { run, node, attempt }: AttemptName): boolean {
  const task = model.find({ run, node });
  return task !== undefined && task.attempt === attempt && isPlaced(task);
}
