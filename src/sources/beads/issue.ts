import type { Activity, HoldCode } from "../../plan/index.ts";
import { shown } from "../../protocol/index.ts";
import type { Findings } from "../findings.ts";
import { Fields } from "./fields.ts";
import { type Links, readLinks } from "./links.ts";
import type { BeadsRecord } from "./records.ts";

/** How far an issue is, whatever its status is called. */
type Progress = "open" | "running" | "done" | "gone" | "held";

export interface Issue {
  readonly id: string;
  readonly line: number;
  readonly progress: Progress;
  readonly isPinned: boolean;
  /** Why nobody may start it, as far as it says that itself. */
  readonly hold: { readonly code: HoldCode; readonly detail: string } | undefined;
  readonly deferUntil: number | undefined;
  readonly links: Links;
  readonly costs: Pick<
    Activity,
    "title" | "duration" | "uses" | "priority" | "risk" | "speculate" | "readyForMs"
  >;
}

const PROGRESS_OF_STATUS: ReadonlyMap<string, Progress> = new Map([
  ["open", "open"],
  ["ready", "open"],
  ["in_progress", "running"],
  ["running", "running"],
  // On the hook of somebody, who works on it.
  ["hooked", "running"],
  ["closed", "done"],
  ["done", "done"],
  ["tombstone", "gone"],
  ["blocked", "held"],
  ["deferred", "held"],
  ["pinned", "held"],
]);

const HOLD_OF_STATUS: ReadonlyMap<string, HoldCode> = new Map([
  ["blocked", "blocked-status"],
  ["deferred", "deferred"],
  ["pinned", "pinned"],
]);

/** Issues that stand for something else than work. */
const NOT_WORK = ["gate", "molecule", "message", "agent", "role", "rig", "merge-request"];

const TYPES = new Set([
  ...["bug", "feature", "task", "epic", "chore", "decision", "spike", "story", "milestone", "event"],
  ...NOT_WORK,
]);

/** Whoever set one of these wants a person to do it. */
const FOR_PEOPLE = ["escalation", "needs-human", "@human-escalated", "human-escalated"];

const DATES = ["created_at", "updated_at", "started_at", "closed_at", "due_at"];

export function readIssue(record: BeadsRecord, now: number, findings: Findings): Issue {
  const fields = new Fields(record, findings);
  for (const key of DATES) fields.time(key);
  const status = readStatus(record, fields);
  const progress = PROGRESS_OF_STATUS.get(status) ?? "held";
  const deferUntil = fields.time("defer_until");
  const isPinned = status === "pinned" || fields.isSet("pinned");
  return {
    id: record.id,
    line: record.line,
    progress,
    isPinned,
    hold: holdOf(fields, { status, progress, isPinned, isDeferred: (deferUntil ?? 0) > now, deferUntil }),
    deferUntil,
    links: readLinks(record, fields),
    costs: costsOf(fields, now),
  };
}

/** Members are set one by one where there are any: to spread objects would take longer than all the rest. */
function costsOf(fields: Fields, now: number): Issue["costs"] {
  const costs: { -readonly [Key in keyof Issue["costs"]]: Issue["costs"][Key] } = {
    duration: fields.duration(),
    uses: { slots: 1, tokens: fields.tokens() },
    priority: fields.priority(),
    risk: fields.risk(),
    speculate: fields.speculates(),
  };
  const title = fields.text("title", "");
  if (title !== "") costs.title = title;
  const readySince = fields.readySince();
  if (readySince !== undefined) costs.readyForMs = Math.max(0, now - readySince);
  return costs;
}

/** Whether others need not wait for it any more. */
export function isSatisfied({ progress, isPinned }: Issue): boolean {
  return progress === "done" || progress === "gone" || isPinned;
}

export function deferred(until: number, parent?: string): Issue["hold"] {
  const who = parent === undefined ? "" : `its parent ${parent} is `;
  return { code: "deferred", detail: `${who}deferred until ${new Date(until).toISOString()}` };
}

function readStatus(record: BeadsRecord, fields: Fields): string {
  if (record.map["status"] === undefined) {
    fields.find("missing-status", "status is missing; it counts as open");
    return "open";
  }
  const status = fields.text("status", "open");
  if (!PROGRESS_OF_STATUS.has(status))
    fields.find("unknown-status", `status ${shown(status)} is not known; the issue is held`);
  return status;
}

interface Circumstances {
  readonly status: string;
  readonly progress: Progress;
  readonly isPinned: boolean;
  readonly isDeferred: boolean;
  readonly deferUntil: number | undefined;
}

function holdOf(fields: Fields, circumstances: Circumstances): Issue["hold"] {
  const { status, progress, isPinned, isDeferred, deferUntil = 0 } = circumstances;
  const type = fields.text("issue_type", "task");
  if (!TYPES.has(type))
    fields.find("unknown-issue-type", `issue_type ${shown(type)} is not known; it counts as work`);
  const tag = fields.tags().find((tag) => FOR_PEOPLE.includes(tag));
  const isEphemeral = fields.isSet("ephemeral");
  const hasAttemptsLeft = fields.hasAttemptsLeft();

  if (progress === "done") return undefined;
  if (progress === "held") return { code: HOLD_OF_STATUS.get(status) ?? "held", detail: `status ${status}` };
  if (isPinned) return { code: "pinned", detail: "" };
  if (isEphemeral) return { code: "ephemeral", detail: "" };
  if (NOT_WORK.includes(type)) return { code: "not-work", detail: `type ${type}` };
  if (progress === "running") return undefined;
  if (isDeferred) return deferred(deferUntil);
  if (tag !== undefined) return { code: "needs-human", detail: `tag ${tag}` };
  return hasAttemptsLeft ? undefined : { code: "no-attempts-left", detail: "" };
}
