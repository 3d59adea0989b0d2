import type { Activity, ActivityState } from "../../plan/index.ts";
import { Findings } from "../findings.ts";
import { baseName, type ReadOptions, type ReadResult, refusal } from "../result.ts";
import { type Issue, readIssue } from "./issue.ts";
import { readRecords } from "./records.ts";
import { WaitsOfIssues } from "./waits.ts";

const MAX_ISSUES = 1_000_000;

/** The issues of Beads (`.beads/issues.jsonl`), one a line. What is dirty in them is reported and survived. */
export function readBeads(bytes: Uint8Array, fileName: string, { now }: ReadOptions): ReadResult {
  const findings = new Findings();
  const issues = new Map<string, Issue>();
  for (const record of readRecords(bytes, findings)) {
    const { id, line } = record;
    const earlier = issues.get(id);
    // The last counts, as it does for whoever imports the file line by line; and it is the last that was written.
    if (earlier) {
      findings.add(earlier.line, "duplicate-id", `the issue stands again on line ${line}, which counts`, id);
      issues.delete(id);
    }
    issues.set(id, readIssue(record, now, findings));
    if (issues.size > MAX_ISSUES)
      return refusal(line, `the file has more than ${MAX_ISSUES} issues; split it`);
  }
  const [first] = findings.list();
  if (issues.size === 0 && first)
    return refusal(first.line, `no line is an issue of Beads: ${first.message} (line ${first.line})`);
  const waits = new WaitsOfIssues(issues, now, findings);
  const activities = [...issues.values()]
    .filter(({ progress }) => progress !== "gone")
    .map((issue) => activityOf(issue, waits));
  const name = projectName(fileName);
  const unit = { name: "hours", ticks: 3_600_000 } as const;
  return { ok: true, project: { name, unit, activities, capacities: {}, findings: findings.list() } };
}

/** What runs or is done waits for nothing any more, whatever its dependencies say. */
function activityOf(issue: Issue, waits: WaitsOfIssues): Activity {
  const { id, progress, costs } = issue;
  if (progress === "done") return { id, ...costs, needs: [], state: { is: "done" } };
  if (progress === "running" && !issue.hold) return { id, ...costs, needs: [], state: { is: "running" } };
  const { needs, hold } = waits.of(issue);
  const state: ActivityState = hold ? { is: "held", ...hold } : { is: "open" };
  return { id, ...costs, needs, state };
}

/** All files of Beads have the same name; what they belong to is the directory around. */
function projectName(fileName: string): string {
  const path = fileName.split(/[\\/]/);
  const around = path.at(-2) === ".beads" ? path.at(-3) : undefined;
  return around && !/^\.*$/.test(around) ? around : baseName(fileName);
}
