import { nodeOfKey, runOfKey, type TaskKey } from "../placement/index.ts";

/**
 * Ready nodes whose result may be known already, by what it is known under. What was looked up and not found is not looked
 * up again before something is put under its key, so that a turn costs nothing for those that wait.
 *
 * An index: it follows from the rest of the state.
 */
export class Seekers {
  readonly #keys = new Map<TaskKey, string>();
  readonly #tasks = new Map<string, Set<TaskKey>>();
  /** By run the nodes that are to be looked up. */
  readonly #fresh = new Map<number, Set<number>>();

  add(task: TaskKey, key: string): void {
    this.#keys.set(task, key);
    const tasks = this.#tasks.get(key);
    if (tasks) tasks.add(task);
    else this.#tasks.set(key, new Set([task]));
    this.#refresh(task);
  }

  delete(task: TaskKey): void {
    const key = this.#keys.get(task);
    if (key === undefined) return;
    this.#keys.delete(task);
    const tasks = this.#tasks.get(key);
    tasks?.delete(task);
    if (tasks?.size === 0) this.#tasks.delete(key);
    const fresh = this.#fresh.get(runOfKey(task));
    fresh?.delete(nodeOfKey(task));
    if (fresh?.size === 0) this.#fresh.delete(runOfKey(task));
  }

  /** Something is known under that key now. */
  wake(key: string): void {
    for (const task of this.#tasks.get(key) ?? []) this.#refresh(task);
  }

  /** The first run that has something to look up. */
  firstRun(): number | undefined {
    if (this.#fresh.size === 0) return undefined;
    let first: number | undefined;
    for (const run of this.#fresh.keys()) if (first === undefined || run < first) first = run;
    return first;
  }

  /** The nodes of a run to look up, ascending. */
  take(run: number): number[] {
    const fresh = this.#fresh.get(run);
    if (!fresh) return [];
    this.#fresh.delete(run);
    return [...fresh].sort((a, b) => a - b);
  }

  keyOf(task: TaskKey): string | undefined {
    return this.#keys.get(task);
  }

  #refresh(task: TaskKey): void {
    const fresh = this.#fresh.get(runOfKey(task));
    if (fresh) fresh.add(nodeOfKey(task));
    else this.#fresh.set(runOfKey(task), new Set([nodeOfKey(task)]));
  }
}
