// Readiness against the rules as Beads states them, applied to the raw issues by somebody who knows nothing of plans.

import fc from "fast-check";
import { expect, test } from "vitest";
import type { Project } from "../../plan/index.ts";
import { readProject } from "../index.ts";

const NOW = Date.parse("2026-06-01T12:00:00Z");

interface Dependency {
  readonly depends_on_id: string;
  readonly type: string;
  readonly metadata?: string;
}

interface Issue {
  readonly id: string;
  readonly status: string;
  readonly priority: number;
  readonly issue_type: string;
  readonly pinned?: boolean;
  readonly ephemeral?: boolean;
  readonly defer_until?: string;
  readonly labels?: readonly string[];
  readonly metadata?: { readonly dk_attempts: number };
  readonly dependencies: readonly Dependency[];
}

const ID = fc.constantFrom("a", "b", "c", "d", "e", "f", "g", "h");

const SELDOM_STATUSES = [
  "ready",
  "in_progress",
  "blocked",
  "deferred",
  "closed",
  "pinned",
  "hooked",
  "tombstone",
];
const STATUS = fc.oneof(
  { weight: 6, arbitrary: fc.constant("open") },
  { weight: 2, arbitrary: fc.constant("closed") },
  { weight: 2, arbitrary: fc.constantFrom(...SELDOM_STATUSES, "done", "running", "review") },
);

function dependency(types: readonly string[]): fc.Arbitrary<Dependency> {
  return fc.record(
    {
      depends_on_id: fc.oneof({ weight: 9, arbitrary: ID }, { weight: 1, arbitrary: fc.constant("nowhere") }),
      type: fc.constantFrom(...types),
      metadata: fc.constantFrom('{"gate":"all-children"}', '{"gate":"any-children"}', "{"),
    },
    { requiredKeys: ["depends_on_id", "type"] },
  );
}

const TYPES = ["blocks", "conditional-blocks", "parent-child", "waits-for", "related", "likes"];

/** Rarely set, so that most issues can be ready. */
function seldom<Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> {
  return fc.option(arbitrary, { nil: undefined, freq: 8 });
}

function issues(types: readonly string[]): fc.Arbitrary<readonly Issue[]> {
  const seldomTask = fc.oneof(
    { weight: 6, arbitrary: fc.constant("task") },
    { weight: 1, arbitrary: fc.constantFrom("epic", "gate", "molecule", "message", "agent", "role", "rig") },
  );
  const issue = fc.record({
    id: ID,
    status: STATUS,
    priority: fc.constant(2),
    issue_type: seldomTask,
    pinned: seldom(fc.constant(true)),
    ephemeral: seldom(fc.constant(true)),
    defer_until: seldom(fc.constantFrom("2026-06-02T00:00:00Z", "2026-05-01T00:00:00Z")),
    labels: seldom(fc.constantFrom(["needs-human"], ["ui"])),
    metadata: seldom(fc.constantFrom({ dk_attempts: 3 }, { dk_attempts: 2 })),
    dependencies: fc.array(dependency(types), { maxLength: 3 }),
  });
  return fc.array(issue, { maxLength: 12 }) as fc.Arbitrary<readonly Issue[]>;
}

function read(all: readonly Issue[]): Project {
  const text = all.map((issue) => `${JSON.stringify(issue)}\n`).join("");
  const result = readProject(new TextEncoder().encode(text), "issues.jsonl", { now: NOW });
  if (!result.ok) throw new Error(result.problems[0]?.message);
  return result.project;
}

/** What the project says could start if these were done. */
function readyByNeeds({ activities }: Project, done: ReadonlySet<string>): string[] {
  const known = new Set(activities.map(({ id }) => id));
  return activities
    .filter(({ id, state }) => state.is === "open" && !done.has(id))
    .filter(({ needs }) => needs.every((need) => done.has(need) || !known.has(need)))
    .map(({ id }) => id)
    .sort();
}

