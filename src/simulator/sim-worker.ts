import { hash32 } from "../core/index.ts";
import { RISKS, type Risk, type TaskSpec } from "../graph/index.ts";
import type { AttemptFinished, Report } from "../ledger/index.ts";
import type { WorkerSpec } from "../placement/index.ts";
import {
  type AttemptName,
  type Enclosed,
  type GivenInput,
  nameOf,
  type ServerDoor,
  type WorkerDoor,
} from "./messages.ts";
import { bytesHeld, isBrisk, isPoisonous } from "./random-data.ts";
import { LONGEST_MS } from "./random-graph.ts";
import { additionOf } from "./random-growth.ts";
import { gather, SimChunks } from "./sim-chunks.ts";
import type { Surroundings } from "./surroundings.ts";

const HEARTBEAT_MS = 1_000;

/** Not drawn, so that what is drawn elsewhere does not depend on it. */
function assessmentOf(name: AttemptName): Pick<AttemptFinished, "assessment"> {
  const chance = hash32(nameOf(name), 1);
  if (chance % 3 === 0) return {};
  const risk = RISKS[(chance >>> 4) % RISKS.length] as Risk;
  const confidencePermille = (chance >>> 6) % 1001;
  return {
    assessment: { verified: chance % 7 !== 1, confidencePermille, lines: (chance >>> 16) % 50, risk },
  };
}

interface Attempt {
  readonly name: AttemptName;
  readonly task: TaskSpec;
  /** What it gets, if nodes of its run hand data to each other. */
  readonly inputs: readonly GivenInput[] | undefined;
  hasInputs: boolean;
  /** -1 while it is queued. */
  startedAt: number;
}

interface Unheard {
  readonly report: Report;
  readonly enclosed: Enclosed | undefined;
  sentAtMs: number;
}

/**
 * A worker process: it takes what it is given once, runs as many at a time as it has slots, says what became
 * of it until the server has heard it, and can be killed, frozen or cut off at any moment.
 */
export class SimWorker implements WorkerDoor {
  spec: WorkerSpec;
  /** Grows with every start of the process. */
  incarnation = 0;
  #mode: "off" | "up" | "hung" = "off";
  #cut = false;
  #leaving = false;
  #registered = false;
  #loadPermille = 0;
  #saysOverloaded = false;
  readonly #held = new Map<string, Attempt>();
  /** All that it was ever given since it started: a message that comes twice begins nothing twice. */
  readonly #seen = new Set<string>();
  readonly #unheard = new Map<string, Unheard>();
  /** What happened to it while it was frozen. */
  readonly #deferred: (() => void)[] = [];
  readonly #in: Surroundings;
  readonly #chunks: SimChunks;

  constructor(spec: WorkerSpec, surroundings: Surroundings) {
    this.spec = spec;
    this.#in = surroundings;
    this.#chunks = new SimChunks(surroundings.data);
  }

  get isUp(): boolean {
    return this.#mode !== "off";
  }

  /** How many attempts it runs or has queued. */
  get holds(): number {
    return this.#held.size;
  }

  get isLeaving(): boolean {
    return this.#leaving;
  }

  start(spec: WorkerSpec = this.spec): void {
    this.stop();
    this.incarnation++;
    this.spec = { ...spec, endpoint: `sim:${this.incarnation}` };
    this.#mode = "up";
    this.#beat();
  }

  /** The process ends, with all that it knew. */
  stop(): void {
    this.#mode = "off";
    this.#leaving = false;
    this.#registered = false;
    this.#loadPermille = 0;
    this.#saysOverloaded = false;
    this.#held.clear();
    this.#seen.clear();
    this.#unheard.clear();
    this.#deferred.length = 0;
    this.#chunks.clear();
  }

