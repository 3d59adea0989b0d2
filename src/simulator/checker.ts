import type { Answer } from "../driver/index.ts";
import { isDecision, type LedgerEvent, type SubmissionsRefused } from "../ledger/index.ts";
import { eventsOf, nextWakeAt, type State } from "../scheduler/index.ts";
import type { KeyedTask } from "../store/index.ts";
import { compareStates } from "./comparison.ts";
import { checkDuties, checkWake } from "./duties.ts";
import { checkAnswer, type ExpectedReply, expectationOf, expectedReply } from "./expectation.ts";
import { takeFact } from "./facts.ts";
import { LedgerCheck } from "./ledger-check.ts";
import { Model } from "./model.ts";
import { followersOf } from "./model-data.ts";
import { aboutTask, describeTask } from "./model-tasks.ts";
import { Noticer } from "./noticer.ts";
import type { Random } from "./random.ts";
import { checkReasons } from "./reasons.ts";
import { checkRecalls, checkRecallWake, expectedRecalls } from "./recalls.ts";
import { RowModel } from "./row-model.ts";
import type { Disk } from "./sim-store.ts";
import { checkVotes } from "./speculation.ts";
import type { Tally } from "./tally.ts";
import type { Turn } from "./turn.ts";
import { demand } from "./violation.ts";

/** Asking every task why it waits costs as much as all other checks together. */
const TURNS_PER_QUESTION = 4;

/**
 * Holds every committed turn against the model: each stimulus has come to what it must come to, each decision
 * may be made, none is missing, and the state says the same afterwards.
 */
export class Checker {
  readonly model: Model = new Model();
  readonly ledger: LedgerCheck;
  readonly rows: RowModel = new RowModel();
  /** The task of each key that was ever taken. */
  readonly keys: Map<string, string> = new Map();
  readonly #noticer: Noticer;
  readonly #tally: Tally;
  turns = 0;

  constructor(random: Random, tally: Tally) {
    this.ledger = new LedgerCheck(random, tally);
    this.#noticer = new Noticer(this.model, tally);
    this.#tally = tally;
  }

  /** What must be answered to each stimulus, and when the next turn is wanted at the latest. */
  check(
    turn: Turn,
    live: State,
    isLatest: boolean,
  ): { readonly replies: ExpectedReply[]; readonly wakeAt: number | undefined } {
    const block = turn.block ? this.ledger.accept(turn.block.line) : undefined;
    const recorded = block ? eventsOf(block) : [];
    const replies = this.#follow(
      turn,
      recorded.map(({ event }) => event),
    );
    if (block) this.ledger.replay(block, recorded);
    // A driver that decided its next turn already has a state that is ahead; then replaying tells what it was.
    const isAhead = !isLatest || live.seq !== this.ledger.state.seq;
    const state = isAhead ? this.ledger.state : live;
    if (isAhead) state.offerDue(turn.now);
    checkDuties(this.model, turn.now);
    const wakeAt = nextWakeAt(state, turn.now);
    checkWake(this.model, turn.now, wakeAt);
    checkRecallWake(this.model, turn.now, wakeAt);
    compareStates(this.model, state);
    if (this.turns++ % TURNS_PER_QUESTION === 0) checkReasons(this.model, state, turn.now, this.#tally);
    if (block) {
      this.rows.check(turn.rows);
      this.ledger.follow(block, state);
    }
    return { replies, wakeAt };
  }

  async atEnd(disk: Disk, state: State | undefined): Promise<void> {
    demand(state !== undefined, "liveness", () => "no server is up at the end");
    this.ledger.atEnd(this.model, disk.blocks, state);
    await this.rows.atEnd(disk);
  }

  checkAnswer(expected: ExpectedReply, answer: Answer): void {
    checkAnswer(expected, answer);
    if (expected.type === "repeats") this.#noticer.repeatedKey(expected.first !== undefined);
    else if (expected.accepted && expected.throttle) this.#noticer.throttled();
  }

