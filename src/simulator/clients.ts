import { sha256Hex } from "../core/index.ts";
import type { Attachment } from "../driver/index.ts";
import { NO_RUN } from "../placement/index.ts";
import type { Stimulus } from "../scheduler/index.ts";
import type { Agenda } from "./agenda.ts";
import { aboutBudget } from "./charges.ts";
import { aboutData } from "./data-words.ts";
import { attachedTo } from "./growth.ts";
import type { Host } from "./host.ts";
import type { Model } from "./model.ts";
import type { Network } from "./network.ts";
import type { PlannedTask } from "./random-tasks.ts";
import type { PlannedRun } from "./scenario.ts";

/** What is not answered, or refused, is tried again this often. */
const TRIES = 6;
const AGAIN_MS = 4_000;

/** Those who submit, cancel and try again, with the part of a server that their requests come in by. */
export class Clients {
  readonly #host: Host;
  readonly #model: Model;
  readonly #agenda: Agenda;
  readonly #network: Network;
  readonly #accepted = new Set<unknown>();
  #arrived = 0;

  constructor(host: Host, model: Model, agenda: Agenda, network: Network) {
    this.#host = host;
    this.#model = model;
    this.#agenda = agenda;
    this.#network = network;
  }

  submitRun(run: PlannedRun, tries: number = TRIES): void {
    const { event } = run;
    this.#network.send("client", () => {
      // The scheduler forgets ended runs; their rows stay.
      if (this.#host.hasRun(event.runId)) return;
      this.#host.receive(
        event,
        (answer) => {
          if (answer.accepted || answer.code === "duplicate-run") this.#accepted.add(run);
        },
        attachedTo(event),
      );
    });
    this.#agenda.in(AGAIN_MS, () => {
      if (tries > 1 && !this.#accepted.has(run)) this.submitRun(run, tries - 1);
    });
  }

  submitRunAgain(run: PlannedRun | undefined): void {
    if (run && this.#accepted.has(run)) this.submitRun(run, 1);
  }

  submitTask(task: PlannedTask): void {
    this.#sendTask(task, TRIES);
    for (const afterMs of task.againAfterMs) this.#agenda.in(afterMs, () => this.#sendTask(task, 1));
  }

  #sendTask(task: PlannedTask, tries: number): void {
    this.#network.send("client", () => this.#takeTask(task));
    this.#agenda.in(AGAIN_MS, () => {
      if (tries > 1 && !this.#accepted.has(task)) this.#sendTask(task, tries - 1);
    });
  }

  /** Ids are made where requests arrive; with a key, a client may as well send the id that it was told. */
  #takeTask(task: PlannedTask): void {
    const { key, keepsId } = task;
    const id = keepsId ? task.event.id : `${task.event.id}/${this.#arrived++}`;
    const event = { ...task.event, id };
    const { zone, agent } = event;
    const bodyHash = sha256Hex(task.event.id);
    const attached: Attachment = {
      type: "task",
      payload: JSON.stringify(id),
      settings: "{}",
      key: key === undefined ? undefined : { zone, agent, key, taskId: id, bodyHash },
      submitted: undefined,
    };
    const onAnswer = ({ accepted }: { readonly accepted: boolean }) => {
      if (accepted) this.#accepted.add(task);
    };
    this.#host.receive(event, onAnswer, attached);
  }

  cancelRun(run: PlannedRun | undefined, node: number): void {
    const known = this.#model.runById(run?.event.runId ?? "");
    if (known) this.#host.receive({ kind: "CancelRequested", run: known.number, node });
  }

  /** All of an added run, or a node of it. */
  cancelAdded(choice: number): void {
    const open = [...this.#model.runs.values()].filter((run) => run.addedBy && run.outcome === undefined);
    const run = open[choice % Math.max(1, open.length)];
    const node = choice % 3 === 0 ? -1 : (choice >>> 8) % (run?.tasks.length ?? 1);
    if (run) this.#host.receive({ kind: "CancelRequested", run: run.number, node });
  }

  cancelTask(choice: number): void {
    const open = [...this.#model.singles.values()];
    const task = open[choice % Math.max(1, open.length)];
    if (task) this.#host.receive({ kind: "CancelRequested", run: NO_RUN, node: task.node });
  }

  charge(choice: number): void {
    const stimulus = aboutBudget(this.#model, choice);
    if (stimulus) this.#host.receive(stimulus);
  }

  sayOfData(choice: number): void {
    const stimulus = aboutData(this.#model, choice);
    if (stimulus) this.#host.receive(stimulus);
  }

  /** Puts a task that has ended back into the queue. */
  retryTask(choice: number): void {
    const ended = [...this.#model.past.values()].filter(({ status }) => status !== "completed");
    const task = ended[choice % Math.max(1, ended.length)];
    if (!task?.submission) return;
    const { submission, attempt } = task;
    this.#host.receive({ ...submission, deadline: -1, runAt: -1, attempts: attempt, requeued: true });
  }

  /** Says it until it is heard. */
  insist(order: Stimulus): void {
    let heard = false;
    const say = () => {
      if (heard) return;
      this.#host.receive(order, () => {
        heard = true;
      });
      this.#agenda.in(AGAIN_MS, say);
    };
    say();
  }
}
