import { aboutOf } from "../../driver/index.ts";
import { apply, type State } from "../../scheduler/index.ts";
import { RecentAttempts } from "../recent-attempts.ts";
import type { Checkpoints } from "./checkpoints.ts";
import type { Chronicle } from "./chronicle.ts";

/** How far back what workers did is followed, in events and in time; what is before that is not told. */
const TRAIL_EVENTS = 10_000;
const TRAIL_MS = 310_000;
/** All of them. */
const REMEMBERED = TRAIL_EVENTS;

interface Trail {
  readonly state: State;
  readonly attempts: RecentAttempts;
  readonly since: number;
}

/** What workers did lately, as of any event: followed from a while before it. */
export class AttemptTrail {
  readonly #chronicle: Chronicle;
  readonly #checkpoints: Checkpoints;
  #trail: Trail | undefined;

  constructor(chronicle: Chronicle, checkpoints: Checkpoints) {
    this.#chronicle = chronicle;
    this.#checkpoints = checkpoints;
  }

  at(seq: number): RecentAttempts {
    const { state, attempts } = this.#trailTo(seq);
    for (const { event, now } of this.#chronicle.between(state.seq, seq)) {
      const fact = { seq: state.seq + 1, now: state.timeOfDay(now), event, about: aboutOf(state, event) };
      apply(state, event, now);
      attempts.follow([fact]);
    }
    return attempts;
  }

  /** The one that there is, where it leads there and is not too long. */
  #trailTo(seq: number): Trail {
    const trail = this.#trail;
    if (trail && trail.state.seq <= seq && seq - trail.since <= 2 * TRAIL_EVENTS) return trail;
    const longAgo = this.#chronicle.lastAt(this.#chronicle.timeOf(seq) - TRAIL_MS);
    const state = this.#checkpoints.stateBefore(Math.max(longAgo, seq - TRAIL_EVENTS, 0));
    this.#trail = { state, attempts: new RecentAttempts({ state }, REMEMBERED), since: state.seq };
    return this.#trail;
  }
}
