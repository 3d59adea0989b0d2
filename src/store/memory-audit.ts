import { compareText } from "../core/index.ts";
import type { AuditStore } from "./contract.ts";
import type { AuditRow } from "./rows.ts";

const MAX_KEPT = 1_000;

/** The last thousand. */
export class MemoryAudit implements AuditStore {
  /** In the order of their ids. */
  #rows: AuditRow[] = [];

  async add(row: AuditRow): Promise<void> {
    this.#rows = [...this.#rows, row].sort((a, b) => compareText(a.id, b.id)).slice(-MAX_KEPT);
  }

  async list(
    zones: readonly string[],
    before: string | undefined,
    limit: number,
  ): Promise<readonly AuditRow[]> {
    return this.#rows
      .filter(({ zone, id }) => zones.includes(zone) && (before === undefined || id < before))
      .reverse()
      .slice(0, limit);
  }

  async prune(kept: number): Promise<void> {
    this.#rows = kept === 0 ? [] : this.#rows.slice(-kept);
  }
}
