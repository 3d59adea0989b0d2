import type { LedgerEvent, LimitConfigured, TaskAssigned, TaskSubmitted } from "../ledger/index.ts";
import { type Model, ofZone } from "./model.ts";
import { isDemoted } from "./model-admission.ts";
import { isWaiting, type ModelTask } from "./model-tasks.ts";
import { classNow, isDeadlineNear, tierNow } from "./ranking.ts";
import type { Tally } from "./tally.ts";
import { tiersBought } from "./tiers.ts";

/** Counts what the ledger shows of orders, limits, prices and tasks of no run. Looks before events are applied. */
export class QueueNoticer {
  readonly #model: Model;
  readonly #tally: Tally;

  constructor(model: Model, tally: Tally) {
    this.#model = model;
    this.#tally = tally;
  }

  before(event: LedgerEvent, now: number): void {
    const tally = this.#tally;
    switch (event.kind) {
      case "SchedulerConfigured":
        if (this.#model.offered.size > 0 && event.config.order !== this.#model.config?.order)
          tally.count("order changed while tasks wait");
        break;
      case "TaskSubmitted":
        this.#submit(event, now);
        break;
      case "TaskAssigned":
        this.#assign(event, now);
        break;
      case "AttemptFailed":
        if (event.retry === false) tally.count("attempt failed for good");
        break;
      case "AttemptFinished":
        if (this.#reserved(event) > 0) tally.count("boost charged");
        break;
      case "TaskFailed":
        if (event.code === "expired") {
          const attempted = (this.#model.find(event)?.attempt ?? 0) > 0;
          tally.count(attempted ? "task expired after an attempt" : "task expired");
        }
        if (this.#reserved(event) > 0) tally.count("boost released");
        break;
      case "TaskCancelled":
        if (this.#reserved(event) > 0) tally.count("boost released");
        break;
      case "LimitConfigured":
        this.#setLimit(event);
        break;
      case "AgentConfigured":
        if (event.max !== undefined && event.max !== -1) tally.count("share of an agent set");
        if (event.rateCount !== undefined) tally.count("rate of an agent set");
        break;
      case "ZoneConfigured":
        if (event.max !== undefined) tally.count("share of a zone set");
        break;
      default:
    }
  }

  #submit(event: TaskSubmitted, now: number): void {
    const { settings } = this.#model;
    if (event.runAt > now) this.#tally.count("task due later");
    if (event.requeued) this.#tally.count("task put back");
    if (settings.credits && tiersBought(event.boostMicros, settings) > 0) this.#tally.count("boost reserved");
  }

  #assign(event: TaskAssigned, now: number): void {
    const { order } = this.#model.settings;
    this.#tally.count(`assigned in ${order} order`);
    const task = this.#model.find(event);
    if (task && order !== "graph" && isWaiting(task)) this.#noticeRank(task, order, now);
  }

  #noticeRank(task: ModelTask, order: "hrrn" | "classic", now: number): void {
    const model = this.#model;
    const isNear = isDeadlineNear(model, task, now);
    const [start, at] =
      order === "hrrn"
        ? [task.startClass, classNow(model, task, now)]
        : [task.tier, tierNow(model, task, now)];
    if (order === "hrrn" && task.startClass === 0 && isDemoted(model, task, now))
      this.#tally.count("lowered by cost");
    if (at < start) this.#tally.count(isNear ? "lifted by its deadline" : "lifted by its wait");
  }

  #setLimit({ zone, name, concurrency, rateCount }: LimitConfigured): void {
    const before = this.#model.limits.get(ofZone(zone, name));
    if (!before || (before.concurrency === null && before.rateCount === null)) return;
    this.#tally.count(concurrency === null && rateCount === null ? "limit taken away" : "limit set again");
  }

  #reserved(name: { readonly run: number; readonly node: number }): number {
    return this.#model.find(name)?.reservedMicros ?? 0;
  }
}
