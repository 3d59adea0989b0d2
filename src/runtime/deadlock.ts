import { Cancelled, Deadlock } from "./errors.ts";
import type { Kernel } from "./kernel.ts";
import type { NurseryCore } from "./nursery-core.ts";
import { EXHAUSTED, FAILED } from "./states.ts";

/** How many of those who wait are named. */
const NAMED = 20;
/** How often a fiber that goes on waiting is told. */
const TRIES = 8;

/**
 * Nothing can run, no timer is set and no promise awaited: whoever still waits would wait forever. Those that ran out of
 * budget fail with that. If there are none it is a deadlock, and all roots fail with who waits for what.
 */
export function settleStall(kernel: Kernel): boolean {
  const { table, exhaustions } = kernel;
  if (table.alive === 0) return false;
  const nurseries = new Set<NurseryCore>();
  let exhausted = false;
  for (const slot of aliveSlots(kernel)) {
    if (table.state[slot] !== EXHAUSTED) continue;
    exhausted = true;
    nurseries.add(table.nurseryOf(slot));
  }
  let failed = false;
  for (const core of nurseries) failed = exhaustions.failStalled(core) || failed;
  // What is left of them is to be recharged from outside.
  if (failed || exhausted) return failed;
  return failRoots(kernel, describeWaits(kernel));
}

export function* aliveSlots({ table }: Kernel): Generator<number> {
  for (let slot = 0; slot < table.used; slot++) if (table.fiber[slot] !== undefined) yield slot;
}

function describeWaits(kernel: Kernel): Deadlock {
  const waits: string[] = [];
  let total = 0;
  for (const slot of aliveSlots(kernel)) {
    const pending = kernel.table.pending[slot];
    if (pending === undefined) continue;
    total++;
    if (waits.length < NAMED) waits.push(`fiber ${kernel.table.idOf(slot)} waits for ${pending.describe()}`);
  }
  return new Deadlock(waits, total);
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
