// Handlers for `orrery worker --tasks examples/tasks.ts`. Each export is a task type.

import { setTimeout as sleep } from "node:timers/promises";
import { command, PermanentError, task } from "orrery/worker";

interface Greeting {
  readonly name: string;
}

export const greet = task<Greeting>(async ({ name }, { log }) => {
  if (typeof name !== "string")
    throw new PermanentError("payload.name must be a text", { code: "bad-payload" });
  log(`greeting ${name}`);
  return { hello: name };
});

/** Shows its progress, and ends soon when it is cancelled: the signal ends the sleep. */
export const countdown = task<{ readonly from: number }>(async ({ from }, { signal, progress, cost }) => {
  for (let step = 0; step < from; step++) {
    await sleep(1_000, undefined, { signal });
    progress((step + 1) / from, `${from - step - 1} to go`);
    cost(0.001);
  }
  return "lift-off";
});

/** The payload as JSON on stdin; what it writes to stdout is the result. */
export const wordcount = command("wc", ["-w"]);
