export * from "./bitset.ts";
export { canonicalJson } from "./canonical.ts";
export { crc32, hash32, mix32, sha256Hex } from "./hash.ts";
export { Heap } from "./heap.ts";
export { alternativeIdOf, compareText, derivedUuid, expansionIdOf, taskIdOf } from "./ids.ts";
export { IndexHeap } from "./index-heap.ts";
export { InvariantError, invariant } from "./invariant.ts";
export { RecentMap } from "./recent-map.ts";
export { TimeIds } from "./time-ids.ts";
