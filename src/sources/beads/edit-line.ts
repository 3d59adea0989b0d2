import { members, startOfValue } from "../json-spans.ts";
import type { Mapping } from "../json-values.ts";

/** What to set in an issue. */
export interface IssueChange {
  readonly fields?: Mapping;
  /** Where our own fields belong; the others of it stay. */
  readonly metadata?: Mapping;
}

/**
 * Sets fields in the text of an issue, and nothing else: other values keep their place and their form, because numbers
 * and escapes can be written in several ways and whoever wrote them may care.
 *
 * The text has a character for each byte (Latin-1), so that even what is not UTF-8 stays as it is.
 */
export function editLine(text: string, { fields = {}, metadata = {} }: IssueChange): string {
  const start = startOfValue(text);
  const edited = setMembers(text, start, fields);
  if (Object.keys(metadata).length === 0) return edited;
  const inner = lastMember(edited, start, "metadata");
  if (inner && edited[inner.valueAt] === "{") return setMembers(edited, inner.valueAt, metadata);
  return setMembers(edited, start, { metadata });
}

function setMembers(text: string, start: number, values: Mapping): string {
  return Object.keys(values).reduce((edited, key) => setMember(edited, start, key, values[key]), text);
}

function setMember(text: string, start: number, key: string, value: unknown): string {
  const written = latin1(JSON.stringify(value ?? null));
  const member = lastMember(text, start, key);
  if (member) return text.slice(0, member.valueAt) + written + text.slice(member.end);
  let end = start + 1;
  let comma = "";
  for (const other of members(text, start)) {
    end = other.end;
    comma = ",";
  }
  return `${text.slice(0, end)}${comma}${latin1(JSON.stringify(key))}:${written}${text.slice(end)}`;
}

/** Of equal keys the last counts. */
function lastMember(text: string, start: number, key: string): { valueAt: number; end: number } | undefined {
  let found: { valueAt: number; end: number } | undefined;
  for (const member of members(text, start)) {
    const name = Buffer.from(text.slice(member.keyAt, member.keyEnd), "latin1").toString("utf8");
    if (JSON.parse(name) === key) found = member;
  }
  return found;
}

function latin1(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}
