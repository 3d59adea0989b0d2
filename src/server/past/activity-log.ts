import { type Activity, type Happening, RecentActivity } from "../recent-activity.ts";

/** What happened by an event: so many of something, or one that waited. */
interface Noted {
  readonly seq: number;
  readonly now: number;
  readonly zone: string;
  readonly what: Happening | "waited";
  /** How many, or how long. */
  readonly amount: number;
}

/** No glance goes further back. */
const LATELY_MS = 62_000;

/** What happened, so that the activity of the minute before any event can be told. */
export class ActivityLog {
  readonly #noted: Noted[] = [];
  #seq = 0;
  #now = 0;

  /** What is noted next happens by this event. */
  stand(seq: number, now: number): void {
    this.#seq = seq;
    this.#now = now;
  }

  tick(): void {}

  note(zone: string, what: Happening, count = 1): void {
    this.#noted.push({ seq: this.#seq, now: this.#now, zone, what, amount: count });
  }

  waited(zone: string, waitMs: number): void {
    this.#noted.push({ seq: this.#seq, now: this.#now, zone, what: "waited", amount: waitMs });
  }

  /** Of a zone, after an event and at its time. */
  activity(zone: string, seq: number, now: number): Activity {
    let clock = now - LATELY_MS;
    const recent = new RecentActivity(() => clock);
    for (let place = this.#firstAfter(clock); place < this.#noted.length; place++) {
      const noted = this.#noted[place] as Noted;
      if (noted.seq > seq) break;
      if (noted.zone !== zone) continue;
      clock = noted.now;
      recent.tick();
      if (noted.what === "waited") recent.waited(zone, noted.amount);
      else recent.note(zone, noted.what, noted.amount);
    }
    clock = now;
    return recent.of(zone);
  }

  #firstAfter(time: number): number {
    let low = 0;
    let high = this.#noted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#noted[middle] as Noted).now <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
