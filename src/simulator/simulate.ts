import { InvariantError } from "../core/index.ts";
import type { Block } from "../ledger/index.ts";
import { countStuck, failLiveness, isSettled, longestMs } from "./liveness.ts";
import { Random } from "./random.ts";
import { Tally } from "./tally.ts";
import { type About, Violation } from "./violation.ts";
import { World } from "./world.ts";

export interface SimulateOptions {
  /** Hears of every event as it is committed. */
  readonly onEvent?: (seq: number, now: number, text: string) => void;
}

export interface Outcome {
  readonly seed: number;
  readonly steps: number;
  readonly events: number;
  readonly virtualMs: number;
  readonly tally: Tally;
  /** The ledger, a line for each block. */
  readonly lines: readonly string[];
  readonly failure: Failure | undefined;
}

export interface Failure {
  readonly invariant: string;
  readonly detail: string;
  readonly about: About;
  /** The last turn. */
  readonly step: number;
  /** Where it broke, for those who look into the code. */
  readonly stack: string;
}

/** Plays the scenario of a seed to its end, or to the first broken invariant. */
export async function simulate(seed: number, options: SimulateOptions = {}): Promise<Outcome> {
  const tally = new Tally();
  const world = new World(new Random(seed, "root"), tally);
  let failure: Failure | undefined;
  // What the driver throws where nobody waits for it would end the process, without a word about the seed.
  const onUnhandled = (error: unknown) => {
    world.host.failure ??= error as Error;
  };
  process.on("unhandledRejection", onUnhandled);
  try {
    await play(world, tally);
  } catch (error) {
    failure = failureOf(error, world);
  } finally {
    process.off("unhandledRejection", onUnhandled);
  }
  const { blocks } = world.host.disk;
  if (options.onEvent) tell(blocks, options.onEvent);
  return {
    seed,
    steps: world.checker.turns,
    events: blocks.reduce((sum, { count }) => sum + count, 0),
    virtualMs: world.agenda.nowMs,
    tally,
    lines: blocks.map(({ line }) => line),
    failure,
  };
}

async function play(world: World, tally: Tally): Promise<void> {
  const { agenda, host, checker, scenario } = world;
  const happen = async () => {
    agenda.advance();
    await everythingSettled();
    host.settle();
  };
  await everythingSettled();
  while (agenda.nowMs <= scenario.calmAtMs + LAST_SUBMISSION_MS) await happen();
  const deadlineMs = agenda.nowMs + longestMs(checker.model) + host.clockLagMs;
  while (!host.isIdle || !isSettled(checker.model)) {
    await happen();
    if (agenda.nowMs > deadlineMs) failLiveness(checker.model, host.state);
  }
  countStuck(checker.model, tally);
  await checker.atEnd(host.disk, host.state);
}

/**
 * All promises that could go on have gone on. Their order is that in which they were made, whatever the machine does;
 * a turn of the event loop, of which nothing else is asked, comes after the last of them.
 */
function everythingSettled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function tell(blocks: readonly Block[], onEvent: NonNullable<SimulateOptions["onEvent"]>): void {
  for (const { line, seq, now } of blocks) {
    const { events } = JSON.parse(line) as { events: unknown[] };
    for (const [at, event] of events.entries()) onEvent(seq + at, now, JSON.stringify(event));
  }
}

/** Submissions that were refused have been tried again by then. */
const LAST_SUBMISSION_MS = 25_000;

function failureOf(error: unknown, world: World): Failure {
  const step = world.checker.turns;
  if (error instanceof Violation) {
    const { invariant, message, about, stack } = error;
    return { invariant, detail: message, about, step, stack: stack ?? "" };
  }
  // The scheduler's own assertions, and any other exception in it, are failures of the seed too.
  const { name, message, stack } = error as Error;
  const invariant = error instanceof InvariantError ? "own-assertion" : `threw-${name}`;
  return { invariant, detail: message, about: {}, step, stack: stack ?? "" };
}
