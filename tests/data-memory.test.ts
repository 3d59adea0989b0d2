// Graphs over more data than their worker has memory for.

import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { type GraphNode, graph, OrreryClient, type TaskGraph } from "../src/client/index.ts";
import { directoryWith, startOrrery } from "./cli.ts";
import { SERVER_KEY, startServerProcess } from "./server-process.ts";

const MIB = 1024 * 1024;

const TASKS = `
  const holding = (number) => { const bytes = Buffer.alloc(${MIB}); bytes.writeDoubleLE(number); return bytes; };
  export const leaf = (number) => holding(number);
  export const merge = (one, other) => holding(one.readDoubleLE() + other.readDoubleLE());
  export const total = (...all) => all.reduce((sum, bytes) => sum + bytes.readDoubleLE(), 0);
`;

/** Computes it on one worker. What it comes to, and the most memory that the worker had. */
async function computed(
  build: (g: TaskGraph) => GraphNode,
  options: readonly string[],
): Promise<{ readonly value: unknown; readonly peakBytes: number; readonly spilled: number }> {
  const cwd = await directoryWith({ "tasks.mjs": TASKS });
  const env = { ORRERY_API_KEY: SERVER_KEY };
  const server = await startServerProcess(cwd, ["--store", "memory"]);
  const args = ["worker", "--server", server.url, "--tasks", "tasks.mjs", "--slots", "2", "--quiet"];
  const worker = startOrrery(cwd, [...args, ...options], env);
  try {
    const client = new OrreryClient({ url: server.url, key: SERVER_KEY });
    const g = graph();
    const wanted = build(g);
    await using computation = await client.start(g, wanted);
    const value = await computation.results();
    const status = await readFile(`/proc/${worker.child.pid}/status`, "utf8");
    const written = await readFile(`/proc/${worker.child.pid}/io`, "utf8");
    return {
      value,
      peakBytes: Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) * 1024,
      spilled: Number(/wchar: (\d+)/.exec(written)?.[1]),
    };
  } finally {
    for (const { child, finished } of [worker, server]) {
      child.kill("SIGTERM");
      await finished;
    }
  }
}

test("[D-09] [D-11] a tree over half a GiB needs a fraction of it at once, because branches are finished first", async () => {
  const leaves = 512;
  const { value, peakBytes } = await computed(
    (g) => {
      let layer = Array.from({ length: leaves }, (_, at) => g.task("leaf", at));
      while (layer.length > 1)
        layer = layer.flatMap((node, at) =>
          at % 2 === 1 ? [] : [g.task("merge", node, layer[at + 1] ?? node)],
        );
      return g.task("total", layer[0] as GraphNode);
    },
    ["--memory", "256MiB"],
  );
  expect(value).toBe((leaves * (leaves - 1)) / 2);
  expect(peakBytes).toBeLessThan(256 * MIB);
});

test("[D-11] what is needed at once and does not fit into memory goes to disk and comes back", async () => {
  const leaves = 96;
  const { value, spilled } = await computed(
    (g) => g.task("total", ...Array.from({ length: leaves }, (_, at) => g.task("leaf", at))),
    ["--data-memory", "16MiB"],
  );
  expect(value).toBe((leaves * (leaves - 1)) / 2);
  expect(spilled).toBeGreaterThan(64 * MIB);
});
