import type { Driver } from "../../driver/index.ts";
import {
  isAway,
  newId,
  type ScheduleFired,
  type ScheduleRow,
  type ScheduleStore,
} from "../../store/index.ts";
import type { Api, Caller, Refusal, Submitted } from "../api.ts";
import { readInboxBody } from "../http/inbox-body.ts";
import { isVisible } from "../live-task.ts";
import { refusal } from "../refusals.ts";
import { nextTimes } from "./cron.ts";
import { dueTimes } from "./due.ts";

/** What is asked for when a schedule is made; the rest of a row is ours. */
export type ScheduleSetting = Omit<
  ScheduleRow,
  "id" | "zone" | "agent" | "createdAt" | "keyId" | keyof ScheduleFired
>;

export interface ScheduleView extends ScheduleRow {
  readonly nextTimes: readonly number[];
  /** Why it fires no more although it is not paused: its key has ended. */
  readonly suspendedReason: string | undefined;
}

export interface SchedulesOptions {
  readonly store: ScheduleStore;
  readonly driver: Driver;
  readonly api: Pick<Api, "submit">;
  /** Tells why everything stands still that a key made; undefined if it goes on. */
  readonly whyEnded: (keyId: string) => string | undefined;
  readonly warn: (message: string) => void;
}

const MAX_PER_ZONE = 1_000;
const SHOWN_TIMES = 5;
/** Timers are set anew at least this often. */
const MAX_SLEEP_MS = 60_000;
/** What stands against a submission may be taken away before its time. */
const MAX_WAIT_MS = 5_000;
const AGAIN_AFTER_MS = 1_000;
const REFUSED = " is refused so far: ";
/** A server that led before may have changed a schedule in its last moments, after we looked. */
const LOOK_AGAIN_MS = 2_000;

interface Postponed {
  readonly retryAfterMs: number;
  readonly message: string;
}

interface Entry {
  row: ScheduleRow;
  /** On the ledger's time; undefined: never again. */
  wakeAt: number | undefined;
  isFiring: boolean;
}

/**
 * Recurring tasks: knows them all, and submits what is due, on the ledger's time.
 *
 * A task is submitted under a key of the schedule and the time, and only then is the time noted as seen to. Whoever
 * dies in between, or is taken over, leaves it to the next to submit it again, which makes no second task.
 */
