import { compareText } from "../core/index.ts";
import { classAt, effectiveTier } from "./classes.ts";
import type { QueueConfig } from "./config.ts";
import type { Entry } from "./entry.ts";
import { compareRatios } from "./response-ratio.ts";

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

function hrrnOrder(a: Entry, b: Entry, now: number): number {
  return compareRatios(a.readyAt, a.estimateMs, b.readyAt, b.estimateMs, now) || byAge(a, b);
}

function byAge(a: Entry, b: Entry): number {
  return a.readyAt - b.readyAt || compareText(a.id, b.id);
}

function graphOrder(a: Entry, b: Entry): number {
  return (
    a.tier - b.tier ||
    a.seq - b.seq ||
    a.standing - b.standing ||
    b.weight - a.weight ||
    a.readyAt - b.readyAt ||
    a.node - b.node ||
    compareText(a.id, b.id)
  );
}
