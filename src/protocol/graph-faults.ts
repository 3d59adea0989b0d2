import { findGraphProblems, type GraphProblem } from "../graph/index.ts";
import type { Entries, Entry } from "./entries.ts";
import { duplicateId, type Faults, type Path } from "./faults.ts";
import type { FileNode } from "./file-node.ts";
import { isMapping } from "./node-settings.ts";
import { closest } from "./suggestion.ts";

const MAX_CYCLES_NAMED = 10;
/** Of one cycle. */
const MAX_NODES_NAMED = 50;

/** Comparing misspelt ids with all others takes time that a large graph does not have. */
const MAX_NODES_FOR_SUGGESTIONS = 1000;

/** Says what is wrong between nodes, at the lines where the file says so. */
export function reportGraphProblems(
  nodes: readonly FileNode[],
  entries: Entries,
  faults: Faults,
  isOutside: (id: string) => boolean = () => false,
): void {
  const specs = nodes.map((node) => node.spec);
  const problems = findGraphProblems(specs, { maxNodes: specs.length }).filter(
    (problem) => problem.code !== "unknown-need" || !isOutside(problem.need),
  );
  if (problems.length === 0) return;

  const report = new Report(entries, faults);
  for (const problem of ofCode(problems, "duplicate-id")) report.duplicate(problem.node);
  for (const { node } of ofCode(problems, "self-edge")) {
    report.atNeed(node, node, `node ${JSON.stringify(node)} needs itself; remove it from its own needs`);
  }
  for (const { node, need } of ofCode(problems, "unknown-need")) {
    const meant = faults.mayGuess ? report.closestId(need) : undefined;
    const mend =
      meant === undefined ? "add that node or remove the need" : `did you mean ${JSON.stringify(meant)}?`;
    report.atNeed(
      node,
      need,
      `node ${JSON.stringify(node)} needs ${JSON.stringify(need)}, which is not in the file; ${mend}`,
    );
  }
  const cycles = ofCode(problems, "cycle");
  for (const { nodes: cycle } of cycles.slice(0, MAX_CYCLES_NAMED)) {
    const [first = "", second = ""] = cycle;
    const unnamed = cycle.length - MAX_NODES_NAMED;
    const named = cycle.slice(0, MAX_NODES_NAMED);
    const circle = [...named, ...(unnamed > 0 ? [`(${unnamed} more)`] : []), first].join(" → ");
    report.atNeed(
      first,
      second,
      `needs run in a circle, each node needing the next: ${circle}; remove one of them`,
    );
  }
  const unnamed = cycles.length - MAX_CYCLES_NAMED;
  if (unnamed > 0) faults.atKey(["nodes"], `nodes has ${unnamed} more circles of needs than those named`);
}

function ofCode<Code extends GraphProblem["code"]>(
  problems: readonly GraphProblem[],
  code: Code,
): Extract<GraphProblem, { code: Code }>[] {
  return problems.filter(
    (problem): problem is Extract<GraphProblem, { code: Code }> => problem.code === code,
  );
}

class Report {
  readonly #faults: Faults;
  readonly #entriesOf = new Map<string, Entry[]>();
  readonly #repeated = new Map<string, number>();
  readonly #needIndexes = new Map<Entry, Map<string, number>>();

  constructor(entries: Entries, faults: Faults) {
    this.#faults = faults;
    for (let place = 0; place < entries.count; place++) {
      const entry = entries.at(place);
      const same = this.#entriesOf.get(entry.id);
      if (same) same.push(entry);
      else this.#entriesOf.set(entry.id, [entry]);
    }
  }

  /** The nth call for an id is about its nth repetition. */
  duplicate(id: string): void {
    const nth = (this.#repeated.get(id) ?? 0) + 1;
    this.#repeated.set(id, nth);
    const entries = this.#entriesOf.get(id) ?? [];
    const again = entries[nth];
    if (again) this.#faults.atValue([...again.path, "id"], duplicateId(id, entries[0]?.line ?? again.line));
  }

  atNeed(id: string, need: string, message: string): void {
    this.#faults.atValue(this.#needPath(id, need), message);
  }

  closestId(need: string): string | undefined {
    return this.#entriesOf.size > MAX_NODES_FOR_SUGGESTIONS
      ? undefined
      : closest(need, this.#entriesOf.keys());
  }

  #needPath(id: string, need: string): Path {
    const entries = this.#entriesOf.get(id) ?? [];
    for (const entry of entries) {
      const { path, value } = entry;
      if (!isMapping(value)) return path;
      const { needs } = value;
      const index = Array.isArray(needs) ? this.#indexesOf(entry, needs).get(need) : undefined;
      if (index !== undefined) return [...path, "needs", index];
      // What it gets the result of, it needs as well.
      const keys = Array.isArray(needs) ? ["args", "inputs"] : ["needs", "args", "inputs"];
      const key = keys.find((name) => Object.hasOwn(value, name));
      if (key !== undefined) return [...path, key];
    }
    return entries[0]?.path ?? [];
  }

  #indexesOf(entry: Entry, needs: readonly unknown[]): Map<string, number> {
    const known = this.#needIndexes.get(entry);
    if (known) return known;
    const indexes = new Map(needs.map((need, index) => [String(need), index]));
    this.#needIndexes.set(entry, indexes);
    return indexes;
  }
}