export class Schedules implements AsyncDisposable {
  readonly #options: SchedulesOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #firing = new Set<Promise<void>>();
  /** Ids of rows that were left out. */
  readonly #unreadable = new Set<string>();
  /** Changes go one after the other: what is deleted while it is changed must not come back. */
  #lastChange: Promise<unknown> = Promise.resolve();
  #changes = 0;
  #lookingAgain: NodeJS.Timeout | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  private constructor(options: SchedulesOptions) {
    this.#options = options;
  }

  static async open(options: SchedulesOptions): Promise<Schedules> {
    const schedules = new Schedules(options);
    for (const row of await options.store.all()) schedules.#keepIfReadable(row);
    schedules.#wake();
    schedules.#lookingAgain = setInterval(() => void schedules.#lookAgain(), LOOK_AGAIN_MS).unref();
    return schedules;
  }

  create(caller: Caller, setting: ScheduleSetting): Promise<ScheduleView | Refusal> {
    return this.#inTurn(() => this.#create(caller, setting));
  }

  async #create({ zone, agent, keyId }: Caller, setting: ScheduleSetting): Promise<ScheduleView | Refusal> {
    const inZone = [...this.#entries.values()].filter(({ row }) => row.zone === zone);
    if (inZone.length >= MAX_PER_ZONE)
      return refusal("too-many-schedules", `the zone has ${MAX_PER_ZONE} schedules; delete some first`);
    const now = this.now();
    const fired = { seenTo: now, lastFiredAt: -1, lastTaskId: "", lastError: "" };
    return await this.#save({ id: newId(), zone, agent, keyId, ...setting, createdAt: now, ...fired });
  }

  all(): readonly ScheduleRow[] {
    return [...this.#entries.values()].map(({ row }) => row);
  }

  /** A key has ended, or was handed over. */
  noteKeys(): void {
    this.#wake();
  }

  list(caller: Caller): readonly ScheduleView[] {
    return [...this.#entries.values()]
      .filter(({ row }) => isVisible(caller, row))
      .map(({ row }) => this.#view(row));
  }

  find(caller: Caller, id: string): ScheduleView | undefined {
    const row = this.#visible(caller, id)?.row;
    return row && this.#view(row);
  }

  /** The times that pass while it is paused are not caught up. */
  setPaused(caller: Caller, id: string, paused: boolean): Promise<ScheduleView | undefined> {
    return this.#inTurn(async () => {
      const row = this.#visible(caller, id)?.row;
      if (!row || row.paused === paused) return row && this.#view(row);
      return await this.#save({ ...row, paused, seenTo: Math.max(row.seenTo, this.now()) });
    });
  }

  remove(caller: Caller, id: string): Promise<boolean> {
    return this.#inTurn(async () => {
      if (!this.#visible(caller, id)) return false;
      await this.#options.store.remove(id);
      this.#entries.delete(id);
      return true;
    });
  }

  /** Submits its task now, beside its times. */
  async run(caller: Caller, id: string): Promise<Submitted | undefined> {
    const row = this.#visible(caller, id)?.row;
    return row && (await this.#submit(row, `schedule:${id}:run:${newId()}`));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearInterval(this.#lookingAgain);
    await this.#lastChange;
    await Promise.all(this.#firing);
  }

  #inTurn<Result>(change: () => Promise<Result>): Promise<Result> {
    this.#changes++;
    const changed = this.#lastChange.then(change);
    this.#lastChange = changed.catch(() => {});
    return changed;
  }

  /** Learns what others have made, deleted, paused or resumed; next time, where something is being changed here. */
  async #lookAgain(): Promise<void> {
    const changes = this.#changes;
    await this.#lastChange;
    try {
      const rows = new Map((await this.#options.store.all()).map((row) => [row.id, row]));
      if (this.#isClosed || this.#changes !== changes) return;
      for (const id of this.#entries.keys()) if (!rows.has(id)) this.#entries.delete(id);
      for (const [id, row] of rows)
        if (this.#entries.get(id)?.row.paused !== row.paused) this.#keepIfReadable(row);
      this.#wake();
    } catch (error) {
      if (!this.#isClosed && !isAway(error))
        this.#options.warn(`schedules could not be read: ${(error as Error).message}`);
    }
  }

  /** The time of day, which the times of schedules are in. */
  now(): number {
    return this.#options.driver.timeOfDay();
  }

  #visible(caller: Caller, id: string): Entry | undefined {
    const entry = this.#entries.get(id);
    return entry && isVisible(caller, entry.row) ? entry : undefined;
  }

  async #save(row: ScheduleRow): Promise<ScheduleView> {
    await this.#options.store.save(row);
    this.#keep(row);
    this.#wake();
    return this.#view(row);
  }

  #view(row: ScheduleRow): ScheduleView {
    const suspendedReason = this.#options.whyEnded(row.keyId);
    const isStill = row.paused || suspendedReason !== undefined;
    return { ...row, nextTimes: isStill ? [] : nextTimes(row, this.now(), SHOWN_TIMES), suspendedReason };
  }

  /** Leaves out a row that cannot be read, so that it stops neither the start nor the others. */
  #keepIfReadable(row: ScheduleRow): void {
    if (this.#unreadable.has(row.id)) return;
    const problem = problemWith(row);
    if (problem === undefined) {
      this.#keep(row);
      return;
    }
    this.#unreadable.add(row.id);
    this.#options.warn(
      `schedule ${row.id} of zone ${row.zone} is left out, because its row cannot be read: ${problem}; delete the row, and make the schedule anew`,
    );
  }

  #keep(row: ScheduleRow): void {
    const entry = this.#entries.get(row.id) ?? { row, wakeAt: undefined, isFiring: false };
    entry.row = row;
    entry.wakeAt = row.paused ? undefined : nextTimes(row, row.seenTo, 1)[0];
    this.#entries.set(row.id, entry);
  }

  #wake(): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    const now = this.now();
    let sleepMs = MAX_SLEEP_MS;
    for (const entry of this.#entries.values()) {
      if (entry.wakeAt === undefined || entry.isFiring) continue;
      if (this.#options.whyEnded(entry.row.keyId) !== undefined) continue;
      if (entry.wakeAt <= now) this.#fire(entry);
      else sleepMs = Math.min(sleepMs, entry.wakeAt - now);
    }
    this.#timer = setTimeout(() => this.#wake(), sleepMs);
  }

  #fire(entry: Entry): void {
    entry.isFiring = true;
    const firing = this.#fireDue(entry)
      .catch((error: unknown) => {
        if (this.#isClosed) return;
        if (!isAway(error))
          this.#options.warn(
            `schedule ${entry.row.id} could not fire: ${(error as Error).message}; trying again`,
          );
        entry.wakeAt = this.now() + AGAIN_AFTER_MS;
      })
      .finally(() => {
        entry.isFiring = false;
        this.#firing.delete(firing);
        this.#wake();
      });
    this.#firing.add(firing);
  }

  async #fireDue(entry: Entry): Promise<void> {
    const now = this.now();
    for (const time of dueTimes(entry.row, now)) {
      if (this.#isClosed || this.#entries.get(entry.row.id) !== entry) return;
      // The times that pass while its key has ended are seen to when it is handed over.
      if (this.#options.whyEnded(entry.row.keyId) !== undefined) return;
      const fired = await this.#fireAt(entry.row, time);
      if ("retryAfterMs" in fired) {
        await this.#noteRefusal(entry, time, fired.message);
        entry.wakeAt = this.now() + Math.min(fired.retryAfterMs, MAX_WAIT_MS);
        return;
      }
      await this.#note(entry, fired);
    }
    // What was passed over is seen to as well.
    if (entry.row.seenTo < now) await this.#note(entry, { ...entry.row, seenTo: now });
  }

  /** It is tried again, but perhaps not until the next time is due: somebody should know. */
  async #noteRefusal(entry: Entry, time: number, message: string): Promise<void> {
    const { row } = entry;
    const isKnown = row.lastError.includes(REFUSED);
    const instant = new Date(time).toISOString();
    if (isKnown && row.lastError.startsWith(instant)) return;
    const lastError = `${instant}${REFUSED}${message}`;
    if (!isKnown) this.#options.warn(`schedule ${row.id}: ${lastError}`);
    await this.#note(entry, { ...row, lastError });
  }

  async #fireAt(row: ScheduleRow, time: number): Promise<ScheduleFired | Postponed> {
    const fired = { seenTo: time, lastFiredAt: time, lastTaskId: row.lastTaskId };
    if (row.overlap === "skip" && (await this.#isOpen(row.lastTaskId)))
      return { ...fired, lastError: `task ${row.lastTaskId} had not ended` };
    const submitted = await this.#submit(row, `schedule:${row.id}:${new Date(time).toISOString()}`);
    if (submitted.accepted) return { ...fired, lastTaskId: submitted.task.id, lastError: "" };
    const { code, message, retryAfterMs } = submitted;
    if (retryAfterMs !== undefined) return { retryAfterMs, message };
    // Fired before, by a server that could not say so, and its task is no longer kept.
    return { ...fired, lastError: code === "key-reused" ? "" : message };
  }

  async #note(entry: Entry, fired: ScheduleFired): Promise<void> {
    const { seenTo, lastFiredAt, lastTaskId, lastError } = fired;
    const noted = { seenTo, lastFiredAt, lastTaskId, lastError };
    await this.#options.store.noteFired(entry.row.id, noted);
    // It may have been paused or deleted meanwhile.
    if (this.#entries.get(entry.row.id) !== entry) return;
    this.#keep({ ...entry.row, ...noted, seenTo: Math.max(entry.row.seenTo, seenTo) });
  }

  #isOpen(taskId: string): Promise<boolean> {
    return this.#options.driver.read((state) => state.singles.byId(taskId) !== undefined);
  }

  async #submit({ zone, agent, task }: ScheduleRow, key: string): Promise<Submitted> {
    const read = readInboxBody(JSON.stringify({ ...JSON.parse(task), idempotency_key: key }));
    if ("error" in read) return refusal("unreadable-task", read.error);
    const caller: Caller = { keyId: "schedule", zone, agent, scopes: new Set(["submit"]), isZoneAdmin: true };
    const [submitted] = await this.#options.api.submit(caller, [read.submission]);
    return submitted as Submitted;
  }
}

/** What keeps the row of a schedule from being used; its field first. */
function problemWith(row: ScheduleRow): string | undefined {
  try {
    nextTimes(row, row.seenTo, 1);
  } catch (error) {
    return `cron or time_zone: ${(error as Error).message}`;
  }
  const [first = ""] = row.task.trimStart();
  if (first !== "{") return "task is not a JSON object";
  try {
    JSON.parse(row.task);
    return undefined;
  } catch {
    return "task is not JSON";
  }
}
