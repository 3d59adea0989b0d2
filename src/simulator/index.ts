export { type BatchReport, type SeedFailure, seedFailure, simulateSeeds } from "./batch.ts";
export { type Outcome, simulate } from "./simulate.ts";
export { BRANCHES, FAULTS } from "./tally.ts";
