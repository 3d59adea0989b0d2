import { compareText } from "../core/index.ts";
import type { AuditStore } from "./contract.ts";
import type { AuditRow } from "./rows.ts";

const MAX_KEPT = 1_000;

/** The last thousand. */
export class MemoryAudit implements AuditStore {
  readonly kept: number = MAX_KEPT;
  /** In the order of their ids. */
  #rows: AuditRow[] = [];

  add(rows: readonly AuditRow[]): void {
    this.#rows = [...this.#rows, ...rows].sort((a, b) => compareText(a.id, b.id)).slice(-MAX_KEPT);
  }

  async all(): Promise<readonly AuditRow[]> {
    return [...this.#rows].sort((a, b) => a.seq - b.seq);
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

  async prune(kept: number = this.kept): Promise<void> {
    this.#rows = kept === 0 ? [] : this.#rows.slice(-kept);
  }
}
