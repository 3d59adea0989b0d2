import { lowestBit } from "../core/index.ts";
import type { TaskKey, Worker } from "../placement/index.ts";
import { isAdmitted } from "./admission.ts";
import type { Group, Pool } from "./group.ts";
import { keyOf, type Offer, type Sight } from "./offer.ts";
import type { State } from "./state.ts";

/** False: since no worker could take the pool's first task, none has got the room for it. */
export function mayBeMet({ fleet }: State, pool: Pool): boolean {
  fleet.settle();
  if (pool.blockedAt === -1 || pool.blockedAmong !== fleet.membership) return true;
  if (fleet.mayBeMet(pool.demand, pool.blockedAt)) return true;
  pool.blockedAt = fleet.relief;
  return false;
}

/** Leaves the workers that could take the task among the state's candidates, and says whether there is one. */
export function findTakers({ fleet, candidates }: State, pool: Pool, key: TaskKey): boolean {
  candidates.find(fleet, pool.demand, key);
  pool.blockedAt = candidates.count === 0 ? fleet.relief : -1;
  pool.blockedAmong = fleet.membership;
  return candidates.count > 0;
}

/**
 * Whether what is offered could start now, while workers and limits only get less room: what was found once holds until
 * something is given to the same worker, or to the same agent or under limits as well.
 */
export class Prospects {
  readonly #state: State;
  readonly #now: number;
  #lastGiven: Group | undefined;

  constructor(state: State, now: number) {
    this.#state = state;
    this.#now = now;
  }

  /** Something of the group was given to the worker that the fleet's cursor is at. */
  noteGiven(group: Group): void {
    this.#lastGiven = group;
  }

  canStart(offer: Offer): boolean {
    const { sight } = offer;
    if (sight && this.#holds(sight, offer.group)) {
      sight.held = this.#state.fleet.heldTotal;
      return true;
    }
    const state = this.#state;
    const { group } = offer;
    if (!mayBeMet(state, group.pool) || !isAdmitted(state, group, this.#now)) return false;
    if (!findTakers(state, group.pool, keyOf(state, offer))) return false;
    offer.sight = { taker: firstCandidate(state).number, held: state.fleet.heldTotal };
    return true;
  }

  /** Where alternatives of a node were given out it was more than one. */
  #holds({ taker, held }: Sight, { shareKey, limits }: Group): boolean {
    const { heldTotal, cursor } = this.#state.fleet;
    if (held === heldTotal) return true;
    if (held < heldTotal - 1 || cursor?.number === taker) return false;
    const last = this.#lastGiven as Group;
    return last.shareKey !== shareKey && (limits.length === 0 || last.limits.length === 0);
  }
}

function firstCandidate({ fleet, candidates }: State): Worker {
  const word = candidates.set.findIndex((bits) => bits !== 0);
  return fleet.sorted[32 * word + lowestBit(candidates.set[word] as number)] as Worker;
}
