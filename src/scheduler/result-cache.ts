import { sha256Hex } from "../core/index.ts";
import type { Run } from "./run.ts";

/** A result that can be used again: stored with its task, or kept by workers. */
export interface CachedResult {
  readonly taskId: string;
  readonly resultHash: string;
  readonly resultBytes: number;
  /** When it was made, or last used. */
  readonly at: number;
  readonly held?: KeptCopies;
}

/** What workers keep for whoever may use it again, beside what they keep for runs. */
export interface KeptCopies {
  readonly zone: string;
  /** What workers know it by. */
  readonly chunk: string;
  /** The run whose token gives it out. */
  readonly rootId: string;
  /** By number. */
  readonly holders: readonly number[];
}

type KeptResult = CachedResult & Required<Pick<CachedResult, "held">>;

const MAX_ENTRIES = 10_000;
/** What nobody has used for so long is forgotten, before what is stored with its task can be. */
const MAX_AGE_MS = 20 * 3_600_000;

/** Results by what they were made from (D-03): the least recently used go first. */
export class ResultCache {
  readonly #stored = new Map<string, CachedResult>();
  readonly #kept = new Map<string, KeptResult>();
  #keptBytes = 0;

  /** What workers keep stays until it is evicted, whatever is made in its place. */
  put(key: string, result: CachedResult): void {
    if (this.#kept.has(key)) return;
    if (isKept(result)) {
      this.#stored.delete(key);
      this.#keep(key, result);
      return;
    }
    this.#stored.delete(key);
    this.#stored.set(key, result);
    const [oldest] = this.#stored.keys();
    if (this.#stored.size > MAX_ENTRIES && oldest !== undefined) this.#stored.delete(oldest);
  }

  find(key: string, now: number): CachedResult | undefined {
    const found = this.#kept.get(key) ?? this.#stored.get(key);
    return found && now - found.at <= MAX_AGE_MS ? found : undefined;
  }

  /** It was used: others go before it. */
  use(key: string, at: number): void {
    const kept = this.#kept.get(key);
    if (!kept) return;
    this.#kept.delete(key);
    this.#kept.set(key, { ...kept, at });
  }

  /** Of what workers keep beyond so many bytes, or for too long, what was used longest ago. */
  excess(maxBytes: number, now: number): { readonly key: string; readonly zone: string } | undefined {
    if (this.#kept.size === 0) return undefined;
    const [oldest] = this.#kept;
    if (!oldest) return undefined;
    const [key, { held, at }] = oldest;
    const isFull = this.#keptBytes > maxBytes || this.#kept.size > MAX_ENTRIES;
    return isFull || now - at > MAX_AGE_MS ? { key, zone: held.zone } : undefined;
  }

  /** The copies that workers keep of it. */
  keptAs(key: string): KeptCopies | undefined {
    return this.#kept.get(key)?.held;
  }

  evict(key: string): void {
    const kept = this.#kept.get(key);
    if (!kept) return;
    this.#kept.delete(key);
    this.#keptBytes -= kept.resultBytes;
  }

  isKeptBy(worker: number, chunk: string): boolean {
    for (const { held } of this.#kept.values())
      if (held.chunk === chunk && held.holders.includes(worker)) return true;
    return false;
  }

  /** A worker does not have it any more. */
  drop(chunk: string, worker: number): void {
    for (const [key, { held }] of this.#kept) if (held.chunk === chunk) this.#drop(key, worker);
  }

  /** A worker is gone, with all that it kept. */
  dropWorker(worker: number): void {
    for (const key of [...this.#kept.keys()]) this.#drop(key, worker);
  }

  toSnapshot(): readonly (readonly [key: string, result: CachedResult])[] {
    return [...this.#stored, ...this.#kept];
  }

  restore(saved: ReturnType<ResultCache["toSnapshot"]>): void {
    for (const [key, result] of saved)
      if (isKept(result)) this.#keep(key, result);
      else this.#stored.set(key, result);
  }

  #keep(key: string, result: KeptResult): void {
    this.#kept.set(key, result);
    this.#keptBytes += result.resultBytes;
  }

  #drop(key: string, worker: number): void {
    const kept = this.#kept.get(key);
    if (!kept?.held.holders.includes(worker)) return;
    const holders = kept.held.holders.filter((holder) => holder !== worker);
    // Its place among the others stays.
    if (holders.length > 0) this.#kept.set(key, { ...kept, held: { ...kept.held, holders } });
    else this.evict(key);
  }
}

function isKept(result: CachedResult): result is KeptResult {
  return result.held !== undefined;
}

/** What makes two nodes of a zone the same: their function, its version, their arguments and the contents of their inputs. */
export function cacheKeyOf(run: Run, node: number): string | undefined {
  const { type, cache } = run.taskOf(node);
  if (!cache || !run.data) return undefined;
  const inputs = Array.from(run.graph.inputsOf(node), (input) => run.data?.hashes.get(input));
  return sha256Hex(JSON.stringify([run.zone, type, cache, run.requestHashOf(node), inputs]));
}
