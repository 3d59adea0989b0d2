import { BUDGET_PARTS, type BudgetPart, budgetOffWire, budgetOnWire, partOnWire } from "../graph/index.ts";
import type { Assignment, Heartbeat, Recharge, Report } from "../protocol/index.ts";
import type { Body, Budget, Capabilities, Launched, Runtime } from "../runtime/index.ts";

type Exhausted = Heartbeat["attempts"][number]["exhausted"];

/** The fibers of an attempt, within what it may consume and do. */
export class Metered {
  readonly #assignment: Assignment;
  readonly #onExhausted: () => void;
  #launched: Launched<unknown> | undefined;
  #recharges = 0;
  #recharged: readonly number[] = BUDGET_PARTS.map(() => 0);
  /** With what was recharged. */
  #given: readonly number[] = [];
  #lacks: BudgetPart | undefined;
  #used: Budget | undefined;

  constructor(assignment: Assignment, onExhausted: () => void) {
    this.#assignment = assignment;
    this.#onExhausted = onExhausted;
  }

  /** What it has used up and waits for, for the next heartbeat. */
  get exhausted(): Exhausted {
    return this.#lacks && { part: partOnWire(this.#lacks), recharges: this.#recharges };
  }

  /** What it consumed, once it is over, where it has a budget. */
  get used(): Extract<Report, { type: "finished" }>["used"] {
    return this.#used && this.#assignment.budget ? budgetOnWire(amountsOf(this.#used)) : undefined;
  }

  async run<T>(runtime: Runtime, body: Body<T>, signal: AbortSignal): Promise<T> {
    const { budget } = this.#assignment;
    const given = budget ? budgetOf(budgetOffWire(budget)) : UNMETERED;
    this.#given = amountsOf(given);
    const launched = runtime.launch(given, capabilitiesOf(runtime, this.#assignment), body, {
      onExhausted: ({ component }) => this.#exhaust(component),
    });
    this.#launched = launched;
    const cancel = () => launched.cancel();
    signal.addEventListener("abort", cancel, { once: true });
    try {
      const outcome = await launched.outcome;
      this.#used = outcome.used;
      if (outcome.kind === "success") return outcome.value;
      throw outcome.error;
    } finally {
      this.#launched = undefined;
      signal.removeEventListener("abort", cancel);
    }
  }

  /** The sums come again whenever one may not have been heard. */
  recharge({ recharges, amounts }: Recharge): void {
    if (recharges <= this.#recharges) return;
    const sums = budgetOffWire(amounts);
    const more = sums.map((sum, at) => Math.max(0, sum - (this.#recharged[at] as number)));
    this.#recharges = recharges;
    this.#recharged = sums;
    this.#lacks = undefined;
    this.#give(more);
  }

  /** As much of it as a task can have at all. What comes when the task has just ended is for nobody. */
  #give(more: readonly number[]): void {
    if (this.#launched === undefined) return;
    const room = this.#given.map((given, at) => Math.min(more[at] as number, (MOST[at] as number) - given));
    this.#given = this.#given.map((given, at) => given + (room[at] as number));
    try {
      this.#launched.recharge(budgetOf(room));
    } catch (error) {
      if ((error as { code?: unknown }).code !== "NurseryNotActive") throw error;
    }
  }

  #exhaust(component: BudgetPart): "wait" | undefined {
    if (this.#assignment.budget?.on_exhausted !== "wait") return undefined;
    this.#lacks = component;
    this.#onExhausted();
    return "wait";
  }
}

const MOST = BUDGET_PARTS.map((part) =>
  part === "ops" || part === "memory" ? Number.MAX_SAFE_INTEGER : 0xffff_ffff,
);

/** Of those who were submitted without a budget. */
const UNMETERED: Budget = {
  ops: 2 ** 40,
  memory: 2 ** 40,
  spawnCount: 2 ** 20,
  channelOps: 2 ** 20,
  syscalls: 2 ** 20,
};

/** More bytes than any machine has, and little enough of what the worker's runtime can give to all of its tasks. */
const MOST_MEMORY = 2 ** 42;

function budgetOf(amounts: readonly number[]): Budget {
  const [ops = 0, bytes = 0, spawnCount = 0, channelOps = 0, syscalls = 0] = amounts;
  return { ops, memory: Math.min(bytes, MOST_MEMORY), spawnCount, channelOps, syscalls };
}

function amountsOf(budget: Budget): number[] {
  return BUDGET_PARTS.map((part) => budget[part]);
}

/** What every task may, and what was named in its submission, which its worker has. */
function capabilitiesOf({ grant }: Runtime, { capabilities = [] }: Assignment): Capabilities {
  const delegable = { delegable: true };
  return {
    spawn: grant.spawn(delegable),
    channel: grant.channel(undefined, delegable),
    syscall: grant.syscall(undefined, delegable),
    own: Object.fromEntries(capabilities.map((name) => [name, grant.named(name, delegable)])),
  };
}
