import { type AttemptName, type GivenInput, type MissingCopy, nameOf } from "./messages.ts";
import { type DataWeather, isRotten } from "./random-data.ts";

/** The results that a worker process has: made there, or brought there. */
export class SimChunks {
  readonly #here = new Set<string>();
  readonly #data: DataWeather | undefined;

  constructor(data: DataWeather | undefined) {
    this.#data = data;
  }

  add(chunk: AttemptName): void {
    this.#here.add(nameOf(chunk));
  }

  free(chunks: readonly AttemptName[]): void {
    for (const chunk of chunks) this.#here.delete(nameOf(chunk));
  }

  clear(): void {
    this.#here.clear();
  }

  has(chunk: AttemptName): boolean {
    return this.#here.has(nameOf(chunk));
  }

  /** Whether it is there, and what it should be. */
  gives(chunk: AttemptName): boolean {
    return this.has(chunk) && !(this.#data && isRotten(this.#data, chunk));
  }
}

export type Gathered =
  | { readonly is: "here" }
  /** A worker makes it, and has not finished. */
  | { readonly is: "to come" }
  /** It was to be made here, and is not. */
  | { readonly is: "never" }
  | { readonly is: "missing"; readonly missing: readonly MissingCopy[] };

export interface Gathering {
  readonly self: string;
  readonly chunks: SimChunks;
  /** Whether an attempt that this worker was given has ended there, or never came. */
  isOver(chunk: AttemptName): boolean;
  fetch(from: string, chunk: AttemptName): boolean;
}

/** Brings the inputs of an attempt to its worker, as far as that is possible now. */
export function gather(inputs: readonly GivenInput[], by: Gathering): Gathered {
  const missing: MissingCopy[] = [];
  let worst: Gathered = { is: "here" };
  for (const { chunk, isStored, at } of inputs) {
    if (isStored) continue;
    if (at.length === 0) {
      if (by.chunks.has(chunk)) continue;
      if (by.isOver(chunk)) return { is: "never" };
      worst = { is: "to come" };
    } else if (by.chunks.gives(chunk) || at.some((from) => from !== by.self && by.fetch(from, chunk)))
      by.chunks.add(chunk);
    else for (const worker of at) missing.push({ chunk, worker });
  }
  return missing.length > 0 ? { is: "missing", missing } : worst;
}
