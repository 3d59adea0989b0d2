import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** A small part of what V8 lets lie by itself, which is tens of megabytes; to collect what is young takes some 0.2 ms. */
const BYTES = 2 * 1024 * 1024;

type Collect = (options: { readonly type: "minor" }) => void;

let collect: Collect | undefined;
let inUse = 0;

/**
 * Between functions that make and get large values: frees those that nobody refers to any more, once they may be so many bytes. Left to
 * lie, they would take as much memory again as what is kept, and glibc, from which they come, gives back little of what it once had.
 */
export function collectLargeGarbage(): void {
  const now = getHeapStatistics().external_memory;
  if (now < inUse + BYTES) {
    inUse = Math.min(inUse, now);
    return;
  }
  collect ??= findCollector();
  collect?.({ type: "minor" });
  inUse = getHeapStatistics().external_memory;
}

/**
 * V8 shows it only to contexts that are made while it is told to, so that nobody else in this process sees it. The flag is the whole
 * process's: another thread that looks too may take it back in between, and then there is none until the next time.
 */
function findCollector(): Collect | undefined {
  setFlagsFromString("--expose-gc");
  const found = runInNewContext("globalThis.gc") as Collect | undefined;
  setFlagsFromString("--no-expose-gc");
  return found;
}
