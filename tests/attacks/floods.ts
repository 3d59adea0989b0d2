import { count, type Outcome, type Target } from "./target.ts";

export interface Flood {
  readonly method: string;
  readonly path: string;
  readonly type?: string;
  readonly body?: string | Buffer;
  /** Requests at a time. */
  readonly parallel: number;
  /** Pause of each sender after a refusal, in ms. */
  readonly pauseMs?: number;
}

/** Sends the same request again and again. Returns the number of answers by status. */
export async function flood(target: Target, what: Flood, signal: AbortSignal): Promise<Outcome> {
  const { method, path, type = "application/json", body, parallel, pauseMs = 20 } = what;
  const outcome: Outcome = {};
  const headers = {
    authorization: `Bearer ${target.key}`,
    ...(body !== undefined && { "content-type": type }),
  };
  const send = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        const answer = await fetch(`${target.url}${path}`, {
          method,
          headers,
          signal,
          ...(body !== undefined && { body }),
        });
        await answer.arrayBuffer();
        count(outcome, answer.status);
        if (answer.status < 400) continue;
      } catch {
        if (!signal.aborted) count(outcome, "cut");
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };
  await Promise.all(Array.from({ length: parallel }, send));
  return outcome;
}

/**
 * [F7] A graph in YAML of about `bytes` bytes, at most 128 KiB. Reading it takes much longer than reading JSON. Its last
 * node is invalid, so that nothing is kept.
 */
export function yamlGraph(bytes: number = 127 * 1024): string {
  let text = "nodes:\n";
  for (let n = 0; text.length < bytes - 64; n++) text += `  n${n}: {task: echo, payload: {a: [1, 2, 3]}}\n`;
  return `${text}  last: {task: echo, needs: [missing]}\n`;
}

/** [F7] A batch of about `bytes` bytes. The last task is invalid, so that all of it is read and nothing is kept. */
export function largeBatch(bytes: number): Buffer {
  const task = JSON.stringify({ executor: "none", task_type: "t", payload: { text: "x".repeat(900) } });
  const tasks = Array.from({ length: Math.max(1, Math.floor(bytes / (task.length + 1))) }, () => task);
  return Buffer.from(`{"tasks":[${tasks.join(",")},{"executor":""}]}`);
}
