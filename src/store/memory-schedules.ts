import type { ScheduleStore } from "./contract.ts";
import type { ScheduleFired, ScheduleRow } from "./rows.ts";

export class MemorySchedules implements ScheduleStore {
  readonly #rows = new Map<string, ScheduleRow>();

  async all(): Promise<readonly ScheduleRow[]> {
    return [...this.#rows.values()].sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
  }

  async save(row: ScheduleRow): Promise<void> {
    this.#rows.set(row.id, row);
  }

  async noteFired(id: string, fired: ScheduleFired): Promise<void> {
    const row = this.#rows.get(id);
    if (row && row.seenTo <= fired.seenTo) this.#rows.set(id, { ...row, ...fired });
  }

  async remove(id: string): Promise<void> {
    this.#rows.delete(id);
  }
}
