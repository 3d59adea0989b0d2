// Issues as Beads writes them, for the tests of their reader.

import type { Project } from "../src/plan/index.ts";
import { readProject } from "../src/sources/index.ts";

export const NOW = Date.parse("2026-06-01T12:00:00Z");

export function readIssues(issues: readonly object[] | string): Project {
  const text =
    typeof issues === "string" ? issues : issues.map((issue) => `${JSON.stringify(issue)}\n`).join("");
  const result = readProject(new TextEncoder().encode(text), ".beads/issues.jsonl", { now: NOW });
  if (!result.ok) throw new Error(result.problems[0]?.message);
  return result.project;
}

/** An issue that is clean, with what it depends on as [type, id]. */
export function issue(id: string, more: object = {}, ...dependencies: (readonly [string, string])[]): object {
  return {
    id,
    title: `Issue ${id}`,
    status: "open",
    priority: 2,
    issue_type: "task",
    ...more,
    dependencies: dependencies.map(([type, target]) => ({ issue_id: id, depends_on_id: target, type })),
  };
}
