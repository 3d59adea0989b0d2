import type { AuditEntry } from "../client/index.ts";
import type { AuditOptions } from "./audit.ts";
import { CheckFailed } from "./errors.ts";
import { type Column, tableLines } from "./layout.ts";
import { printLines, stdoutPalette } from "./output.ts";
import { atService } from "./service.ts";
import { printSafeJson, safeJson, shown } from "./service-text.ts";

const COLUMNS: readonly Column[] = [
  { title: "WHEN" },
  { title: "AGENT" },
  { title: "KEY" },
  { title: "ACTION" },
  { title: "TARGET" },
  { title: "BEFORE" },
  { title: "ASKED FOR" },
];

export async function showAudit(options: AuditOptions): Promise<void> {
  const entries = await atService(options, async (client) => {
    const found: AuditEntry[] = [];
    for await (const entry of client.audit()) {
      if (isAsked(entry, options)) found.push(entry);
      if (found.length === options.limit) break;
    }
    return found;
  });
  if (options.json) await printSafeJson({ entries });
  else if (entries.length === 0) process.stderr.write("no entries\n");
  else await printLines(tableLines(COLUMNS, entries.map(row), stdoutPalette()));
}

/** Ends with 1 if an entry and the ledger disagree. */
export async function verifyAudit(options: AuditOptions): Promise<void> {
  const standing = await atService(options, (client) => client.checkAudit());
  const { ok, checked, unchained, faults } = standing;
  const old = unchained === 0 ? "" : `; ${unchained} are older than the hashes in the ledger`;
  if (options.json) await printSafeJson(standing);
  else
    await printLines([
      ...faults.map(
        ({ what, seq, entry }) =>
          `the entry ${entry === null ? "" : `${shown(entry)} `}of event ${seq} was ${what}`,
      ),
      ok
        ? `the ledger holds the hashes of all ${checked} entries${old}`
        : `${faults.length} entries are not those that the ledger holds the hashes of`,
    ]);
  if (!ok) throw new CheckFailed();
}

function isAsked(entry: AuditEntry, { action, byKey, byAgent, target }: AuditOptions): boolean {
  return (
    (action === undefined || entry.action.startsWith(action)) &&
    (byKey === undefined || entry.key_id === byKey) &&
    (byAgent === undefined || entry.agent === byAgent) &&
    (target === undefined || entry.target === target)
  );
}

function row({ at, agent, key_id, action, target, before, detail }: AuditEntry): string[] {
  return [at, agent, key_id, action, target].map(shown).concat(fieldsOf(before), fieldsOf(detail));
}

function fieldsOf(fields: Readonly<Record<string, unknown>> | null): string {
  return Object.entries(fields ?? {})
    .map(([name, value]) => `${shown(name)}: ${safeJson(value)}`)
    .join(", ");
}
