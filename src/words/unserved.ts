/** What is said where no worker could run a task, and how to start one that can. */

import { formatCount } from "./quantities.ts";
import { neutralise } from "./safe-text.ts";

interface Unserved {
  readonly executor: string;
  readonly type: string;
  /** What the workers of its executor know; undefined: there are none. */
  readonly known: ReadonlySet<string> | undefined;
}

/** Types that are named. */
const LISTED = 20;
/** What `orrery worker` serves where it is not told otherwise. */
const USUAL_EXECUTORS: ReadonlySet<string> = new Set(["default", "local"]);
/** Types that every worker knows. */
const BUILT_IN: ReadonlySet<string> = new Set(["noop", "sleep", "echo", "value"]);
/** The type of shell commands, which a worker runs only where it was told to. */
const SHELL = "command";

/** Nobody serves the executor, or nobody of it knows the type: what is so, and what to do. */
export function describeUnserved({ executor, type, known }: Unserved): string {
  const name = neutralise(executor);
  const start = `${workerCommand(executor, type)}${needsFile(type) ? `, with a FILE that exports ${neutralise(type)}` : ""}.`;
  if (known === undefined) return `No worker serves the executor ${name} in this zone. Start one: ${start}`;
  const listed = [...known].sort().slice(0, LISTED).map(neutralise).join(", ");
  const more = known.size > LISTED ? ` and ${formatCount(known.size - LISTED)} more` : "";
  return `No worker of the executor ${name} knows the task type ${neutralise(type)}; those that are there know ${listed || "none"}${more}. Start one that does: ${start}`;
}

/** How a worker is started, for an executor and a type where these are known. */
export function workerCommand(executor = "default", type?: string): string {
  const serving = USUAL_EXECUTORS.has(executor) ? "" : ` --executor ${quoted(neutralise(executor))}`;
  const knowing = type === SHELL ? " --shell" : needsFile(type) ? " --tasks FILE" : "";
  return `orrery worker${serving}${knowing}`;
}

function needsFile(type: string | undefined): boolean {
  return type === undefined || (type !== SHELL && !BUILT_IN.has(type));
}

/** As a shell takes it for one word. */
function quoted(name: string): string {
  return /^[\w.:@%+/-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}
