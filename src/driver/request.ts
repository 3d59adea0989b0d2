import type { Reply, Stimulus } from "../scheduler/index.ts";

/** The submission that is repeated. */
export interface Repeat {
  readonly taskId: string;
  readonly bodyHash: string;
  /** Its place in the same turn; undefined: it is of an earlier one, which may still be on its way to the store. */
  readonly of: number | undefined;
}

/** The answer to a stimulus: the scheduler's, or that it repeats an earlier one, with that one's answer. */
export type Answer = Reply | { readonly accepted: true; readonly repeats: Repeat; readonly throttle: false };

/** A stimulus that no turn has taken yet, or whose turn is not committed. */
export interface Waiting {
  readonly stimulus: Stimulus;
  readonly attached: unknown;
  readonly request: Request;
  /** Its place in the request. */
  readonly at: number;
}

/** Stimuli that were submitted together, and are answered together. */
export class Request {
  readonly #answers: Answer[];
  readonly #resolve: (answers: Answer[]) => void;
  readonly fail: (error: Error) => void;
  #left: number;

  constructor(size: number, resolve: (answers: Answer[]) => void, reject: (error: Error) => void) {
    this.#answers = new Array<Answer>(size);
    this.#left = size;
    this.#resolve = resolve;
    this.fail = reject;
  }

  answer(at: number, answer: Answer): void {
    this.#answers[at] = answer;
    if (--this.#left === 0) this.#resolve(this.#answers);
  }
}

/** What repeats a submission of the same turn is answered with it: taken, or refused for the same reason. */
export function answeredTogether(
  { stimulus, attached, request, at }: Waiting,
  others: readonly [waiting: Waiting, repeats: Repeat][],
): Waiting {
  const together = new Request(
    1,
    ([given]) => {
      const answer = given as Answer;
      request.answer(at, answer);
      for (const [other, repeats] of others) {
        other.request.answer(
          other.at,
          answer.accepted ? { accepted: true, repeats, throttle: false } : answer,
        );
      }
    },
    (error) => {
      request.fail(error);
      for (const [other] of others) other.request.fail(error);
    },
  );
  return { stimulus, attached, request: together, at: 0 };
}
