import type { Transfer } from "../ledger/index.ts";
import type { RecentAttempt } from "./recent-attempts.ts";

const PAGE = 1024;

const OUTCOMES = ["finished", "failed", "timed out", "lost", "cancelled", "expanded"] as const;

/** `expanded`: it ended by submitting a run, whose result will be its own. */
export type AttemptOutcome = (typeof OUTCOMES)[number];

/** Of one attempt. */
const NUMBERS = 9;
const TEXTS = 5;

/** So many attempts, number by number and text by text: what ends by the thousands leaves no objects behind. */
interface Page {
  readonly numbers: Float64Array;
  readonly texts: (string | undefined)[];
  /** By place, of those that moved something. */
  readonly transfers: Map<number, readonly Transfer[]>;
  count: number;
}

/** The attempts that ended last, in the order in which their ends were told. */
export class EndedAttempts {
  readonly #remembered: number;
  readonly #perPage: number;
  readonly #pages: Page[] = [];
  #count = 0;
  #wholeFrom: number;

  /** Twice as many as are remembered are kept at most. All that ends after a time is told to it. */
  constructor(remembered: number, since: number) {
    this.#remembered = remembered;
    this.#perPage = Math.max(1, Math.min(PAGE, remembered));
    this.#wholeFrom = since;
  }

  /** Nothing that ended later is missing. */
  get wholeFrom(): number {
    return this.#wholeFrom;
  }

  add(attempt: RecentAttempt): void {
    const page = this.#open();
    const at = page.count++;
    this.#count++;
    const { worker, lane, isIo, attempt: number, assignedAt, startedAt, endedAt, toldAt } = attempt;
    const { numbers, texts } = page;
    const n = at * NUMBERS;
    numbers[n] = worker;
    numbers[n + 1] = lane;
    numbers[n + 2] = isIo ? 1 : 0;
    numbers[n + 3] = number;
    numbers[n + 4] = assignedAt;
    numbers[n + 5] = startedAt;
    numbers[n + 6] = endedAt;
    numbers[n + 7] = toldAt;
    numbers[n + 8] = OUTCOMES.indexOf(attempt.outcome as AttemptOutcome);
    const t = at * TEXTS;
    texts[t] = attempt.taskId;
    texts[t + 1] = attempt.node;
    texts[t + 2] = attempt.type;
    texts[t + 3] = attempt.zone;
    texts[t + 4] = attempt.agent;
    if (attempt.transfers.length > 0) page.transfers.set(at, attempt.transfers);
  }

  /** Lets go of the oldest where there are too many. */
  trim(): void {
    if (this.#count <= 2 * this.#remembered) return;
    for (let [oldest] = this.#pages; oldest; [oldest] = this.#pages) {
      if (this.#count - oldest.count < this.#remembered) return;
      this.#pages.shift();
      this.#count -= oldest.count;
      this.#wholeFrom = numbersOf(oldest, oldest.count - 1)[7] as number;
    }
  }

  /** The latest first. */
  *latest(): Generator<RecentAttempt> {
    for (let of = this.#pages.length - 1; of >= 0; of--) {
      const page = this.#pages[of] as Page;
      for (let at = page.count - 1; at >= 0; at--) yield attemptAt(page, at);
    }
  }

  #open(): Page {
    const last = this.#pages.at(-1);
    if (last && last.count < this.#perPage) return last;
    const page: Page = {
      numbers: new Float64Array(NUMBERS * this.#perPage),
      texts: new Array<string | undefined>(TEXTS * this.#perPage).fill(undefined),
      transfers: new Map(),
      count: 0,
    };
    this.#pages.push(page);
    return page;
  }
}

function numbersOf({ numbers }: Page, at: number): Float64Array {
  return numbers.subarray(NUMBERS * at, NUMBERS * (at + 1));
}

function attemptAt(page: Page, at: number): RecentAttempt {
  const [worker, lane, isIo, attempt, assignedAt, startedAt, endedAt, toldAt, outcome] = numbersOf(page, at);
  const [taskId, node, type, zone, agent] = page.texts.slice(TEXTS * at, TEXTS * (at + 1));
  return {
    worker: worker as number,
    lane: lane as number,
    isIo: isIo === 1,
    taskId: taskId as string,
    node,
    attempt: attempt as number,
    type: type as string,
    zone: zone as string,
    agent: agent as string,
    assignedAt: assignedAt as number,
    startedAt: startedAt as number,
    endedAt: endedAt as number,
    toldAt: toldAt as number,
    outcome: OUTCOMES[outcome as number],
    transfers: page.transfers.get(at) ?? [],
  };
}
