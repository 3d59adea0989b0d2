// Workers with enough to do for a picture of them, for scripts/screenshots.mjs.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const AGENTS = ["ada", "grace", "edsger", "barbara"];
const WARM_MS = 45_000;

/**
 * Starts workers, keeps them busy with tasks of several types, and sets some limits. What it returns ends it.
 *
 * @param {string} root
 * @param {(method: string, path: string, body: object, agent?: string) => Promise<{ id: string }>} call
 * @param {Readonly<Record<string, string>>} env
 * @returns {Promise<() => Promise<void>>}
 */
export async function busyFleet(root, call, env) {
  const workers = ["media-1", "media-2"].map((id) =>
    spawn(
      process.execPath,
      [
        join(root, "dist/cli/main.js"),
        ...["worker", "--id", id, "--executor", "media", "--slots", "4", "--quiet"],
        ...["--tasks", join(root, "examples/tasks.ts")],
      ],
      { env: { ...process.env, ...env }, stdio: ["ignore", "ignore", "inherit"] },
    ),
  );
  await call("PUT", "/agents/ada", { max_concurrent: 4 });
  await call("POST", "/agents/grace/credits", { amount: "12.5" });
  await call("PUT", "/limits/openai", { concurrency: 5, rate: { count: 100, per_seconds: 60 } });
  await call("POST", "/pause", { executor: "gpu" });
  await call("POST", "/keys", { name: "ci", scopes: ["submit", "read"], agents: AGENTS });
  const stop = new AbortController();
  const feeding = feed(call, stop.signal);
  await sleep(WARM_MS);
  return async () => {
    stop.abort();
    await feeding;
    for (const worker of workers) worker.kill("SIGKILL");
    await Promise.all(workers.map((worker) => once(worker, "exit")));
  };
}

/**
 * @param {Parameters<typeof busyFleet>[1]} call
 * @param {AbortSignal} signal
 */
async function feed(call, signal) {
  for (let n = 0; !signal.aborted; n++) {
    const agent = AGENTS[n % AGENTS.length];
    const task = { executor: "media", max_attempts: 1 };
    const ms = 250 + ((n * 377) % 1900);
    const { id } = await call("POST", "/submit", { ...task, task_type: "sleep", payload: { ms } }, agent);
    if (n % 3 === 0)
      await call("POST", "/submit", { ...task, task_type: "countdown", payload: { from: 2 } }, agent);
    if (n % 5 === 0)
      await call("POST", "/submit", { ...task, task_type: "wordcount", payload: { n } }, agent);
    if (n % 7 === 0) await call("POST", "/submit", { ...task, task_type: "greet", payload: {} }, agent);
    if (n % 11 === 0) await call("POST", `/task/${id}/cancel`, {});
    await sleep(280);
  }
}
