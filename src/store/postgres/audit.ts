import type { AuditStore } from "../contract.ts";
import type { AuditRow } from "../rows.ts";
import type { Reader } from "./reader.ts";

/** A row as PostgreSQL gives it. */
type AuditRecord = Readonly<
  Record<"id" | "zone" | "key_id" | "agent" | "action" | "target" | "detail", string>
> & {
  readonly at: number;
};

export class PostgresAudit implements AuditStore {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  async add({ id, at, zone, keyId, agent, action, target, detail }: AuditRow): Promise<void> {
    await this.#reader.rows("add-audit", [id, at, zone, keyId, agent, action, target, detail]);
  }

  async list(
    zones: readonly string[],
    before: string | undefined,
    limit: number,
  ): Promise<readonly AuditRow[]> {
    const records = await this.#reader.rows<AuditRecord>("list-audit", [zones, before, limit]);
    return records.map(({ key_id: keyId, ...rest }) => ({ ...rest, keyId }));
  }

  async prune(kept: number): Promise<void> {
    await this.#reader.rows("prune-audit", [kept]);
  }
}
