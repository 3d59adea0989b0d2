import type { EventData } from "../../../src/protocol/api-schemas.ts";

/** Which events may change what a query looked at, by the query's kind. What is not here changes by no event. */
const TOUCHED_BY: Readonly<Record<string, "any" | "task" | "run">> = {
  overview: "any",
  tasks: "any",
  workers: "any",
  attempts: "any",
  queues: "any",
  agents: "any",
  limits: "any",
  runs: "any",
  // Why a task waits depends on all others.
  why: "any",
  task: "task",
  history: "task",
  log: "task",
  run: "run",
  "run-nodes": "run",
  "run-node": "run",
};

/** What happened since it was asked last. */
export class Touched {
  #tasks = new Set<string>();
  #runs = new Set<string>();
  #isAny = false;

  add({ task_id, run_id }: EventData): void {
    this.#isAny = true;
    if (task_id !== null) this.#tasks.add(task_id);
    if (run_id !== null) this.#runs.add(run_id);
  }

  get isEmpty(): boolean {
    return !this.#isAny;
  }

  clear(): void {
    this.#tasks = new Set();
    this.#runs = new Set();
    this.#isAny = false;
  }

  /** By a query's key: its kind, and what it asked for. */
  concerns([kind, what]: readonly unknown[]): boolean {
    const by = TOUCHED_BY[String(kind)];
    const id = (what as { id?: string } | undefined)?.id ?? "";
    if (by === "task") return this.#tasks.has(id);
    return by === "run" ? this.#runs.has(id) : by === "any" && this.#isAny;
  }
}
