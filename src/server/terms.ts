import { setTimeout as sleep } from "node:timers/promises";
import { Forwarder, type Term, untilLeading } from "../cluster/index.ts";
import { type Leadership, type Member, type ServiceStore, StoreError } from "../store/index.ts";
import type { Door } from "./door.ts";
import type { ClusterControl, ClusterStatus, SteppingDown } from "./http/route.ts";
import { follower, leader, refusals, UNSURE } from "./keepers.ts";
import type { Keys } from "./keys.ts";
import type { OpenService } from "./open-service.ts";
import type { PreparedApp } from "./prepared-app.ts";

export interface TermsOptions {
  readonly store: ServiceStore;
  readonly isShared: boolean;
  readonly leaseMs: number;
  readonly name: string;
  readonly holder: string;
  /** Where the others find this server. */
  readonly url: string;
  readonly door: Door;
  readonly keys: Keys;
  /** What answers while this server leads, once for each time. */
  readonly prepare: () => Promise<PreparedApp>;
  readonly open: (term: Term, onFailed: (error: Error) => void) => Promise<OpenService>;
  /** What runs beside it for as long as it leads. */
  readonly beside: ((service: OpenService) => AsyncDisposable) | undefined;
  /** What answers at any time; made once, used while this server does not lead. */
  readonly local: Parameters<typeof follower>[0];
  readonly warn: (message: string) => void;
  /** It can neither lead nor follow. */
  readonly onFailed: (error: Error) => void;
}

export const STARTING = "the server reads what is stored, to lead or to follow";

/** A server that was heard of within so many leases may take over. */
const FRESH_LEASES = 3;

/**
 * This server among those that share its store: it follows, leads when nobody else does, and follows again when it
 * was deposed or stepped down. Only who leads schedules; the others hand on what they are asked.
 */
export class Terms implements ClusterControl, AsyncDisposable {
  /** Settles when it leads or follows for the first time. */
  readonly ready: Promise<void>;
  readonly #options: TermsOptions;
  readonly #forwarder: Forwarder;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  readonly #roll: NodeJS.Timeout | undefined;
  #role: Member["role"] = "starting";
  #seq = 0;
  #lastSeen: Leadership | undefined;
  #hasSaidWaiting = false;
  #led: { readonly term: Term; readonly service: OpenService } | undefined;
  #onReady: () => void = () => {};
  #onNotReady: (error: Error) => void = () => {};
  #endTerm: (how: "deposed" | "stepped down" | Error) => void = () => {};

  constructor(options: TermsOptions) {
    this.#options = options;
    this.ready = new Promise((resolve, reject) => {
      this.#onReady = resolve;
      this.#onNotReady = reject;
    });
    this.ready.catch(() => {});
    this.#forwarder = new Forwarder({ name: options.name, ...refusals });
    options.door.keeper = follower(options.local, this.#forwarder, options.keys);
    if (options.isShared) this.#roll = setInterval(() => this.#enrol(), options.leaseMs / 3).unref();
    this.#running = this.#run().catch((error: unknown) => {
      this.#onNotReady(error as Error);
      if (!this.#stopping.signal.aborted) options.onFailed(error as Error);
    });
  }

  get role(): Member["role"] {
    return this.#role;
  }

