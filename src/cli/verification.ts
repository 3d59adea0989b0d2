import { open } from "node:fs/promises";
import {
  type Block,
  type Damage,
  type Head,
  headOf,
  type Input,
  isDecision,
  type LedgerEvent,
  POLICY_VERSION,
} from "../ledger/index.ts";
import {
  eventsOf,
  Redecider,
  replayBlock,
  restore,
  type Snapshot,
  State,
  snapshotHash,
  stateHash,
  step,
  takeSnapshot,
} from "../scheduler/index.ts";
import { readSnapshot, type SavedSnapshot } from "../store/index.ts";
import { blocksWithProgress, type OpenLedger, openLedger } from "./ledger-reading.ts";

export interface Verification {
  readonly ledger: string;
  readonly ok: boolean;
  readonly blocks: number;
  readonly events: number;
  /** The end of what can be trusted. */
  readonly head: Head;
  readonly chain: "ok" | "broken";
  /** Of the state after the last event; null where it could not be rebuilt. */
  readonly stateHash: string | null;
  /** Whether the end could be checked against the head file beside the ledger. */
  readonly headFile: boolean;
  readonly tornBytes: number;
  readonly snapshot: { readonly seq: number; readonly ok: boolean } | null;
  readonly damage: LocatedDamage | null;
  readonly redecided: Redecided | null;
}

export interface LocatedDamage {
  /** The first event that cannot be trusted. */
  readonly seq: number;
  readonly code: Damage["code"] | "empty" | "cannot be replayed" | "snapshot differs";
  readonly detail: string;
  /** In the ledger file, from 1; null where no line is at fault. */
  readonly line: number | null;
}

export interface Redecided {
  readonly decisions: number;
  /** Those that other rules made, such as an earlier version's; they are taken as they are. */
  readonly skipped: number;
  /** The rules of the skipped ones, or else of the end of the ledger; and those of this program. */
  readonly policyVersion: { readonly ledger: number; readonly program: number };
  readonly difference: Difference | null;
}

export interface Difference {
  readonly seq: number;
  readonly line: number;
  readonly recorded: LedgerEvent | null;
  /** Null where nothing would be decided, or where deciding failed. */
  readonly decided: LedgerEvent | null;
  readonly failure: string | null;
}

export async function verifyLedger(path: string, redecide: boolean): Promise<Verification> {
  const ledger = await openLedger(path);
  const check = new Check(await readSnapshot(path), redecide);
  for await (const block of blocksWithProgress(ledger)) check.take(block);
  const { file } = ledger;
  const chainDamage = file.damage
    ? locate(file.damage, check.blocks, ledger)
    : await emptiness(ledger, check);
  const damage = check.damage ?? chainDamage ?? check.snapshotAtEnd(file.head);
  const redecided = check.redecided();
  return {
    ledger: path,
    ok: damage === undefined && !redecided?.difference,
    blocks: check.blocks,
    events: file.head.seq,
    head: file.head,
    chain: chainDamage === undefined ? "ok" : "broken",
    stateHash: check.damage?.code === "cannot be replayed" ? null : stateHash(check.state),
    headFile: file.keptHead !== undefined,
    tornBytes: file.tornBytes,
    snapshot: check.snapshotResult(damage),
    damage: damage ?? null,
    redecided: redecided ?? null,
  };
}

/** Everything that is checked of blocks that the chain has accepted. */
class Check {
  readonly state = new State();
  blocks = 0;
  damage: LocatedDamage | undefined;
  readonly #snapshot: SavedSnapshot | undefined;
  #snapshotSeen = false;
  readonly #redecider: Redecider | undefined;
  #decisions = 0;
  #skipped: { readonly decisions: number; readonly policy: number } | undefined;
  #difference: Difference | undefined;

  constructor(snapshot: SavedSnapshot | undefined, redecide: boolean) {
    this.#snapshot = snapshot;
    this.#redecider = redecide ? new Redecider() : undefined;
  }

