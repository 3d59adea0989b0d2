/** What a server said, as a terminal may show it. */

import { formatDuration, formatMs } from "../words/index.ts";
import { write } from "./output.ts";
import { neutralise } from "./terminal-text.ts";

/** What acts on a terminal, and may stand in JSON as it is; line breaks are our own. */
const UNSAFE = /(?!\n)[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** JSON in which nothing acts on the terminal, and which says the same. */
export function safeJson(value: unknown, indent = 0): string {
  const text = JSON.stringify(value, null, indent) ?? "null";
  return text.replace(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function printSafeJson(value: unknown): Promise<void> {
  return write(process.stdout, `${safeJson(value, 2)}\n`);
}

/** "" where there is nothing. */
export function shown(text: string | null | undefined): string {
  return neutralise(text ?? "");
}

/** "3m 05s ago". */
export function ago(at: string | null): string {
  return at === null ? "" : `${formatDuration(Date.now() - Date.parse(at))} ago`;
}

interface Span {
  readonly started_at: string | null;
  readonly completed_at: string | null;
}

/** How long it ran, or has run so far. */
export function ranFor({ started_at, completed_at }: Span): string {
  if (started_at === null) return "";
  const end = completed_at === null ? Date.now() : Date.parse(completed_at);
  return formatMs(Math.max(0, Math.round(end - Date.parse(started_at))));
}

interface Outcome {
  readonly status: string;
  readonly error_code: string | null;
  readonly error_message: string | null;
}

/** A node that never ran because of another is cancelled to the server. */
export function statusOf({ status, error_code }: Outcome): string {
  return status === "cancelled" && error_code === "skipped" ? "skipped" : shown(status);
}

/** "it cannot be (no-way)", in one line. */
export function errorOf({ error_code, error_message }: Outcome): string {
  if (error_code === null) return "";
  const [first = ""] = (error_message ?? "").split("\n", 1);
  return first === "" ? shown(error_code) : `${shown(first)} (${shown(error_code)})`;
}
