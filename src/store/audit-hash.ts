import { sha256Hex } from "../core/index.ts";
import type { AuditRow } from "./rows.ts";

/** Returns the hash by which the ledger knows an entry of the audit. */
export function auditHash(row: AuditRow): string {
  const { id, at, zone, keyId, agent, action, target, before, detail } = row;
  return sha256Hex(JSON.stringify([id, at, zone, keyId, agent, action, target, before, detail]));
}
