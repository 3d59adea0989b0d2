import { Agent, request } from "node:http";
import type { Target } from "./target.ts";

export interface Latencies {
  /** Response times in ms, sorted. */
  readonly all: readonly number[];
  /** Answers other than 201, by status or error. */
  readonly failed: Readonly<Record<string, number>>;
  quantile(share: number): number;
}

/** Submits small tasks at an even rate, whether or not earlier ones are answered. Returns how long the answers took. */
export async function submitSteadily(
  target: Target,
  { perSecond }: { readonly perSecond: number },
  signal: AbortSignal,
): Promise<Latencies> {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const all: number[] = [];
  const failed: Record<string, number> = {};
  const pending = new Set<Promise<void>>();
  const startedMs = performance.now();
  for (let n = 0; !signal.aborted; n++) {
    const dueMs = startedMs + (n * 1000) / perSecond;
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const one = submit(target, agent).then((status) => {
      all.push(performance.now() - dueMs);
      if (status !== "201") failed[status] = (failed[status] ?? 0) + 1;
      pending.delete(one);
    });
    pending.add(one);
  }
  await Promise.all(pending);
  agent.destroy();
  all.sort((a, b) => a - b);
  return { all, failed, quantile: (share) => all[Math.floor(share * (all.length - 1))] ?? 0 };
}

function submit({ url, key }: Target, agent: Agent): Promise<string> {
  const body = JSON.stringify({ executor: "none", task_type: "t", payload: {} });
  return new Promise((resolve) => {
    const sent = request(`${url}/api/v2/scheduler/submit`, {
      method: "POST",
      agent,
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "content-length": body.length,
      },
    });
    sent.on("response", (answer) => {
      answer.resume();
      answer.on("end", () => resolve(String(answer.statusCode)));
      answer.on("error", () => resolve("cut"));
    });
    sent.on("error", (error) => resolve((error as NodeJS.ErrnoException).code ?? "error"));
    sent.end(body);
  });
}
