import { setTimeout as sleep } from "node:timers/promises";
import { Follower } from "../driver/index.ts";
import { isAway, type Leadership, type ServiceStore, StoreError } from "../store/index.ts";
import { Lookout } from "./lookout.ts";
import { Term } from "./term.ts";

/** After how much silence a leader counts as dead. */
export const LEASE_MS = 3_000;

export interface Candidacy {
  readonly store: ServiceStore;
  readonly as: Pick<Leadership, "holder" | "url">;
  /** Whether other processes can have the same store open. Where not, there is nobody to wait for. */
  readonly isShared: boolean;
  readonly leaseMs: number;
  /** Lets others lead first, for a lease: it has just stepped down. */
  readonly standsBack?: boolean;
  readonly onSeen?: (seen: Leadership) => void;
  /** Told whenever it has applied all that was committed when it looked, and whether whoever leads is known to live. */
  readonly onFollowed?: (seq: number, isAlive: boolean) => void;
  readonly signal?: AbortSignal;
}

/**
 * Follows the leader until it is gone, then leads: its state is warm, so that taking over means to swap the epoch and
 * apply the last blocks. A wrong guess that the leader is dead only fails the swap, or deposes one that was silent for
 * a lease, whose late commits are refused. Undefined: the signal came first.
 */
export async function untilLeading(candidacy: Candidacy): Promise<Term | undefined> {
  const { store, leaseMs, onSeen = () => {}, onFollowed = () => {}, signal } = candidacy;
  using lookout = new Lookout({ store, leaseMs, onSeen });
  const standsBackUntilMs = candidacy.standsBack ? performance.now() + leaseMs : 0;
  let follower: Follower | undefined;
  while (!signal?.aborted) {
    const { seen } = lookout;
    try {
      follower ??= await Follower.open(store);
      if (seen) {
        await follower.catchUp(seen.seq);
        onFollowed(follower.head.seq, lookout.isAlive);
        if (isFree(seen, candidacy, lookout.patienceMs) && performance.now() >= standsBackUntilMs) {
          const term = await tryToLead(candidacy, seen, follower);
          if (term) return term;
        }
      }
    } catch (error) {
      if (!isAway(error)) throw error;
    }
    const pauseMs = Math.max(10, Math.min(leaseMs / 12, lookout.patienceMs));
    await sleep(seen ? pauseMs : 10, undefined, { ...(signal && { signal }) }).catch(() => {});
  }
  return undefined;
}

/** For a process that cannot follow: leads if nobody does, waits for one that may be dead, and refuses if it lives. */
export async function leadOrRefuse(candidacy: Candidacy): Promise<Term> {
  const refused = new AbortController();
  let first: Leadership | undefined;
  let alive: Leadership | undefined;
  const onSeen = (seen: Leadership) => {
    first ??= seen;
    const hasMoved = seen.beat !== first.beat || seen.seq !== first.seq;
    if (!candidacy.isShared || seen.holder === "" || seen.holder === candidacy.as.holder || !hasMoved) return;
    alive = seen;
    refused.abort();
  };
  const term = await untilLeading({ ...candidacy, onSeen, signal: refused.signal });
  if (term) return term;
  const where = alive?.url ? ` at ${alive.url}` : "";
  throw new StoreError(
    "locked",
    `${alive?.holder}${where} leads this store: stop it first, use it as a client, or choose another store`,
  );
}

function isFree({ holder }: Leadership, { isShared, as }: Candidacy, patienceMs: number): boolean {
  return !isShared || holder === "" || holder === as.holder || patienceMs <= 0;
}

async function tryToLead(
  { store, as, isShared, leaseMs }: Candidacy,
  seen: Leadership,
  follower: Follower,
): Promise<Term | undefined> {
  const wonAtMs = performance.now();
  const lease = isShared ? leaseMs : undefined;
  if (!(await store.lead(seen, { ...as, leaseMs: lease }))) return undefined;
  const { epoch, seq } = store.head;
  const term = new Term({ store, epoch, follower, wonAtMs, leaseMs: lease });
  await follower.catchUp(seq);
  return term;
}
