import { type Budget, CLUSTER_BUDGET, NOTHING, SERVICE_BUDGET } from "./budget.ts";

export type ProfileName = "core" | "service" | "cluster" | "sovereign";

export interface Profile {
  readonly name: ProfileName;
  /** Whether there is a scheduler at all. */
  readonly spawns: boolean;
  /** Whether capabilities are given without being asked for. */
  readonly implicit: boolean;
  /** Whether fibers may watch over those that ran out of budget, and recharge them. */
  readonly supervises: boolean;
  /** What a root gets that says nothing of its budget. */
  readonly budget: Budget;
  readonly yieldInterval: number;
}

export const PROFILES: Readonly<Record<ProfileName, Profile>> = {
  core: {
    name: "core",
    spawns: false,
    implicit: false,
    supervises: false,
    budget: NOTHING,
    yieldInterval: 1_024,
  },
  service: {
    name: "service",
    spawns: true,
    implicit: true,
    supervises: false,
    budget: SERVICE_BUDGET,
    yieldInterval: 1_024,
  },
  cluster: {
    name: "cluster",
    spawns: true,
    implicit: true,
    supervises: true,
    budget: CLUSTER_BUDGET,
    yieldInterval: 512,
  },
  sovereign: {
    name: "sovereign",
    spawns: true,
    implicit: false,
    supervises: true,
    budget: SERVICE_BUDGET,
    yieldInterval: 1_024,
  },
};
