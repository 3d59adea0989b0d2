import type { ErrorItem, Registration } from "../../protocol/api-schemas.ts";
import type { LogEntry, Progress, Report } from "../../protocol/index.ts";
import { allows, type Identity } from "./auth.ts";
import { invalid, Problem } from "./problems.ts";
import { isName } from "./route.ts";

/** Characters that all names of a registration may have. The server keeps them for as long as it knows the worker. */
const MAX_REGISTRATION = 65_536;

/**
 * What workers print is not theirs to choose: a program may write anything. Texts are made storable instead of being
 * refused, because a report that is never accepted would be repeated for ever.
 */
function storable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\u{fffd}");
}

export function storableReport(report: Report): Report {
  if (report.type !== "failed") return report;
  return { ...report, code: storable(report.code), message: storable(report.message) };
}

export function storableEntries(entries: readonly LogEntry[]): LogEntry[] {
  return entries.map((entry) => ({ ...entry, text: storable(entry.text) }));
}

export function storableProgress(progress: Progress): Progress {
  return progress.message === undefined ? progress : { ...progress, message: storable(progress.message) };
}

/** A worker chooses its names, and serves only zones that its key has. Throws otherwise. */
export function checkRegistration({ key, caller }: Identity, registration: Registration): void {
  const { id, zone = caller.zone, zones = [], executors, types, capabilities = [] } = registration;
  const lists = { id: [id], zone: [zone], zones, executors, types, capabilities };
  const errors = Object.entries(lists).flatMap(([field, names]): ErrorItem[] =>
    names.every(isName)
      ? []
      : [
          {
            in: "body",
            pointer: `/registration/${field}`,
            detail: "must not contain control characters or broken Unicode",
          },
        ],
  );
  const characters = Object.values(lists)
    .flat()
    .reduce((sum, name) => sum + name.length, 0);
  if (characters > MAX_REGISTRATION) {
    const detail = `has names of ${characters} characters in all, at most ${MAX_REGISTRATION} are taken; register fewer or shorter ones`;
    errors.push({ in: "body", pointer: "/registration/types", detail });
  }
  if (errors.length > 0) throw invalid(errors);
  const foreign = [zone, ...zones].find((one) => !allows(key.zones, one));
  if (foreign !== undefined)
    throw new Problem("zone-not-allowed", `this key does not allow zone "${foreign}"`);
}
