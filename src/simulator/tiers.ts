import type { SchedulerConfig } from "../ledger/index.ts";

/** Whole tiers only, and no more than may be bought. */
export function tiersBought(boostMicros: number, config: SchedulerConfig): number {
  let tiers = 0;
  while (tiers < config.maxBoostTiers && (tiers + 1) * config.boostTierMicros <= boostMicros) tiers++;
  return tiers;
}

export function classOf(tier: number, waitsForOthers: boolean): number {
  if (tier <= 1) return 0;
  return tier === 2 || waitsForOthers ? 1 : 2;
}