  /** Walks stimuli and recorded events side by side. */
  #follow(turn: Turn, events: readonly LedgerEvent[]): ExpectedReply[] {
    const { model } = this;
    const replies: ExpectedReply[] = [];
    const refusals: SubmissionsRefused[] = [];
    let at = 0;
    const take = () => {
      const event = events[at++] as LedgerEvent;
      this.#noticer.before(event, turn.now);
      this.rows.before(model, event, turn.now);
      takeFact(model, event, turn.now);
    };
    for (const [index, stimulus] of turn.stimuli.entries()) {
      const expected = expectationOf(model, stimulus, turn.now);
      if (expected.type === "recorded") {
        if (this.#isWithdrawing(expected.event, events[at])) take();
        model.withdrawing.clear();
        demandEvent(events[at], expected.event);
        take();
        const key = turn.keys[index];
        if (key) this.#takeKey(key);
      } else if (expected.type === "refused submission") addRefusal(refusals, expected);
      else if (stimulus.kind === "RunSubmitted" || stimulus.kind === "TaskSubmitted")
        this.#noticer.refused(stimulus);
      while (at < events.length && isConsequence(events[at] as LedgerEvent, events[at + 1])) take();
      checkVotes(model, turn.now);
      replies.push(expectedReply(model, expected));
    }
    for (const refusal of refusals) {
      demandEvent(events[at], refusal);
      take();
    }
    const end = events.findIndex(({ kind }, index) => index >= at && kind === "TaskRecalled");
    const recalled = end === -1 ? [] : events.slice(end);
    while (at < events.length - recalled.length) {
      const event = events[at] as LedgerEvent;
      demand(
        isOfDispatch(event) || isExpiry(event) || isOfResults(event) || isOfLinks(event),
        "nothing-from-nowhere",
        () => `${event.kind} was recorded without a cause`,
      );
      take();
    }
    checkRecalls(recalled, expectedRecalls(model, turn.now));
    while (at < events.length) take();
    this.#noticer.afterTurn(turn.now);
    return replies;
  }

  /** What was given ahead of a result goes before the news that there will be none. */
  #isWithdrawing(event: LedgerEvent, next: LedgerEvent | undefined): boolean {
    const { model } = this;
    const gone = goneBy(event);
    if (!gone) return false;
    const task = model.taskAt(gone);
    if (!task.run.hasData || followersOf(task).length === 0) return false;
    model.withdrawing.add(task);
    demand(
      next?.kind === "TasksWithdrawn",
      "withdrawn-in-time",
      () => `what was given ahead of ${describeTask(task)} is not withdrawn`,
      aboutTask(task),
    );
    return true;
  }

  #takeKey(key: KeyedTask): void {
    this.keys.set(keyText(key), key.taskId);
    this.rows.takeKey(key);
  }
}

export function keyText({ zone, agent, key }: Omit<KeyedTask, "taskId" | "bodyHash">): string {
  return JSON.stringify([zone, agent, key]);
}

function demandEvent(event: LedgerEvent | undefined, expected: LedgerEvent): void {
  demand(
    event?.kind === expected.kind && JSON.stringify(event) === JSON.stringify(sorted(expected, event)),
    "inputs-recorded",
    () => `${JSON.stringify(expected)} should be recorded, ${JSON.stringify(event)} is`,
  );
}

/** The expected event with its fields in the order of the recorded one. */
function sorted(expected: LedgerEvent, like: LedgerEvent): unknown {
  const from = expected as unknown as Record<string, unknown>;
  return Object.fromEntries(Object.keys(like).map((key) => [key, from[key]]));
}

/** A decision that follows from a stimulus; the others come at the end of the turn. */
function isConsequence(event: LedgerEvent, next: LedgerEvent | undefined): boolean {
  // Else it goes before the stimulus that it follows from.
  if (event.kind === "TasksWithdrawn") return next?.kind === "NodesRecomputed";
  return isDecision(event) && !isOfDispatch(event);
}

function isOfDispatch({ kind }: LedgerEvent): boolean {
  return (
    kind === "TaskAssigned" ||
    kind === "TaskSpeculated" ||
    kind === "ReservationMade" ||
    kind === "RoomReserved" ||
    kind === "TaskRecalled"
  );
}

function isExpiry(event: LedgerEvent): boolean {
  return event.kind === "TaskFailed" && event.code === "expired";
}

/** The attempt that ends by the event, and has no result. */
function goneBy(event: LedgerEvent): { readonly run: number; readonly node: number } | undefined {
  switch (event.kind) {
    case "RunSubmitted":
      return event.parent;
    case "AttemptFailed":
    case "AttemptTimedOut":
    case "AttemptLost":
    case "AttemptCancelled":
      return event;
    default:
      return undefined;
  }
}

/** What follows from what results there are, after all that happened. */
function isOfResults({ kind }: LedgerEvent): boolean {
  return (
    kind === "TaskReused" ||
    kind === "ExpansionEnded" ||
    kind === "ChunksFreed" ||
    kind === "CacheEvicted" ||
    kind === "RunEnded"
  );
}

/** What a node that stands for another brings about when it fails, which shows when all else has happened. */
function isOfLinks(event: LedgerEvent): boolean {
  const { kind } = event;
  if (kind === "TaskFailed") return event.code === "link" || event.code === "expansion";
  return kind === "TasksSkipped" || kind === "TaskCancelled" || kind === "CancelSignalled";
}

function addRefusal(
  refusals: SubmissionsRefused[],
  { agent, code }: { readonly agent: string; readonly code: SubmissionsRefused["code"] },
): void {
  const at = refusals.findIndex((one) => one.agent === agent && one.code === code);
  if (at < 0) refusals.push({ kind: "SubmissionsRefused", agent, code, count: 1 });
  else refusals[at] = { kind: "SubmissionsRefused", agent, code, count: (refusals[at]?.count ?? 0) + 1 };
}
