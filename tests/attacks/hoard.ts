import type { Answer } from "../service.ts";

/** Sends a request as the attacker, with its own key. */
export type Send = (path: string, body: unknown, zone: string) => Promise<Answer>;

/** Tallies of the answers that an attacker got. */
export interface Hoarded {
  accepted: number;
  refused: number;
  /** The last refusal, as the caller reads it. */
  detail: string;
}

/**
 * Submits tasks that nobody runs and that are as heavy as the server takes them, through all zones that the key may use, until
 * the signal is given or `most` batches were sent (finding F2).
 */
export async function hoard(
  send: Send,
  zones: readonly string[],
  {
    most,
    size = 50,
    signal,
    pauseMs = 0,
  }: {
    readonly most: number;
    readonly size?: number;
    readonly signal?: AbortSignal;
    /** Pause after a batch of which nothing was accepted. */
    readonly pauseMs?: number;
  },
): Promise<Hoarded> {
  const hoarded: Hoarded = { accepted: 0, refused: 0, detail: "" };
  for (let batch = 0; batch < most && !signal?.aborted; batch++) {
    const zone = zones[batch % zones.length] as string;
    const tasks = Array.from({ length: size }, (_, at) => heavyTask(`${batch}-${at}`));
    const answer = await send("submit/batch", { tasks }, zone);
    // A batch that was refused as a whole has no results.
    const { results = [] } = answer.body as { results?: { status: number; problem?: { detail: string } }[] };
    const before = hoarded.accepted;
    for (const { status, problem } of results) {
      if (status === 201) hoarded.accepted++;
      else hoarded.refused++;
      if (problem) hoarded.detail = problem.detail;
    }
    if (hoarded.accepted === before && pauseMs > 0)
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return hoarded;
}

/** Twenty capabilities and twenty limits of 256 characters, none of which any other task names. */
function heavyTask(id: string): object {
  const names = (of: string) => Array.from({ length: 20 }, (_, at) => `${of}-${id}-${at}`.padEnd(256, "x"));
  return { executor: "nobody", task_type: "hoard", capabilities: names("c"), limits: names("l") };
}
