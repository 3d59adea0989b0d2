import { InvariantError } from "../core/index.ts";
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
export function simulate(seed: number, options: SimulateOptions = {}): Outcome {
  const tally = new Tally();
  const world = new World(new Random(seed, "root"), tally, options.onEvent);
  let failure: Failure | undefined;
  try {
    play(world, tally);
  } catch (error) {
    failure = failureOf(error, world);
  }
  const { blocks } = world.driver;
  return {
    seed,
    steps: world.driver.steps,
    events: blocks.reduce((sum, { count }) => sum + count, 0),
    virtualMs: world.agenda.nowMs,
    tally,
    lines: blocks.map(({ line }) => line),
    failure,
  };
}

function play(world: World, tally: Tally): void {
  const { agenda, driver, checker, scenario } = world;
  while (agenda.nowMs <= scenario.calmAtMs + LAST_SUBMISSION_MS) agenda.advance();
  const deadlineMs = agenda.nowMs + longestMs(checker.model) + driver.clockLagMs;
  while (driver.isBusy || !isSettled(checker.model)) {
    agenda.advance();
    if (agenda.nowMs > deadlineMs) failLiveness(checker.model, driver.state);
  }
  countStuck(checker.model, tally);
  checker.ledger.atEnd(checker.model, driver.blocks, driver.state);
}

/** Submissions that were refused have been tried again by then. */
const LAST_SUBMISSION_MS = 25_000;

function failureOf(error: unknown, world: World): Failure {
  const step = world.driver.steps;
  if (error instanceof Violation) {
    const { invariant, message, about, stack } = error;
    return { invariant, detail: message, about, step, stack: stack ?? "" };
  }
  // The scheduler's own assertions, and any other exception in it, are failures of the seed too.
  const { name, message, stack } = error as Error;
  const invariant = error instanceof InvariantError ? "own-assertion" : `threw-${name}`;
  return { invariant, detail: message, about: {}, step, stack: stack ?? "" };
}