function doneAlready({ activities }: Project): Set<string> {
  return new Set(activities.filter(({ state }) => state.is === "done").map(({ id }) => id));
}

/** The rules, by going over all issues until nothing changes any more. */
function readyByRules(all: readonly Issue[]): string[] {
  const issues = new Map(all.map((issue) => [issue.id, issue]));
  for (const [id, { status }] of issues) if (status === "tombstone") issues.delete(id);
  const isClosed = ({ status }: Issue) => status === "closed" || status === "done";
  const isOver = (issue: Issue) => isClosed(issue) || issue.status === "pinned" || issue.pinned === true;
  const targets = ({ id, dependencies }: Issue, ...types: string[]) =>
    dependencies.filter((dep) => types.includes(dep.type) && dep.depends_on_id !== id);
  const childrenOf = (id: string) =>
    [...issues.values()].filter((child) =>
      targets(child, "parent-child").some((dep) => dep.depends_on_id === id),
    );
  const waits = ({ depends_on_id, metadata }: Dependency) => {
    const children = childrenOf(depends_on_id);
    const isReleased = metadata === '{"gate":"any-children"}' && children.some(isClosed);
    return !isReleased && children.some((child) => !isOver(child));
  };

  const blocked = new Set<string>();
  for (let before = -1; before !== blocked.size; ) {
    before = blocked.size;
    for (const issue of issues.values()) {
      if (isOver(issue)) continue;
      const isBlocked =
        targets(issue, "blocks", "conditional-blocks").some((dep) => {
          const target = issues.get(dep.depends_on_id);
          return target !== undefined && !isOver(target);
        }) ||
        targets(issue, "waits-for").some(waits) ||
        targets(issue, "parent-child").some((dep) => blocked.has(dep.depends_on_id));
      if (isBlocked) blocked.add(issue.id);
    }
  }
  const isLater = (time: string | undefined) => time !== undefined && Date.parse(time) > NOW;
  return [...issues.values()]
    .filter((issue) => issue.status === "open" || issue.status === "ready")
    .filter((issue) => !issue.pinned && !issue.ephemeral && !blocked.has(issue.id))
    .filter((issue) => issue.issue_type === "task" || issue.issue_type === "epic")
    .filter((issue) => !isLater(issue.defer_until) && !issue.labels?.includes("needs-human"))
    .filter((issue) => (issue.metadata?.dk_attempts ?? 0) < 3)
    .filter((issue) =>
      targets(issue, "parent-child").every((dep) => !isLater(issues.get(dep.depends_on_id)?.defer_until)),
    )
    .map(({ id }) => id)
    .sort();
}

test("[G-01] what is ready is what the rules of Beads say", () => {
  fc.assert(
    fc.property(issues(TYPES), (all) => {
      const project = read(all);
      expect(readyByNeeds(project, doneAlready(project))).toEqual(readyByRules(all));
    }),
    { numRuns: 2_000 },
  );
});

test("what becomes ready as work ends is what the rules say of a file in which it is closed", () => {
  // A plan takes one child for "any", so it may know earlier or later than the rules whom that lets go.
  const plain = issues(TYPES).map((all) =>
    all.map((issue) => ({
      ...issue,
      dependencies: issue.dependencies.map(({ depends_on_id, type }) => ({ depends_on_id, type })),
    })),
  );
  fc.assert(
    fc.property(plain, fc.array(fc.nat(), { maxLength: 8 }), (all, picks) => {
      const project = read(all);
      const done = doneAlready(project);
      for (const pick of picks) {
        const ready = readyByNeeds(project, done);
        const next = ready[pick % ready.length];
        if (next === undefined) break;
        done.add(next);
        const closed = all.map((issue) => (done.has(issue.id) ? { ...issue, status: "closed" } : issue));
        expect(readyByNeeds(project, done)).toEqual(readyByRules(closed));
      }
    }),
    { numRuns: 1_000 },
  );
});
