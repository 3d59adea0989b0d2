import { type TaskKey, taskKey } from "../placement/index.ts";
import type { Entry, Tier } from "../queue/index.ts";
import { isDemoted } from "./admission.ts";
import type { Group } from "./group.ts";
import { Lane } from "./lane.ts";
import type { State } from "./state.ts";
import type { Tasks } from "./tasks.ts";

/** A group and what it would give out next, at one moment: a lane is another when its first has been given out. */
export interface Offer {
  readonly group: Group;
  readonly demoted: boolean;
  readonly first: Entry;
  readonly node: number;
  readonly tier: Tier;
  /** It stands in no contest any more. */
  isGone: boolean;
  /** That it could start, when somebody last looked. */
  sight: Sight | undefined;
}

/** Some worker that could take it, by its number, when workers held so many tasks in all. */
export interface Sight {
  readonly taker: number;
  held: number;
}

/** What a group has to offer whose line is not empty. */
export function offerOf(state: State, group: Group, now: number): Offer {
  return nextOffer(group, isDemoted(state, group, now), now) as Offer;
}

export function nextOffer(group: Group, demoted: boolean, now: number): Offer | undefined {
  const first = group.line.first(now, demoted);
  if (!first) return undefined;
  const { node, tier } = first;
  return { group, demoted, first, node, tier, isGone: false, sight: undefined };
}

/** An entry of a line is a task of no run, or the lane whose first node it stands for. */
export function tasksOf(state: State, entry: Entry): Tasks {
  return entry instanceof Lane ? entry.run : state.singles;
}

export function keyOf(state: State, { first, node }: Offer): TaskKey {
  return taskKey(tasksOf(state, first).number, node);
}
