import { setImmediate } from "node:timers/promises";
import { type Block, decodeEvent } from "../ledger/index.ts";
import { auditHash, type ServiceStore } from "../store/index.ts";

/** Whether the entries of the audit are those whose hashes the ledger holds. */
export interface AuditStanding {
  readonly checked: number;
  /** Entries from before the ledger held hashes of them. */
  readonly unchained: number;
  readonly faults: readonly AuditFault[];
}

export interface AuditFault {
  readonly what: "changed" | "added" | "deleted";
  /** Sequence number of the event. */
  readonly seq: number;
  /** The entry; null if it is not there any more. */
  readonly entry: string | null;
}

const MARK = '["AuditRecorded",';
/** Blocks that are read between two moments in which others have their turn. */
const TURN = 16;
/** Entries are pruned by their ids, which need not have quite the order of their events. */
const SLACK = 1_000;

/** Compares each entry with its event, and each event with its entry as far back as entries are kept. */
export async function checkAudit(
  store: Pick<ServiceStore, "audit" | "blocks" | "head">,
): Promise<AuditStanding> {
  // The ledger comes first: an entry that is added meanwhile has a later event, and is left out.
  const { seq: until } = store.head;
  const hashes = await recordedHashes(store, until);
  const rows = (await store.audit.all()).filter(({ seq }) => seq <= until);
  const chained = rows.filter(({ seq }) => seq >= 0);
  const faults: AuditFault[] = [];
  const found = new Set<number>();
  for (const row of chained) {
    const hash = hashes.get(row.seq);
    if (hash === auditHash(row) && !found.has(row.seq)) found.add(row.seq);
    else faults.push({ what: hash === undefined ? "added" : "changed", seq: row.seq, entry: row.id });
  }
  const faulty = new Set(faults.map(({ seq }) => seq));
  const seqs = [...hashes.keys()];
  const kept = seqs.length <= store.audit.kept ? seqs : seqs.slice(SLACK - store.audit.kept);
  for (const seq of kept)
    if (!found.has(seq) && !faulty.has(seq)) faults.push({ what: "deleted", seq, entry: null });
  const unchained = rows.length - chained.length;
  return { checked: chained.length, unchained, faults: faults.sort((a, b) => a.seq - b.seq) };
}

/** By the sequence numbers of their events, in their order. */
async function recordedHashes(
  store: Pick<ServiceStore, "blocks">,
  until: number,
): Promise<Map<number, string>> {
  const hashes = new Map<number, string>();
  let looked = 0;
  for await (const block of store.blocks()) {
    if (block.seq > until) break;
    if (block.line.includes(MARK)) noteHashes(hashes, block);
    looked += 1;
    if (looked % TURN === 0) await setImmediate();
  }
  return hashes;
}

function noteHashes(hashes: Map<number, string>, { line, seq }: Block): void {
  const { events } = JSON.parse(line) as { readonly events: readonly unknown[] };
  for (const [at, wire] of events.entries()) {
    const event = decodeEvent(wire);
    if (event.kind === "AuditRecorded") hashes.set(seq + at, event.hash);
  }
}
