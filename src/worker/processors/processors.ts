import type { ChunkKind } from "../../protocol/index.ts";
import type { Handler } from "../handler.ts";
import { PermanentError } from "../permanent-error.ts";
import { marksOf, type ProcessorName } from "./marks.ts";
import { Thread, type ThreadTask } from "./thread.ts";

/** Where a handler may run, and which thread is next. */
export class Processors {
  readonly #limit: number;
  /** In the order in which they take turns; made when they are first needed. */
  readonly #threads: (Thread | undefined)[];
  #next = 0;

  constructor(threads: number) {
    this.#limit = threads;
    this.#threads = Array.from({ length: threads });
  }

  /** The node's own word goes first, then the function's, then the rule of its file. */
  choose(
    handler: Handler,
    asked: ProcessorName | undefined,
    kindsOf: () => readonly ChunkKind[],
  ): ProcessorName {
    if (this.#limit === 0 || handler.isBound || !handler.origin) return "main";
    return asked ?? marksOf(handler).processor ?? ruled(handler.origin, kindsOf) ?? "main";
  }

  /** The same handler, on the next of those threads that have least to do. */
  onThread(
    handler: Handler,
  ): (invocation: ThreadTask["invocation"], context: Parameters<Thread["run"]>[1]) => Promise<unknown> {
    const { file, name } = handler.origin as NonNullable<Handler["origin"]>;
    return (invocation, context) => this.#pick().run({ file, name, invocation }, context);
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.flatMap((thread) => (thread ? [thread.end()] : [])));
  }

  #pick(): Thread {
    let best = this.#next;
    for (let step = 1; step < this.#limit && this.#loadAt(best) > 0; step++) {
      const at = (this.#next + step) % this.#limit;
      if (this.#loadAt(at) < this.#loadAt(best)) best = at;
    }
    this.#next = (best + 1) % this.#limit;
    const found = this.#threads[best];
    if (found && !found.isOver) return found;
    const made = new Thread();
    this.#threads[best] = made;
    return made;
  }

  #loadAt(at: number): number {
    const thread = this.#threads[at];
    return thread && !thread.isOver ? thread.load : 0;
  }
}

function ruled(
  { name, rule }: NonNullable<Handler["origin"]>,
  kindsOf: () => readonly ChunkKind[],
): ProcessorName | undefined {
  const said: unknown = rule?.(name, kindsOf());
  if (said === undefined || said === "main" || said === "thread") return said;
  throw new PermanentError(
    `processors(${JSON.stringify(name)}, …) of the tasks file returned ${String(said)}; return "main", "thread" or nothing`,
    { code: "bad-processor" },
  );
}
