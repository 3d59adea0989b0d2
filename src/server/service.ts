import type { Attachment, Driver, Fact } from "../driver/index.ts";
import type { History } from "../history/index.ts";
import { type AuditRow, auditHash, newId, type ServiceStore } from "../store/index.ts";
import type { Webhooks } from "../webhooks/index.ts";
import type {
  AgentLimit,
  AgentView,
  Api,
  Caller,
  EventsFrom,
  LimitSetting,
  LimitView,
  NodeResult,
  Refusal,
  RunSubmission,
  RunView,
  StreamEvent,
  Submitted,
  TaskSubmission,
  TaskView,
} from "./api.ts";
import { type AuditStanding, checkAudit } from "./audit-check.ts";
import type { DataTerms } from "./data-terms.ts";
import { EndedTasks } from "./ended-tasks.ts";
import type { EventStream } from "./event-stream.ts";
import type { LastAssignments } from "./explanation.ts";
import type { Gateway } from "./gateway.ts";
import { LedgerCheck, type LedgerStanding } from "./ledger-check.ts";
import { isOpen, isVisible, locate, rechargeOf } from "./live-task.ts";
import { NodeResults } from "./node-results.ts";
import { Reader } from "./reader.ts";
import type { RecentActivity } from "./recent-activity.ts";
import type { RecentAttempts } from "./recent-attempts.ts";
import { ID_TAKEN, refusal, refusalOf } from "./refusals.ts";
import { RunEvents } from "./run-events.ts";
import { agentConfigured, requeueOf, runStimulus } from "./stimuli.ts";
import { Submissions } from "./submissions.ts";
import type { Traces } from "./traces.ts";
import { agentViewOf, limitView } from "./zone-views.ts";

export interface ServiceOptions {
  readonly driver: Driver;
  readonly store: ServiceStore;
  readonly gateway: Gateway;
  readonly stream: EventStream;
  readonly assignments: LastAssignments;
  readonly recent: RecentActivity;
  readonly attempts: RecentAttempts;
  readonly webhooks: Pick<Webhooks, "follow">;
  readonly traces: Traces;
  readonly data: DataTerms;
}

/** What callers can do, on the driver and its rows. */
export class Service extends Reader implements Api {
  readonly #driver: Driver;
  readonly #store: ServiceStore;
  readonly #stream: EventStream;
  readonly #webhooks: ServiceOptions["webhooks"];
  readonly #traces: Traces;
  readonly #ended = new EndedTasks();
  readonly #runEvents: RunEvents;
  readonly #results: NodeResults;
  readonly #ledgerCheck: LedgerCheck;
  readonly #submissions: Submissions;

  constructor(options: ServiceOptions) {
    const { driver, store, gateway, stream, assignments, recent, attempts, webhooks, traces, data } = options;
    super({ driver, store, workers: gateway, stream, assignments, recent, attempts });
    this.#driver = driver;
    this.#store = store;
    this.#stream = stream;
    this.#webhooks = webhooks;
    this.#traces = traces;
    this.#runEvents = new RunEvents(driver, store, stream);
    this.#results = new NodeResults(driver, store, data);
    this.#ledgerCheck = new LedgerCheck(store);
    this.#submissions = new Submissions(driver, traces, (caller, id) => this.task(caller, id));
  }

  /** What a committed turn means to those who wait for a task. */
  letOut(facts: readonly Fact[]): void {
    this.#ended.follow(facts);
  }

  submit(caller: Caller, submissions: readonly TaskSubmission[]): Promise<readonly Submitted[]> {
    return this.#submissions.submit(caller, submissions);
  }

