export { type BatchReport, type SeedFailure, type SeenEvent, seedFailure, simulateSeeds } from "./batch.ts";
export { type Failure, type Outcome, type SimulateOptions, simulate } from "./simulate.ts";
export { BRANCHES, FAULTS, type Happening, Tally } from "./tally.ts";
