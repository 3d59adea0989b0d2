import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { RemoteOutput } from "./remote-output.ts";

type Log = ConstructorParameters<typeof RemoteOutput>[0]["log"];

/** The lines of a task, each of an attempt of its own. */
function outputOf(linesOf: (taskId: string) => readonly string[]) {
  const shown: string[] = [];
  let asked = 0;
  const log: Log = async (taskId, { after = -1 } = {}) => {
    asked++;
    await sleep(5);
    const lines = linesOf(taskId).map((text, at) => ({ line: at, text, attempt: at + 1 }));
    return lines.filter(({ line }) => line > after) as unknown as Awaited<ReturnType<Log>>;
  };
  const listener = {
    output: (taskId: string, text: string) => shown.push(`${taskId}: ${text}`),
    note: () => {},
  };
  const output = new RemoteOutput({ log }, listener, new AbortController().signal);
  return { output, shown, asked: () => asked };
}

test("what a task printed is shown once, however close its attempts end", async () => {
  const { output, shown } = outputOf(() => ["early", "again"]);
  output.attemptEnded("a", 1);
  output.attemptEnded("a", 2);
  await output.settled();
  expect(shown).toEqual(["a: early\nagain"]);
});

test("nodes that print nothing hold up the end of a run together, not each", async () => {
  const { output, asked } = outputOf(() => []);
  for (let at = 0; at < 200; at++) output.attemptEnded(`t${at}`, 1);
  const startedMs = performance.now();
  await output.settled();
  expect(performance.now() - startedMs).toBeLessThan(10_000);
  expect(asked()).toBeLessThanOrEqual(400);
});

test("a line that comes a moment after its attempt has ended is shown", async () => {
  const lines: string[] = [];
  const { output, shown } = outputOf(() => lines);
  output.attemptEnded("a", 1);
  await sleep(50);
  lines.push("late");
  output.attemptEnded("a", 2);
  await sleep(50);
  lines.push("later");
  await output.settled();
  expect(shown).toEqual(["a: late", "a: later"]);
});
