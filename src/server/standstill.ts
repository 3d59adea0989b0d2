import type { Webhooks } from "../webhooks/index.ts";
import { countOf } from "../words/index.ts";
import type { Keys } from "./keys.ts";
import type { Schedules } from "./schedules/schedules.ts";

interface StandstillOptions {
  readonly keys: Pick<Keys, "whyEnded" | "ownerOf">;
  readonly schedules: Pick<Schedules, "all">;
  readonly webhooks: Pick<Webhooks, "all" | "noteKeys">;
  readonly warn: (message: string) => void;
}

const LOOK_EVERY_MS = 2_000;
/** Ids that a line of the log names at most. */
const NAMED = 5;

/** Says in the log which schedules and webhooks stand still because their keys have ended. */
export class Standstill implements Disposable {
  readonly #options: StandstillOptions;
  readonly #timer: NodeJS.Timeout;
  #known: ReadonlySet<string> = new Set();

  constructor(options: StandstillOptions) {
    this.#options = options;
    this.#look();
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const { keys, schedules, webhooks, warn } = this.#options;
    const isStill = ({ keyId }: { readonly keyId: string }) => keys.whyEnded(keyId) !== undefined;
    const stillSchedules = schedules.all().filter(isStill);
    const stillWebhooks = webhooks.all().filter(isStill);
    const still = [...stillSchedules, ...stillWebhooks];
    const added = still.filter(({ id }) => !this.#known.has(id));
    const isChanged = added.length > 0 || still.length !== this.#known.size;
    this.#known = new Set(still.map(({ id }) => id));
    if (isChanged) webhooks.noteKeys();
    if (added.length === 0) return;
    const owners = [...new Set(added.map(({ keyId }) => keys.ownerOf(keyId)))];
    warn(
      `${countOf(stillSchedules.length, "schedule")} and ${countOf(stillWebhooks.length, "webhook")} stand still because their keys have ended: ` +
        `${named(added.map(({ id }) => id))}; hand them over with "orrery keys revoke KEY --hand-over-to OTHER" (${named(owners)}), or delete them`,
    );
  }
}

function named(ids: readonly string[]): string {
  const more = ids.length - NAMED;
  return ids.slice(0, NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
