import type { AuditStore } from "../contract.ts";
import type { AuditRow } from "../rows.ts";
import type { Reader } from "./reader.ts";

/** A row as PostgreSQL gives it. */
type AuditRecord = Readonly<
  Record<"id" | "zone" | "key_id" | "agent" | "action" | "target" | "before" | "detail", string>
> & {
  readonly at: number;
  readonly seq: number;
};

export class PostgresAudit implements AuditStore {
  readonly kept: number = 100_000;
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  async list(
    zones: readonly string[],
    before: string | undefined,
    limit: number,
  ): Promise<readonly AuditRow[]> {
    const records = await this.#reader.rows<AuditRecord>("list-audit", [zones, before, limit]);
    return records.map(auditFrom);
  }

  async all(): Promise<readonly AuditRow[]> {
    return (await this.#reader.rows<AuditRecord>("all-audit", [])).map(auditFrom);
  }

  async prune(kept: number = this.kept): Promise<void> {
    await this.#reader.rows("prune-audit", [kept]);
  }
}

function auditFrom({ key_id: keyId, ...rest }: AuditRecord): AuditRow {
  return { ...rest, keyId };
}
