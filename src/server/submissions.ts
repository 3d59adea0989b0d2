import { setImmediate } from "node:timers/promises";
import { invariant, type Specimens } from "../core/index.ts";
import type { Answer, Driver } from "../driver/index.ts";
import type { Caller, Submitted, TaskSubmission, TaskView } from "./api.ts";
import { NewTask } from "./new-task.ts";
import { refusal, refusalOf } from "./refusals.ts";
import { stimulusOf } from "./stimuli.ts";
import type { Traces } from "./traces.ts";

/** As many as a turn takes. While one slice is decided and one is committed, the next is made ready. */
const SLICE = 500;
const SLICES_AHEAD = 3;
/** How many repetitions are looked up at once. */
const AT_ONCE = 32;
const KEY_LOST = refusal("key-reused", "the task of this idempotency key is no longer kept; use a new key");

type Repeated = Extract<Answer, { readonly repeats: unknown }>;

/** Takes tasks in, one or many, and answers for each of them when it is stored. */
export class Submissions {
  readonly #driver: Driver;
  readonly #traces: Pick<Traces, "keep">;
  /** See `Specimens`. */
  readonly #specimens: Specimens<"task"> = {};
  readonly #task: (caller: Caller, id: string) => Promise<TaskView | undefined>;

  constructor(
    driver: Driver,
    traces: Pick<Traces, "keep">,
    task: (caller: Caller, id: string) => Promise<TaskView | undefined>,
  ) {
    this.#driver = driver;
    this.#traces = traces;
    this.#task = task;
  }

  submit(caller: Caller, submissions: readonly TaskSubmission[]): Promise<readonly Submitted[]> {
    return submissions.length <= SLICE
      ? this.#submitSlice(caller, submissions)
      : this.#submitMany(caller, submissions);
  }

  async #submitMany(caller: Caller, submissions: readonly TaskSubmission[]): Promise<readonly Submitted[]> {
    const slices: Promise<readonly Submitted[]>[] = [];
    for (let from = 0; from < submissions.length; from += SLICE) {
      await slices.at(-SLICES_AHEAD);
      const slice = this.#submitSlice(caller, submissions.slice(from, from + SLICE));
      // Whoever waits for an earlier one that failed does not come to wait for this one.
      slice.catch(() => {});
      slices.push(slice);
      await setImmediate();
    }
    return (await Promise.all(slices)).flat();
  }

  async #submitSlice(caller: Caller, submissions: readonly TaskSubmission[]): Promise<readonly Submitted[]> {
    const stimuli: ReturnType<typeof stimulusOf>[] = [];
    for (const submission of submissions) {
      const made = stimulusOf(caller, submission);
      if (submission.trace) this.#traces.keep(made.stimulus.id, submission.trace);
      stimuli.push(made);
    }
    const answers = await this.#driver.submitAll(stimuli);
    const now = this.#driver.now();
    const timeOfDay = this.#driver.timeOfDay();
    const submitted: Submitted[] = [];
    const repeated: number[] = [];
    for (let at = 0; at < answers.length; at++) {
      const answer = answers[at] as Answer;
      if (!answer.accepted) submitted.push(refusalOf(answer, now));
      else if ("repeats" in answer) {
        submitted.push(KEY_LOST);
        repeated.push(at);
      } else {
        const { submitted: task } = (stimuli[at] as (typeof stimuli)[number]).attached;
        invariant(task, "a submission that was taken is a task");
        const taken = new NewTask(this.#driver.state, task, timeOfDay, answer.throttle);
        this.#specimens.task = taken;
        submitted.push(taken);
      }
    }
    // A few at a time: what repeats an earlier submission is looked up, and a batch may do so by the thousands.
    for (let from = 0; from < repeated.length; from += AT_ONCE) {
      await Promise.all(
        repeated.slice(from, from + AT_ONCE).map(async (at) => {
          const { bodyHash } = submissions[at] as TaskSubmission;
          submitted[at] = await this.#repeated(caller, bodyHash, answers[at] as Repeated);
        }),
      );
    }
    return submitted;
  }

  async #repeated(caller: Caller, bodyHash: string, { repeats }: Repeated): Promise<Submitted> {
    if (bodyHash !== repeats.bodyHash) {
      return refusal("key-reused", "this idempotency key came with another request before");
    }
    const task = await this.#task(caller, repeats.taskId);
    return task ? { accepted: true, id: task.id, task, repeated: true, throttle: false } : KEY_LOST;
  }
}
