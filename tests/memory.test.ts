import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { directoryWith, startOrrery } from "./cli.ts";
import { MeasuredServer } from "./measured-server.ts";
import { freshDatabase } from "./service.ts";

const KEY = "sk-memory-0123456789-and-0123456789";
const API = "api/v2/scheduler";
/** As many as the longest memory of tasks that ended holds: it is full after the first round, and as full after the next. */
const ROUND = 10_000;
const BATCH = 50;
/** More than compiled code and what comes and goes take; a leak of 70 bytes for each task would be more. */
const MAX_GROWTH_BYTES = 640 * 1024;

class Caller {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async call(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(`${this.#url}/${API}/${path}`, {
      method,
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer;
  }

  /** Its tasks have ended when this resolves. */
  async round(done: number): Promise<void> {
    const deadline = "2100-01-01T00:00:00Z";
    for (let at = 0; at < ROUND; at += BATCH) {
      const tasks = Array.from({ length: BATCH }, (_, n) => ({
        executor: "default",
        task_type: "noop",
        payload: { number: done + at + n, text: "x".repeat(100) },
        // Behind one that waits: as long as that does, it is not the first.
        deadline,
      }));
      await this.call("POST", "submit/batch", { tasks });
    }
    for (;;) {
      const { totals } = (await this.call("GET", "metrics")) as { totals: { completed: number } };
      if (totals.completed === done + ROUND) return;
      await sleep(50);
    }
  }
}

test("a server holds no more after twice as many tasks have ended", { timeout: 300_000 }, async () => {
  await using server = await MeasuredServer.start({
    store: await freshDatabase(),
    key: KEY,
    remembered: 500,
  });
  const worker = startOrrery(
    await directoryWith({}),
    ["worker", "--server", server.url, "--slots", "100", "--quiet"],
    { ORRERY_API_KEY: KEY },
  );
  try {
    const caller = new Caller(server.url);
    const waiting = { executor: "nobody", task_type: "noop", deadline: "2099-01-01T00:00:00Z" };
    await caller.call("POST", "submit", waiting);
    await caller.round(0);
    const once = await server.heldBytes();
    await caller.round(ROUND);
    const twice = await server.heldBytes();
    expect(twice - once).toBeLessThan(MAX_GROWTH_BYTES);
  } finally {
    worker.child.kill("SIGKILL");
    await worker.finished;
  }
});
