import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { localCaller, startLocalWorker } from "../embedded/index.ts";
import { readGraphFile } from "../protocol/index.ts";
import type { RunningServer } from "../server/index.ts";
import { type Handlers, loadTasksFile, shellCommand } from "../worker/index.ts";

const EXAMPLES = new URL("../../examples/", import.meta.url);
const ZONE = "default";

/** A worker in the server's process that knows the example tasks, and a first run for it. */
export async function startDemo({ service }: RunningServer): Promise<AsyncDisposable> {
  const examples = await loadTasksFile(fileURLToPath(new URL("tasks.ts", EXAMPLES)));
  const handlers: Handlers = { ...examples, command: shellCommand };
  const worker = startLocalWorker(service.gateway, {
    handlers,
    executors: ["default", "local"],
    zone: ZONE,
  });
  const file = new URL("hello.yaml", EXAMPLES);
  const read = readGraphFile(readFileSync(file), "hello.yaml");
  if (read.ok) {
    await service.api.submitRun(localCaller(ZONE), { id: undefined, graph: read.graph, failFast: false });
  }
  return worker;
}