  hang(): void {
    if (this.#mode === "up") this.#mode = "hung";
  }

  resume(): void {
    if (this.#mode !== "hung") return;
    this.#mode = "up";
    for (const act of this.#deferred.splice(0)) act();
  }

  setCut(cut: boolean): void {
    this.#cut = cut;
  }

  setLoad(loadPermille: number, saysOverloaded: boolean): void {
    this.#loadPermille = loadPermille;
    this.#saysOverloaded = saysOverloaded;
  }

  leave(): void {
    if (this.#mode !== "up") return;
    const { spec, incarnation } = this;
    this.#say((server) => server.goodbye(spec.id, incarnation));
    this.stop();
  }

  /** One of its attempts is gone without a trace, as when the process that ran it was killed. */
  forget(): boolean {
    const attempts = [...this.#held.values()];
    if (attempts.length === 0) return false;
    this.#held.delete(nameOf(this.#in.random.pick(attempts).name));
    if (this.#in.data) this.#gatherAll();
    this.#startQueued();
    return true;
  }

  registered(incarnation: number): void {
    this.#alive(incarnation, () => {
      this.#registered = true;
    });
  }

  expired(incarnation: number): void {
    this.#alive(incarnation, () => {
      if (this.#registered) this.start();
    });
  }

  /** Whether another worker gets a result from here. */
  gives(chunk: AttemptName): boolean {
    return this.#mode === "up" && !this.#cut && this.#chunks.gives(chunk);
  }

  assign(
    incarnation: number,
    name: AttemptName,
    task: TaskSpec,
    inputs: readonly GivenInput[] | undefined,
  ): void {
    this.#alive(incarnation, () => {
      const key = nameOf(name);
      if (this.#seen.has(key)) return;
      this.#seen.add(key);
      const hasInputs = inputs === undefined || task.meta === true;
      const attempt: Attempt = { name, task, inputs, hasInputs, startedAt: -1 };
      this.#held.set(key, attempt);
      if (!hasInputs) this.#later(this.#in.dataRandom.int(0, 30), () => this.#gather(attempt));
      else this.#startQueued();
    });
  }

  free(incarnation: number, chunks: readonly AttemptName[]): void {
    this.#alive(incarnation, () => this.#chunks.free(chunks));
  }

  #gather(attempt: Attempt): void {
    const key = nameOf(attempt.name);
    if (this.#held.get(key) !== attempt || attempt.hasInputs) return;
    const isOver = (chunk: AttemptName) => this.#seen.has(nameOf(chunk)) && !this.#held.has(nameOf(chunk));
    const { fetch } = this.#in;
    const found = gather(attempt.inputs ?? [], { self: this.spec.id, chunks: this.#chunks, isOver, fetch });
    attempt.hasInputs = found.is === "here";
    if (found.is === "here") this.#startQueued();
    // Who gave it ahead knows by itself that it will not run.
    else if (found.is === "never") this.#held.delete(key);
    else if (found.is === "missing")
      this.#end(attempt, { kind: "AttemptLost", ...attempt.name, startedAt: -1 }, found);
  }

  /** An attempt has ended: those that wait for what it makes go on, or never will. */
  #gatherAll(): void {
    for (const attempt of [...this.#held.values()])
      if (!attempt.hasInputs && attempt.inputs?.some(({ isStored, at }) => !isStored && at.length === 0))
        this.#gather(attempt);
  }

  cancel(incarnation: number, name: AttemptName): void {
    this.#alive(incarnation, () => {
      const attempt = this.#held.get(nameOf(name));
      if (!attempt) return;
      // Some tasks do not listen, and finish.
      if (attempt.startedAt >= 0 && this.#in.random.chance(0.2)) return;
      const delayMs = attempt.startedAt < 0 ? 0 : this.#in.random.int(0, 400);
      this.#later(delayMs, () =>
        this.#end(attempt, { kind: "AttemptCancelled", ...attempt.name, startedAt: attempt.startedAt }),
      );
    });
  }

  /** Some answer late, some twice, some not at all; what has begun goes on. */
  recall(incarnation: number, name: AttemptName): void {
    const { recallRandom: random, network, tally } = this.#in;
    this.#alive(incarnation, () => {
      if (!network.calm && random.chance(0.15)) return tally.count("recall not answered");
      const delayMs = random.chance(0.3) ? random.int(1, 2_500) : 0;
      this.#later(delayMs, () => {
        this.#giveBack(name);
        if (random.chance(0.1)) this.#giveBack(name);
      });
    });
  }

  #giveBack(name: AttemptName): void {
    const key = nameOf(name);
    const attempt = this.#held.get(key);
    const lost: Report = { kind: "AttemptLost", ...name, startedAt: -1 };
    if (attempt && attempt.startedAt < 0) this.#end(attempt, lost);
    else if (attempt) this.#report({ kind: "AttemptStarted", ...name, startedAt: attempt.startedAt });
    else if (!this.#seen.has(key)) {
      // It came before the assignment did.
      this.#seen.add(key);
      this.#report(lost);
    }
  }

  acknowledge(incarnation: number, report: Report): void {
    this.#alive(incarnation, () => this.#unheard.delete(`${nameOf(report)} ${report.kind}`));
  }

  drain(incarnation: number): void {
    this.#alive(incarnation, () => {
      this.#leaving = true;
    });
  }

  #beat(): void {
    const { agenda, random } = this.#in;
    const { spec, incarnation } = this;
    if (this.#leaving && this.#held.size === 0 && this.#unheard.size === 0) {
      this.leave();
      return;
    }
    if (!this.#registered) this.#say((server) => server.register(spec, incarnation));
    const beat = {
      id: spec.id,
      incarnation,
      sentAtMs: agenda.nowMs,
      loadPermille: this.#loadPermille,
      saysOverloaded: this.#saysOverloaded,
      attempts: [...this.#held.values()].map(({ name, startedAt }) => ({ ...name, startedAt })),
    };
    this.#say((server) => server.heartbeat(beat));
    for (const unheard of this.#unheard.values()) {
      if (agenda.nowMs - unheard.sentAtMs >= 2 * HEARTBEAT_MS) this.#tell(unheard);
    }
    this.#later(HEARTBEAT_MS + random.int(-50, 50), () => this.#beat());
  }

  #startQueued(): void {
    const { slots, ioSlots } = this.spec;
    const isIo = ({ task }: Attempt) => task.io === true && ioSlots !== undefined;
    const running = { slots: 0, io: 0 };
    for (const attempt of this.#held.values())
      if (attempt.startedAt >= 0) running[isIo(attempt) ? "io" : "slots"]++;
    for (const attempt of this.#held.values()) {
      const place = isIo(attempt) ? "io" : "slots";
      if (attempt.startedAt >= 0 || !attempt.hasInputs) continue;
      if (running[place] >= (place === "io" ? (ioSlots ?? 0) : slots)) continue;
      running[place]++;
      this.#begin(attempt);
    }
  }

  #begin(attempt: Attempt): void {
    const { weather, network, tally, data } = this.#in;
    const random = attempt.inputs ? this.#in.dataRandom : this.#in.random;
    attempt.startedAt = Math.max(0, this.#in.wallMs());
    const { name, startedAt } = attempt;
    this.#in.onBegun(name);
    this.#report({ kind: "AttemptStarted", ...name, startedAt });
    if (attempt.task.timeoutMs > 0 && !network.calm && random.chance(weather.stuck)) {
      tally.count("attempt stuck");
      return;
    }
    if (data && attempt.inputs && !network.calm && isPoisonous(data, name)) {
      this.#later(random.int(1, 500), () => this.#in.onPoisoned(this.spec.id));
      return;
    }
    const isBriefly = data && attempt.inputs && isBrisk(data, name) && random.chance(0.95);
    const durationMs = isBriefly
      ? random.int(1, 9)
      : random.chance(0.3)
        ? random.int(1, LONGEST_MS)
        : random.int(1, Math.max(2, Math.min(attempt.task.estimateMs, LONGEST_MS)));
    const fails = random.chance(weather.failing);
    this.#later(durationMs, () => {
      if (fails) tally.count("attempt failed");
      const costMicros = random.pick([0, 0, 1, 499, 9_000]);
      const heldBytes = data && attempt.inputs && bytesHeld(data, name);
      this.#end(
        attempt,
        fails
          ? {
              kind: "AttemptFailed",
              ...name,
              startedAt,
              code: "exit",
              message: "exit code 1",
              costMicros,
              retry: random.chance(0.85),
            }
          : {
              kind: "AttemptFinished",
              ...name,
              startedAt,
              resultHash: String(hash32(nameOf(name)) % 3),
              resultBytes: heldBytes ?? random.pick([0, 10, 1_000, 200_000]),
              costMicros,
              ...(heldBytes && { held: true }),
              ...(attempt.inputs && name.node % 2 === 0 && { tookMicros: 1_000 * durationMs + name.node }),
              ...assessmentOf(name),
            },
        fails ? undefined : { addition: this.#additionOf(attempt) },
      );
    });
  }

  /** When all is calm no run grows any more. */
  #additionOf({ name, task, inputs }: Attempt): Enclosed["addition"] {
    const { growth, network } = this.#in;
    return growth && inputs && !network.calm ? additionOf(growth, name, task) : undefined;
  }

  #end(attempt: Attempt, report: Report, enclosed?: Enclosed): void {
    const key = nameOf(attempt.name);
    if (this.#held.get(key) !== attempt) return;
    this.#held.delete(key);
    const isMade = report.kind === "AttemptFinished" && !enclosed?.addition;
    if (attempt.inputs && isMade) this.#chunks.add(attempt.name);
    this.#report(report, enclosed);
    if (attempt.inputs) this.#gatherAll();
    this.#startQueued();
  }

  #report(report: Report, enclosed?: Enclosed): void {
    const unheard = { report, enclosed, sentAtMs: 0 };
    this.#unheard.set(`${nameOf(report)} ${report.kind}`, unheard);
    this.#tell(unheard);
  }

  #tell(unheard: Unheard): void {
    unheard.sentAtMs = this.#in.agenda.nowMs;
    const { spec, incarnation } = this;
    const { report, enclosed } = unheard;
    this.#say((server) => server.report(spec.id, incarnation, report, enclosed));
  }

  #say(words: (server: ServerDoor) => void): void {
    if (!this.#cut) this.#in.network.send(`from ${this.spec.id}`, () => words(this.#in.server));
  }

  #later(delayMs: number, act: () => void): void {
    const { incarnation } = this;
    this.#in.agenda.in(delayMs, () => this.#alive(incarnation, act));
  }

  /** What reaches a dead process is lost; what reaches a frozen one waits. */
  #alive(incarnation: number, act: () => void): void {
    if (incarnation !== this.incarnation || this.#mode === "off") return;
    if (this.#mode === "hung") this.#deferred.push(() => this.#alive(incarnation, act));
    else act();
  }
}
