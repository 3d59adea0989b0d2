import type { UnitRefusal } from "../../protocol/index.ts";
import { shown } from "../../protocol/index.ts";

const RFC_3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(\.\d+)?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** Milliseconds since 1970. */
export function parseInstant(text: string): number | UnitRefusal {
  const expected = `must be a time with a zone such as "2026-03-01T10:00:00Z"; got ${shown(text)}`;
  const match = RFC_3339.exec(text);
  if (!match) return { refusal: expected };
  const [, year = "", month = "", day = "", hour = "", minute = "", second = "", fraction = "", zone = ""] =
    match;
  // Date.parse makes 2 March of 30 February.
  const isDay = Number(day) >= 1 && Number(day) <= daysIn(Number(year), Number(month));
  if (!isDay || Number(hour) > 23) return { refusal: expected };
  const at = Date.parse(
    `${year}-${month}-${day}T${hour}:${minute}:${second}${fraction.slice(0, 4)}${zone.toUpperCase()}`,
  );
  if (Number.isNaN(at)) return { refusal: expected };
  return at < 0 ? { refusal: `must not be before 1970; got ${shown(text)}` } : at;
}

function daysIn(year: number, month: number): number {
  return month >= 1 && month <= 12 ? new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate() : 0;
}

/** What is beyond the times that can be written, which a worker's clock may be, is the last of them. */
const MAX_INSTANT = 8.64e15;

/** Tasks that are taken together have one time, and to write it takes as long as the rest of a summary. */
let last = { at: 0, text: new Date(0).toISOString() };

export function instantText(at: number): string {
  if (at !== last.at) last = { at, text: new Date(Math.min(at, MAX_INSTANT)).toISOString() };
  return last.text;
}

/** -1, which stands for none, is null on the wire. */
export function instantOrNull(at: number): string | null {
  return at === -1 ? null : instantText(at);
}
