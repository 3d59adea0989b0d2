import type { KeyedTask, ServiceStore } from "../store/index.ts";
import type { Attachment } from "./attachment.ts";
import { MAX_IN_FLIGHT } from "./in-flight.ts";
import type { Repeat } from "./request.ts";

/** Finds what requests repeat: submissions under a key that was used, and tasks that were put back already. */
export class Repeats {
  readonly #store: Pick<ServiceStore, "keyed" | "task">;
  /** Keys by turn, the latest last: that of the one that is being decided, and of those that may not be stored yet. */
  #newKeys = [new Map<string, Repeat>()];

  constructor(store: Pick<ServiceStore, "keyed" | "task">) {
    this.#store = store;
  }

  /** For the requests of a turn, which begins with this. */
  async among(attached: readonly (Attachment | undefined)[]): Promise<readonly (Repeat | undefined)[]> {
    // Another turn is only decided while there is room in flight: the store, which is asked after this, knows the rest.
    if (this.#newKeys.push(new Map()) > MAX_IN_FLIGHT) this.#newKeys.shift();
    if (!attached.some(mayRepeat)) return [];
    const known = await this.#knownKeys(attached);
    const repeats: (Repeat | undefined)[] = [];
    for (const [of, one] of attached.entries()) {
      if (one?.type === "requeue") repeats.push(await this.#requeuedBefore(one.taskId, one.seq));
      else repeats.push(one?.type === "task" && one.key ? repeatOf(known, one.key, of) : undefined);
    }
    return repeats;
  }

  /** Forgets the keys of turns that were not committed. Only called while no turn is in flight. */
  reset(): void {
    this.#newKeys = [new Map<string, Repeat>()];
  }

  /** A task of this turn came under a key. */
  note(key: KeyedTask): void {
    const { taskId, bodyHash } = key;
    this.#newKeys.at(-1)?.set(textOf(key), { taskId, bodyHash, of: undefined });
  }

  async #knownKeys(attached: readonly (Attachment | undefined)[]): Promise<Map<string, Repeat>> {
    const keys = attached.flatMap((one) => (one?.type === "task" && one.key ? [one.key] : []));
    const known = new Map(this.#newKeys.flatMap((turn) => [...turn]));
    for (const found of keys.length > 0 ? await this.#store.keyed(keys) : []) {
      known.set(textOf(found), { taskId: found.taskId, bodyHash: found.bodyHash, of: undefined });
    }
    return known;
  }

  /** Looked at between two turns: a task that ended again meanwhile has had attempts that the request does not know of. */
  async #requeuedBefore(taskId: string, seq: number): Promise<Repeat | undefined> {
    const row = await this.#store.task(taskId);
    return row?.seq === seq ? undefined : { taskId, bodyHash: "", of: undefined };
  }
}

function mayRepeat(attached: Attachment | undefined): boolean {
  return attached?.type === "requeue" || (attached?.type === "task" && attached.key !== undefined);
}

/** The first of a key in a turn is what the others repeat. */
function repeatOf(known: Map<string, Repeat>, key: KeyedTask, of: number): Repeat | undefined {
  const text = textOf(key);
  const repeat = known.get(text);
  if (!repeat) known.set(text, { taskId: key.taskId, bodyHash: key.bodyHash, of });
  return repeat;
}

function textOf({ zone, agent, key }: { zone: string; agent: string; key: string }): string {
  return JSON.stringify([zone, agent, key]);
}
