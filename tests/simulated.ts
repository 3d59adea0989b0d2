// Ledgers that the simulator wrote, and the states on their way.

import { type Block, ChainVerifier } from "../src/ledger/index.ts";
import { replayBlock, State } from "../src/scheduler/index.ts";
import { simulate } from "../src/simulator/index.ts";

export async function simulatedBlocks(seed: number): Promise<Block[]> {
  const { lines, failure } = await simulate(seed);
  if (failure) throw new Error(`seed ${seed}: ${failure.detail}`);
  const chain = new ChainVerifier();
  return lines.map((line) => {
    const block = chain.accept(line);
    if (!("line" in block)) throw new Error(`seed ${seed}: ${JSON.stringify(block)}`);
    return block;
  });
}

export function stateAfter(blocks: readonly Block[]): State {
  const state = new State();
  for (const block of blocks) replayBlock(state, block);
  return state;
}
