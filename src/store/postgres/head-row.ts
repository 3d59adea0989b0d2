import type { Head } from "../../ledger/index.ts";
import { type Candidate, type Leadership, type Member, StoreError } from "../contract.ts";
import type { Target } from "./connection.ts";
import { migratedByNewer } from "./migrate.ts";
import type { Outage } from "./outage.ts";
import { Pacemaker } from "./pacemaker.ts";
import { Reader } from "./reader.ts";
import { migrations } from "./sql.ts";

/** One to be alive on, one to be asked by: slow lists must not delay either. */
const CONNECTIONS = 2;

/** A database that only reads lets a server follow, but not lead. */
const LEADING = "leading";

/**
 * Who leads, as the row of the head says it; on connections of its own, because a leader that waits behind slow
 * lists for a connection would seem to be dead.
 */
export class HeadRow {
  readonly #reader: Reader;
  readonly #target: Target;
  #pacemaker: Pacemaker | undefined;
  #term: { readonly epoch: number; readonly holder: string } | undefined;

  constructor(target: Target, outage: Outage, closed: AbortSignal) {
    this.#target = target;
    this.#reader = new Reader(target, outage, closed, CONNECTIONS);
  }

  async read(): Promise<Leadership> {
    const [row] = await this.#reader.rows<Leadership>("read-leadership", []);
    if (!row) throw new StoreError("damaged", "the table of the head is empty");
    return row;
  }

  /** The head of the new epoch; undefined: somebody else has changed it. */
  async lead(
    { epoch, seq, beat }: Leadership,
    { holder, url, leaseMs }: Candidate,
  ): Promise<Head | undefined> {
    const [won] = await this.#reader.rows<Leadership>(
      "lead",
      [epoch, seq, beat, holder, url, migrations().map(({ number }) => number)],
      LEADING,
    );
    // When the answer to a first try was lost, the second finds what the first one wrote.
    const row = won ?? (await this.read());
    if (row.holder !== holder || row.epoch !== epoch + 1) {
      await this.#refuseNewer();
      return undefined;
    }
    this.#term = { epoch: row.epoch, holder };
    this.#pacemaker?.stop();
    this.#pacemaker = leaseMs
      ? new Pacemaker({ target: this.#target, epoch: row.epoch, holder, leaseMs })
      : undefined;
    return { epoch: row.epoch, seq: row.seq, hash: row.hash };
  }

  /** Throws if a newer version has migrated the tables since this process was started. */
  async #refuseNewer(): Promise<void> {
    const known = new Set(migrations().map(({ number }) => number));
    const applied = await this.#reader.rows<{ number: number; name: string }>("read-migrations", []);
    const newer = applied.filter(({ number }) => !known.has(number)).map(({ name }) => name);
    if (newer.length > 0) throw new StoreError("foreign", migratedByNewer(this.#target.schema, newer));
  }

  async beat(): Promise<boolean> {
    if (!this.#term) return false;
    const { epoch, holder } = this.#term;
    const leads = (await this.#reader.rows("beat", [epoch, holder])).length === 1;
    if (leads) this.#pacemaker?.note();
    else this.#pacemaker?.stop();
    return leads;
  }

  async release(): Promise<void> {
    if (!this.#term) return;
    const { epoch, holder } = this.#term;
    this.#term = undefined;
    this.#pacemaker?.stop();
    await this.#reader.rows("release", [epoch, holder]);
  }

  async saveMember({ name, url, role, seq }: Member): Promise<void> {
    await this.#reader.rows("save-member", [name, url, role, seq]);
  }

  async removeMember(name: string): Promise<void> {
    await this.#reader.rows("remove-member", [name]);
  }

  async members(): Promise<readonly (Member & { readonly seenMsAgo: number })[]> {
    const rows = await this.#reader.rows<Member & { seen_ms_ago: number }>("members", []);
    return rows.map(({ seen_ms_ago: seenMsAgo, ...member }) => ({ ...member, seenMsAgo }));
  }

  isReachable(): Promise<boolean> {
    return this.#reader.isReachable();
  }

  close(): Promise<void> {
    this.#pacemaker?.stop();
    return this.#reader.close();
  }
}