  /** Returns why a submission would be refused by this server now; undefined if it would be taken or forwarded. */
  notReady(): string | undefined {
    if (this.#role === "starting") return STARTING;
    if (this.#role === "follower") return this.#forwarder.whyNot;
    return this.#led && !this.#led.term.isCertain ? UNSURE : undefined;
  }

  /** While it leads. */
  get service(): OpenService | undefined {
    return this.#led?.service;
  }

  async status(): Promise<ClusterStatus> {
    const { store, name, url, leaseMs } = this.#options;
    const [leadership, others] = await Promise.all([store.leadership(), store.members()]);
    const me = { name, url, role: this.#role, seq: this.#seqNow(leadership), seenMsAgo: 0 };
    const members = [...others.filter((member) => member.name !== name), me];
    return { name, leadership, leaseMs, members: members.sort((a, b) => (a.name < b.name ? -1 : 1)) };
  }

  async stepDown(): Promise<SteppingDown | undefined> {
    const { store, name, leaseMs } = this.#options;
    const freshMs = FRESH_LEASES * leaseMs;
    const others = (await store.members()).filter(
      (member) => member.name !== name && member.role === "follower" && member.seenMsAgo < freshMs,
    );
    const led = this.#led;
    if (!led || others.length === 0) return undefined;
    const { epoch } = led.term;
    const goAhead = (): void => {
      if (this.#led === led) this.#endTerm("stepped down");
    };
    return { name, epoch, goAhead };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#endTerm("stepped down");
    clearInterval(this.#roll);
    await this.#running;
    this.#forwarder[Symbol.dispose]();
    await this.#options.store.removeMember(this.#options.name).catch(() => {});
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    for (let standsBack = false; !signal.aborted; ) {
      const preparing = this.#options.prepare();
      // Until it is waited for.
      preparing.catch(() => {});
      const term = await this.#follow(standsBack);
      const prepared = await preparing;
      if (!term) {
        await prepared.app.close();
        return;
      }
      const how = await this.#lead(term, prepared);
      if (how instanceof Error) throw how;
      standsBack = how === "stepped down";
    }
  }

  async #follow(standsBack: boolean): Promise<Term | undefined> {
    const { store, isShared, leaseMs, holder, url } = this.#options;
    this.#setRole("starting");
    return await untilLeading({
      store,
      isShared,
      leaseMs,
      standsBack,
      as: { holder, url },
      signal: this.#stopping.signal,
      onSeen: (seen) => this.#saw(seen),
      onFollowed: (seq, isAlive) => this.#followed(seq, isAlive),
    });
  }

  #saw(seen: Leadership): void {
    // An earlier life of this server may still be named.
    this.#forwarder.follow(seen.url === this.#options.url ? { holder: "", url: "" } : seen);
    this.#lastSeen = seen;
  }

  #followed(seq: number, isAlive: boolean): void {
    this.#seq = seq;
    const { isShared, holder, warn, leaseMs } = this.#options;
    const leading = this.#lastSeen?.holder ?? "";
    // Nobody to follow: it will lead in a moment.
    if (!isShared || leading === "" || leading === holder || this.#role === "follower") return;
    if (isAlive) {
      this.#setRole("follower");
      warn(`following ${leading}, which leads`);
      this.#onReady();
    } else if (!this.#hasSaidWaiting) {
      this.#hasSaidWaiting = true;
      warn(`${leading} led last and may be alive: waiting for a sign of it, up to ${leaseMs / 1000} s`);
    }
  }

  /** Until it is deposed, steps down, or cannot go on. */
  async #lead(term: Term, prepared: PreparedApp): Promise<"deposed" | "stepped down" | Error> {
    const { door, open, beside, local, warn, holder } = this.#options;
    const before = this.#lastSeen?.holder ?? "";
    const hasFollowed = this.#role === "follower";
    this.#forwarder.follow({ holder, url: "" });
    const ended = new Promise<"deposed" | "stepped down" | Error>((resolve) => {
      this.#endTerm = resolve;
    });
    void term.deposed.then(() => this.#endTerm("deposed"));
    if (this.#stopping.signal.aborted) this.#endTerm("stepped down");
    let service: OpenService | undefined;
    let besideIt: AsyncDisposable | undefined;
    try {
      service = await open(term, (error) => this.#endTerm(isDeposed(error) ? "deposed" : error));
      this.#led = { term, service };
      door.keeper = leader(prepared.serve(service), term);
      this.#setRole("leader");
      besideIt = beside?.(service);
      const after = before === holder ? "" : before;
      if (hasFollowed || after !== "")
        warn(`leading since epoch ${term.epoch}${after === "" ? "" : `, after ${after}`}`);
      this.#onReady();
      return await ended;
    } catch (error) {
      if (isDeposed(error)) return "deposed";
      throw error;
    } finally {
      this.#led = undefined;
      this.#setRole("starting");
      door.keeper = follower(local, this.#forwarder, this.#options.keys);
      // Whoever waits is told at once.
      const closed = prepared.app.close();
      await besideIt?.[Symbol.asyncDispose]();
      await this.#endOf(term, service);
      await closed;
    }
  }

  /** What is being committed is finished, then the next one may lead. */
  async #endOf(term: Term, service: OpenService | undefined): Promise<void> {
    await service?.[Symbol.asyncDispose]();
    await Promise.race([term.release(), sleep(this.#options.leaseMs, undefined, { ref: false })]);
  }

  #setRole(role: Member["role"]): void {
    this.#role = role;
    this.#enrol();
  }

  /** Nothing depends on it but what people are shown. */
  #enrol(): void {
    if (this.#stopping.signal.aborted) return;
    const { store, name, url } = this.#options;
    const member = { name, url, role: this.#role, seq: this.#led ? store.head.seq : this.#seq };
    store.saveMember(member).catch(() => {});
  }

  #seqNow({ seq }: Leadership): number {
    return this.#role === "leader" ? seq : this.#seq;
  }
}

function isDeposed(error: unknown): boolean {
  return error instanceof StoreError && error.code === "locked";
}
