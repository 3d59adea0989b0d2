import { Cancelled, Deadlock } from "./errors.ts";
import type { Kernel } from "./kernel.ts";
import type { NurseryCore } from "./nursery-core.ts";
import { EXHAUSTED, FAILED } from "./states.ts";

/** How many of those who wait are named. */
const NAMED = 20;
/** How often a fiber that goes on waiting is told. */
const TRIES = 8;

/** Who waits for what, of one thread. */
export interface Waits {
  readonly named: readonly string[];
  readonly total: number;
}

/**
 * Nothing can run, no timer is set and no promise awaited: whoever still waits would wait forever. Those that ran out of
 * budget fail with that. If there are none it is a deadlock, and all roots fail with who waits for what.
 */
export function settleStall(kernel: Kernel): boolean {
  if (kernel.table.alive === 0) return false;
  const exhausted = failExhausted(kernel);
  // What is left of them is to be recharged from outside.
  return exhausted ?? failAll(kernel, [waitsOf(kernel)]);
}

/** Fails who ran out of budget, but for fibers of other threads. Whether any did; undefined where nobody had run out. */
export function failExhausted(kernel: Kernel): boolean | undefined {
  const { table, exhaustions, root, tops } = kernel;
  const nurseries = new Set<NurseryCore>();
  let any = false;
  for (const slot of aliveSlots(kernel)) {
    if (table.state[slot] !== EXHAUSTED) continue;
    any = true;
    const core = table.nurseryOf(slot);
    if (core === root || !tops.includes(core)) nurseries.add(core);
  }
  let failed = false;
  for (const core of nurseries) failed = exhaustions.failStalled(core) || failed;
  return any ? failed : undefined;
}

/** Fails all roots because everything is blocked. */
export function failAll(kernel: Kernel, waits: readonly Waits[]): boolean {
  const named = waits.flatMap((one) => one.named).slice(0, NAMED);
  const total = waits.reduce((sum, one) => sum + one.total, 0);
  return failRoots(kernel, new Deadlock(named, total));
}

export function* aliveSlots({ table }: Kernel): Generator<number> {
  for (let slot = 0; slot < table.used; slot++) if (table.fiber[slot] !== undefined) yield slot;
}

export function waitsOf(kernel: Kernel): Waits {
  const named: string[] = [];
  let total = 0;
  for (const slot of aliveSlots(kernel)) {
    const pending = kernel.table.pending[slot];
    if (pending === undefined) continue;
    total++;
    if (named.length < NAMED) named.push(`fiber ${kernel.table.idOf(slot)} waits for ${pending.describe()}`);
  }
  return { named, total };
}

function failRoots(kernel: Kernel, deadlock: Deadlock): boolean {
  let any = false;
  for (const { first } of kernel.tops)
    for (let slot = first; slot >= 0; slot = kernel.table.next[slot] as number)
      any = failTop(kernel, slot, deadlock) || any;
  return any;
}

function failTop(kernel: Kernel, slot: number, deadlock: Deadlock): boolean {
  let core = kernel.table.opened[slot];
  while (core?.below) core = core.below;
  if (core === undefined) return failBlocked(kernel, slot, deadlock);
  if (core.state === "Cancelling" || core.isOver) return false;
  core.note(FAILED, deadlock);
  kernel.cancellation.cancelNursery(
    core,
    new Cancelled("everything is blocked", "NurseryCancelled", { cause: deadlock }),
  );
  return true;
}

/** For fibers of other threads, which need not have opened a nursery. */
function failBlocked(kernel: Kernel, slot: number, deadlock: Deadlock): boolean {
  const { table } = kernel;
  const pending = table.pending[slot];
  if (pending === undefined || pending.shielded) return false;
  if (++(table.forced[slot] as number) > TRIES) {
    kernel.cancel(slot);
    return true;
  }
  pending.abandon();
  kernel.throwInto(slot, deadlock);
  kernel.wake(slot);
  return true;
}
