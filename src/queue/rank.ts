import { compareText } from "../core/index.ts";
import { classAt, effectiveTier } from "./classes.ts";
import type { QueueConfig } from "./config.ts";
import type { Entry } from "./entry.ts";
import { compareProducts } from "./exact-product.ts";

/**
 * Whether a goes before b at this moment: the total order that every line hands its entries out in. Two lines
 * are merged by it, so what demotes an agent is given for each side.
 */
export function goesBefore(
  a: Entry,
  aDemoted: boolean,
  b: Entry,
  bDemoted: boolean,
  now: number,
  config: QueueConfig,
): boolean {
  switch (config.order) {
    case "graph":
      return graphOrder(a, b) < 0;
    case "hrrn":
      return (
        (classAt(a, now, aDemoted, config) - classAt(b, now, bDemoted, config) || hrrnOrder(a, b, now)) < 0
      );
    case "classic":
      return (effectiveTier(a, now, config) - effectiveTier(b, now, config) || byAge(a, b)) < 0;
  }
}

/**
 * Higher (wait + estimate) / estimate first, which is higher wait / estimate, compared without dividing:
 * two quotients can round to the same double and still differ.
 */
export function hrrnOrder(a: Entry, b: Entry, now: number): number {
  return (
    compareProducts(now - b.readyAt, a.estimateMs, now - a.readyAt, b.estimateMs) ||
    a.readyAt - b.readyAt ||
    compareText(a.id, b.id)
  );
}

function byAge(a: Entry, b: Entry): number {
  return a.readyAt - b.readyAt || compareText(a.id, b.id);
}

function graphOrder(a: Entry, b: Entry): number {
  return (
    a.tier - b.tier ||
    a.seq - b.seq ||
    b.holdsUpMs - a.holdsUpMs ||
    a.node - b.node ||
    compareText(a.id, b.id)
  );
}
