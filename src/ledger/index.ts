export { type Block, BlockWriter, GENESIS, type Head, headOf } from "./block.ts";
export { decodeEvent, encodeEvent, isDecision } from "./codec.ts";
export * from "./events.ts";
export { ChainVerifier, type Damage } from "./verify.ts";
