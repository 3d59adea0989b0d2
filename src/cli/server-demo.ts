import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { localCaller, startLocalWorker } from "../embedded/index.ts";
import { readGraphFile } from "../protocol/index.ts";
import type { Log, RunningServer } from "../server/index.ts";
import { type Handlers, loadTasksFile, shellCommand } from "../worker/index.ts";
import { neutralise } from "./terminal-text.ts";
import { runningTasks } from "./worker-words.ts";

const EXAMPLES = new URL("../../examples/", import.meta.url);
const FIRST_RUN = "greetings.yaml";
const ZONE = "default";

/** Starts a worker in the server's process for the example tasks, and submits a first run to it. */
export async function startDemo(
  { service }: RunningServer,
  log: Log,
  hasShell: boolean,
): Promise<AsyncDisposable | undefined> {
  // Another server leads, and has its own.
  if (!service) return undefined;
  const examples = await loadTasksFile(fileURLToPath(new URL("tasks.ts", EXAMPLES)));
  // A shell in the server's process can do what the server can; so it needs a word of the operator.
  const handlers: Handlers = { ...examples, ...(hasShell && { command: shellCommand }) };
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
  const read = readGraphFile(readFileSync(new URL(FIRST_RUN, EXAMPLES)), FIRST_RUN);
  if (read.ok && earlier.length === 0) {
    await service.api.submitRun(caller, { id: undefined, graph: read.graph, failFast: false });
  }
  return worker;
}