  async waitForTask(
    caller: Caller,
    id: string,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<TaskView | undefined> {
    return await this.#ended.untilEnded(id, { waitMs, signal }, async () => {
      const task = await this.task(caller, id);
      return { found: task, isOpen: task !== undefined && isOpen(task.status) };
    });
  }

  async cancel(caller: Caller, id: string): Promise<boolean> {
    const single = await this.#driver.read((state) => locate(state, { id, run: undefined }));
    const row = single ? undefined : await this.#store.task(id);
    const place = row ? await this.#driver.read((state) => locate(state, row)) : single;
    if (!place || !isVisible(caller, place) || place.isCancelling) return false;
    const { run, node } = place;
    return (await this.#driver.submit({ kind: "CancelRequested", run, node })).accepted;
  }

  async retry(caller: Caller, id: string): Promise<TaskView | Refusal | undefined> {
    const task = await this.task(caller, id);
    if (!task) return undefined;
    if (task.run) return refusal("part-of-a-run", "it is part of a run; submit the run again");
    if (task.status !== "failed" && task.status !== "cancelled") {
      return refusal("not-ended", `it is ${task.status}; only a failed or cancelled task can be tried again`);
    }
    // Its row is all that is left of how it ended.
    await this.#webhooks.follow();
    this.#traces.keepFrom(id, task.settings);
    const attached: Attachment = { type: "requeue", taskId: id, seq: task.seq };
    const answer = await this.#driver.submit(requeueOf(task), attached);
    // Somebody else was faster: what they did is what was asked for.
    if (answer.accepted || answer.code === "duplicate-task") return this.task(caller, id);
    return refusalOf(answer, this.#driver.now());
  }

  async recharge(
    caller: Caller,
    id: string,
    amounts: readonly number[],
  ): Promise<TaskView | Refusal | undefined> {
    const task = await this.task(caller, id);
    if (!task) return undefined;
    if (!task.budget)
      return refusal("no-budget", "it was submitted without a budget, and uses what it likes");
    if (task.status !== "running")
      return refusal("not-running", `it is ${task.status}; only a running task can be recharged`);
    const answer = await this.#driver.submit(
      await this.#driver.read((state) => rechargeOf(state, task, amounts)),
    );
    if (!answer.accepted) return refusal("not-running", "its attempt has ended meanwhile");
    return this.task(caller, id);
  }

  async submitRun(caller: Caller, submission: RunSubmission): Promise<RunView | Refusal> {
    const { id: runId = newId(), trace } = submission;
    if (await this.#store.run(runId)) return refusal("duplicate-run", ID_TAKEN);
    if (trace) this.#traces.keep(runId, trace);
    const { stimulus, attached } = runStimulus(caller, runId, submission);
    const answer = await this.#driver.submit(stimulus, attached);
    if (!answer.accepted) return refusalOf(answer, this.#driver.now());
    return (await this.run(caller, runId)) as RunView;
  }

  async waitForRun(
    caller: Caller,
    id: string,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<RunView | undefined> {
    return await this.#ended.untilEnded(id, { waitMs, signal }, async () => {
      const run = await this.run(caller, id);
      return { found: run, isOpen: run?.outcome === "" };
    });
  }

  async runHistory(caller: Caller, id: string, signal: AbortSignal): Promise<History | undefined> {
    const row = await this.#store.run(id);
    return row && isVisible(caller, row) ? this.#runEvents.history(row, signal) : undefined;
  }

  async runEvents(
    caller: Caller,
    id: string,
    signal: AbortSignal,
  ): Promise<AsyncIterable<StreamEvent> | undefined> {
    const row = await this.#store.run(id);
    return row && isVisible(caller, row) ? this.#runEvents.told(row, signal) : undefined;
  }

  async cancelRun(caller: Caller, id: string): Promise<boolean> {
    const run = await this.#driver.read((state) => {
      const found = state.runById(id);
      return found && isVisible(caller, found) ? found.number : undefined;
    });
    if (run === undefined) return false;
    return (await this.#driver.submit({ kind: "CancelRequested", run, node: -1 })).accepted;
  }

  nodeResult(caller: Caller, runId: string, nodeId: string): Promise<NodeResult | undefined> {
    return this.#results.of(caller, runId, nodeId);
  }

  releaseRun(caller: Caller, id: string): Promise<boolean> {
    return this.#results.release(caller, id);
  }

  async drainWorker(caller: Caller, id: string): Promise<boolean> {
    const worker = await this.#driver.read((state) => {
      return state.fleet.named(caller.zone, id)?.number;
    });
    if (worker === undefined) return false;
    return (await this.#driver.submit({ kind: "DrainRequested", worker })).accepted;
  }

  async setPaused({ zone }: Caller, executor: string | undefined, paused: boolean): Promise<void> {
    await this.#driver.submit({
      kind: paused ? "QueuePaused" : "QueueResumed",
      zone,
      executor: executor ?? "",
    });
  }

  async setAgentLimit({ zone }: Caller, agent: string, limit: AgentLimit): Promise<AgentView> {
    await this.#driver.submit(agentConfigured(zone, agent, limit));
    return await this.#agent(zone, agent);
  }

  async setZoneLimit({ zone }: Caller, max: number | null | undefined): Promise<void> {
    await this.#driver.submit({ kind: "ZoneConfigured", zone, ...(max !== undefined && { max }) });
  }

  async grantCredits({ zone }: Caller, agent: string, micros: number): Promise<AgentView | Refusal> {
    const answer = await this.#driver.submit({ kind: "CreditsGranted", zone, agent, micros });
    if (!answer.accepted) return refusal("credits", "the agent has as many credits as can be counted");
    return await this.#agent(zone, agent);
  }

  async setLimit({ zone }: Caller, { name, concurrency, rate }: LimitSetting): Promise<LimitView> {
    await this.#driver.submit({
      kind: "LimitConfigured",
      zone,
      name,
      concurrency,
      rateCount: rate?.count ?? null,
      ratePeriodMs: rate?.periodMs ?? 1,
    });
    return await this.#driver.read((state) => limitView(state, zone, name));
  }

  async *ledger(): AsyncGenerator<string> {
    for await (const { line } of this.#store.blocks()) yield `${line}\n`;
  }

  ledgerStanding(): Promise<LedgerStanding> {
    return this.#ledgerCheck.goOn();
  }

  async recordAudit(row: AuditRow): Promise<void> {
    await this.#driver.submit({ kind: "AuditRecorded", hash: auditHash(row) }, { type: "audit", row });
  }

  checkAudit(): Promise<AuditStanding> {
    return checkAudit(this.#store);
  }

  events(caller: Caller, from: EventsFrom, signal: AbortSignal): AsyncIterable<StreamEvent> {
    return this.#stream.read(caller, from, signal);
  }

  #agent(zone: string, agent: string): Promise<AgentView> {
    return this.#driver.read((state) => agentViewOf(state, zone, agent, this.#driver.now()));
  }
}
