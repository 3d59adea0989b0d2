import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { localCaller, startLocalWorker } from "../embedded/index.ts";
import { readGraphFile } from "../protocol/index.ts";
import type { Log, RunningServer } from "../server/index.ts";
import { type Handlers, loadTasksFile, shellCommand } from "../worker/index.ts";
import { neutralise } from "./terminal-text.ts";
import { runningTasks } from "./worker-words.ts";

const EXAMPLES = new URL("../../examples/", import.meta.url);
const ZONE = "default";

/** A worker in the server's process that knows the example tasks, and a first run for it. */
export async function startDemo({ service }: RunningServer, log: Log): Promise<AsyncDisposable | undefined> {
  // Another server leads, and has its own.
  if (!service) return undefined;
  const examples = await loadTasksFile(fileURLToPath(new URL("tasks.ts", EXAMPLES)));
  const handlers: Handlers = { ...examples, command: shellCommand };
  const worker = startLocalWorker(service.gateway, {
    handlers,
    executors: ["default", "local"],
    zone: ZONE,
    observe: (event) => {
      if (event.type === "draining" && event.running > 0)
        log.info(`its worker finishes ${neutralise(runningTasks(event))}; once more to end at once`);
    },
  });
  const caller = localCaller(ZONE);
  const { items: earlier } = await service.api.runs(caller, undefined, 1);
  const read = readGraphFile(readFileSync(new URL("hello.yaml", EXAMPLES)), "hello.yaml");
  if (read.ok && earlier.length === 0) {
    await service.api.submitRun(caller, { id: undefined, graph: read.graph, failFast: false });
  }
  return worker;
}
