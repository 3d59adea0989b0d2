import { sha256Hex } from "../core/index.ts";
import type { Run } from "./run.ts";

/** A result that can be used again: it is stored with its task. */
export interface CachedResult {
  readonly taskId: string;
  readonly resultHash: string;
  readonly resultBytes: number;
  /** When it was made, or last used. */
  readonly at: number;
}

const MAX_ENTRIES = 10_000;
/** What nobody has used for so long is forgotten, before what is stored with its task can be. */
const MAX_AGE_MS = 20 * 3_600_000;

/** Results by what they were made from (D-03): the least recently used go first. */
export class ResultCache {
  readonly #entries = new Map<string, CachedResult>();

  put(key: string, result: CachedResult): void {
    this.#entries.delete(key);
    this.#entries.set(key, result);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > MAX_ENTRIES && oldest !== undefined) this.#entries.delete(oldest);
  }

  find(key: string, now: number): CachedResult | undefined {
    const found = this.#entries.get(key);
    return found && now - found.at <= MAX_AGE_MS ? found : undefined;
  }

  toSnapshot(): readonly (readonly [key: string, result: CachedResult])[] {
    return [...this.#entries];
  }

  restore(saved: ReturnType<ResultCache["toSnapshot"]>): void {
    for (const [key, result] of saved) this.#entries.set(key, result);
  }
}

/** What makes two nodes of a zone the same: their function, its version, their arguments and the contents of their inputs. */
export function cacheKeyOf(run: Run, node: number): string | undefined {
  const { type, cache } = run.taskOf(node);
  if (!cache || !run.data) return undefined;
  const inputs = Array.from(run.graph.inputsOf(node), (input) => run.data?.hashes.get(input));
  return sha256Hex(JSON.stringify([run.zone, type, cache, run.requestHashOf(node), inputs]));
}
