import type { Findings } from "../findings.ts";
import { deferred, type Issue, isSatisfied } from "./issue.ts";
import type { WaitsFor } from "./links.ts";

/** What an issue waits for: others, or something that no plan can bring about. */
export interface Waits {
  readonly needs: readonly string[];
  readonly hold: Issue["hold"];
}

/**
 * Children wait for all that their parents wait for, and whoever waits for children names them all: few lines can say
 * far more than can be listed. No file that people use comes near this; what would go beyond is held.
 */
const MAX_LISTED = 2_000_000;

/**
 * Whom each issue waits for.
 *
 * That is what blocks it; the children of what it waits for; and, because what belongs to a blocked issue is blocked
 * with it, whatever its parents wait for, and theirs. What is closed or pinned keeps nobody waiting, nor does what does
 * not exist.
 */
export class WaitsOfIssues {
  readonly #issues: ReadonlyMap<string, Issue>;
  readonly #now: number;
  readonly #findings: Findings;
  readonly #children = new Map<string, Issue[]>();
  /** What keeps the children of an issue waiting. */
  readonly #blockersOfChildren = new Map<string, readonly string[]>();
  #left = MAX_LISTED;

  constructor(issues: ReadonlyMap<string, Issue>, now: number, findings: Findings) {
    this.#issues = issues;
    this.#now = now;
    this.#findings = findings;
    for (const issue of issues.values()) {
      for (const parent of issue.links.parents) {
        const children = this.#children.get(parent);
        if (children) children.push(issue);
        else this.#children.set(parent, [issue]);
      }
    }
  }

  of(issue: Issue): Waits {
    const { blockers, parents, waitsFor } = issue.links;
    this.#reportDangling(issue);
    // Those that do not exist stay: the plan names them.
    const needs = new Set(blockers.filter((id) => !this.#isGoneOrPinned(id)));
    for (const wait of waitsFor) for (const id of this.#childrenToWaitFor(wait)) needs.add(id);
    for (const id of parents) for (const blocker of this.#inherited(id)) needs.add(blocker);
    const isComplete = this.#left > 0 || parents.length + waitsFor.length === 0;
    const hold =
      issue.hold ?? this.#deferredParent(parents) ?? (isComplete ? undefined : this.#tooMuch(issue));
    return { needs: [...needs], hold };
  }

  /** Of a parent that is put off only the children themselves are, not theirs. */
  #deferredParent(parents: readonly string[]): Issue["hold"] {
    for (const id of parents) {
      const until = this.#issues.get(id)?.deferUntil ?? 0;
      if (until > this.#now) return deferred(until, id);
    }
    return undefined;
  }

  #isGoneOrPinned(id: string): boolean {
    const issue = this.#issues.get(id);
    return issue !== undefined && issue.progress !== "done" && isSatisfied(issue);
  }

  #inherited(parent: string): readonly string[] {
    let blockers = this.#blockersOfChildren.get(parent);
    if (!blockers) {
      blockers = this.#collect(parent);
      this.#blockersOfChildren.set(parent, blockers);
    }
    this.#left -= blockers.length;
    return this.#left > 0 ? blockers : [];
  }

  /** What an issue and all above it wait for. A parent that is closed or pinned is not blocked, nor what is above it. */
  #collect(parent: string): readonly string[] {
    const blockers = new Set<string>();
    const seen = new Set([parent]);
    for (const id of seen) {
      const issue = this.#issues.get(id);
      this.#left -= 1;
      if (!issue || isSatisfied(issue) || this.#left <= 0) continue;
      for (const blocker of issue.links.blockers) if (this.#isWaitedFor(blocker)) blockers.add(blocker);
      for (const wait of issue.links.waitsFor)
        for (const child of this.#childrenToWaitFor(wait)) blockers.add(child);
      this.#left -= issue.links.blockers.length;
      for (const above of issue.links.parents) seen.add(above);
    }
    return [...blockers];
  }

  #isWaitedFor(id: string): boolean {
    const issue = this.#issues.get(id);
    return issue !== undefined && !isSatisfied(issue);
  }

  #childrenToWaitFor({ target, isForAny }: WaitsFor): readonly string[] {
    const children = this.#children.get(target) ?? [];
    this.#left -= children.length;
    if (this.#left <= 0) return [];
    const open = children.filter((child) => !isSatisfied(child));
    if (!isForAny) return open.map(({ id }) => id);
    // A plan knows no "or". The shortest is the one that will most likely end first.
    const [first] = open.toSorted((a, b) => a.costs.duration - b.costs.duration);
    return first && !children.some(({ progress }) => progress === "done") ? [first.id] : [];
  }

  #reportDangling({ id, line, links }: Issue): void {
    for (const parent of links.parents.filter((parent) => !this.#issues.has(parent)))
      this.#findings.add(line, "dangling-parent", `the parent ${parent} does not exist`, id);
    for (const { target } of links.waitsFor) {
      if (this.#issues.has(target) || this.#children.has(target)) continue;
      this.#findings.add(
        line,
        "dangling-waits-for",
        `${target}, whose children it waits for, does not exist`,
        id,
      );
    }
  }

  #tooMuch({ id, line, links }: Issue): Issue["hold"] {
    const detail = "it waits for more issues than can be listed";
    this.#findings.add(line, "too-many-needs", `${detail} (${MAX_LISTED} in the whole file)`, id);
    return { code: links.parents.length > 0 ? "blocked-parent" : "waits-for-children", detail };
  }
}