  take(block: Block): void {
    this.blocks++;
    if (this.damage?.code === "cannot be replayed") return;
    if (this.#redecider && !this.#difference) this.#redecide(this.#redecider, block);
    this.#replay(block);
    if (headOf(block).seq === this.#snapshot?.head.seq) this.#compareSnapshot(this.#snapshot, block);
  }

  /** A snapshot that goes on behind the end: something is missing there, or it belongs to another ledger. */
  snapshotAtEnd(head: Head): LocatedDamage | undefined {
    const snapshot = this.#snapshot;
    if (!snapshot || this.#snapshotSeen) return undefined;
    const detail =
      snapshot.head.seq > head.seq
        ? `the snapshot beside the ledger was taken at event ${snapshot.head.seq}, behind its end`
        : `the snapshot beside the ledger was taken at event ${snapshot.head.seq}, where no block ends`;
    return { seq: Math.min(snapshot.head.seq, head.seq + 1), code: "snapshot differs", detail, line: null };
  }

  snapshotResult(damage: LocatedDamage | undefined): Verification["snapshot"] {
    if (!this.#snapshot) return null;
    return { seq: this.#snapshot.head.seq, ok: this.#snapshotSeen && damage?.code !== "snapshot differs" };
  }

  redecided(): Redecided | undefined {
    if (!this.#redecider) return undefined;
    const ledger = this.#skipped?.policy ?? this.state.config.policyVersion;
    return {
      decisions: this.#decisions,
      skipped: this.#skipped?.decisions ?? 0,
      policyVersion: { ledger, program: POLICY_VERSION },
      difference: this.#difference ?? null,
    };
  }

  #replay(block: Block): void {
    try {
      replayBlock(this.state, block);
    } catch (cause) {
      const seq = Math.max(block.seq, this.state.seq);
      this.damage ??= {
        seq,
        code: "cannot be replayed",
        detail: (cause as Error).message,
        line: this.blocks,
      };
      return;
    }
    if (this.state.seq === headOf(block).seq) return;
    const detail = `its block has ${this.state.seq + 1 - block.seq} events and checks for ${block.count}`;
    this.damage ??= { seq: block.seq, code: "cannot be replayed", detail, line: this.blocks };
  }

  #compareSnapshot(snapshot: SavedSnapshot, block: Block): void {
    this.#snapshotSeen = true;
    const detail =
      snapshot.head.hash !== block.hash
        ? "the snapshot beside the ledger was taken of another chain"
        : snapshot.stateHash !== stateHash(this.state)
          ? "the snapshot beside the ledger has another state hash than the replayed state"
          : hashOf(snapshot.state) !== snapshot.stateHash
            ? "the snapshot beside the ledger is not what its state hash was taken of"
            : undefined;
    if (detail === undefined) return;
    this.damage ??= { seq: snapshot.head.seq, code: "snapshot differs", detail, line: this.blocks };
  }

  #redecide(redecider: Redecider, block: Block): void {
    let seq: number | undefined;
    try {
      const policy = policyOf(block) ?? this.state.config.policyVersion;
      if (policy !== POLICY_VERSION) {
        redecider.skip(block);
        this.#skipped = { decisions: (this.#skipped?.decisions ?? 0) + countDecisions(block), policy };
        return;
      }
      seq = redecider.check(block);
      this.#decisions += countDecisions(block);
      if (seq === undefined) return;
    } catch (cause) {
      const failure = (cause as Error).message;
      const recorded = safeEvents(block)[0] ?? null;
      this.#difference = { seq: block.seq, line: this.blocks, recorded, decided: null, failure };
      return;
    }
    const recorded = safeEvents(block);
    const at = seq - block.seq;
    const decided = decideAgain(this.state, block.now, recorded);
    this.#difference = {
      seq,
      line: this.blocks,
      recorded: recorded[at] ?? null,
      decided: decided[at] ?? null,
      failure: null,
    };
  }
}

/** What the step decides in this state, which it leaves as it is. */
function decideAgain(state: State, now: number, recorded: readonly LedgerEvent[]): LedgerEvent[] {
  const decided: LedgerEvent[] = [];
  const inputs = recorded.filter((event): event is Input => !isDecision(event));
  step(restore(takeSnapshot(state)), now, inputs, (event) => decided.push(event));
  return decided;
}

/** Of the rules that a block begins to keep to. Servers say so when they start, also after an upgrade. */
function policyOf(block: Block): number | undefined {
  if (!block.line.includes('"SchedulerConfigured"')) return undefined;
  const configured = eventsOf(block).find(({ event }) => event.kind === "SchedulerConfigured")?.event;
  return configured?.kind === "SchedulerConfigured" ? configured.config.policyVersion : undefined;
}

function countDecisions(block: Block): number {
  return eventsOf(block).reduce((count, { event }) => count + Number(isDecision(event)), 0);
}

function safeEvents(block: Block): LedgerEvent[] {
  try {
    return eventsOf(block).map(({ event }) => event);
  } catch {
    // The block cannot be read; replaying it says why.
    return [];
  }
}

/** Undefined: it is no state at all. */
function hashOf(state: unknown): string | undefined {
  try {
    return snapshotHash(state as Snapshot);
  } catch {
    return undefined;
  }
}

function locate(damage: Damage, blocks: number, { file, bytes }: OpenLedger): LocatedDamage {
  const allRead = file.soundBytes + file.tornBytes >= bytes;
  return { ...damage, line: allRead ? null : blocks + 1 };
}

const BLOCK_START = '{"v":1,"epoch":';

async function emptiness({ file }: OpenLedger, { blocks }: Check): Promise<LocatedDamage | undefined> {
  if (blocks > 0) return undefined;
  const start = await firstBytes(file.path, BLOCK_START.length);
  if (!BLOCK_START.startsWith(start)) {
    return { seq: 1, code: "not a block", detail: "the line does not begin as a block does", line: 1 };
  }
  return { seq: 1, code: "empty", detail: "the file holds no block", line: null };
}

async function firstBytes(path: string, count: number): Promise<string> {
  const handle = await open(path);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(count), 0, count, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await handle.close();
  }
}
