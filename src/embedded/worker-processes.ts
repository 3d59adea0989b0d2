import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { WorkerOrder, WorkerWord } from "./worker-main.ts";

const MAIN = fileURLToPath(new URL("./worker-main.js", import.meta.url));
/** How long one may take to end once it was told to. */
const END_MS = 5_000;

/** Worker processes that are there until they are closed: one that dies is replaced under its own id. */
export class WorkerProcesses implements AsyncDisposable {
  /** What they can run. */
  tasks: readonly string[] = [];
  readonly #warn: (message: string) => void;
  readonly #children = new Set<ChildProcess>();
  #isClosing = false;

  constructor(warn: (message: string) => void) {
    this.#warn = warn;
  }

  /** Resolves when it has connected; rejects with the reason why it cannot. */
  async start(order: WorkerOrder): Promise<void> {
    // What tasks print is no output of the program that waits for them.
    const child = fork(MAIN, { stdio: ["ignore", 2, 2, "ipc"], execArgv: [] });
    this.#children.add(child);
    child.once("exit", (code, signal) => {
      this.#children.delete(child);
      if (!isReady || this.#isClosing) return;
      this.#warn(`worker ${order.id} ended by ${signal ?? `exit code ${code}`}; another one takes its place`);
      this.start(order).catch((error: Error) => this.#warn(`no worker ${order.id}: ${error.message}`));
    });
    let isReady = false;
    child.send(order, () => {});
    this.tasks = await ready(child);
    isReady = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    await Promise.all(Array.from(this.#children, ended));
  }
}

async function ready(child: ChildProcess): Promise<readonly string[]> {
  const ended = once(child, "exit").then(([code, signal]) => {
    throw new Error(`a worker ended before it had begun, by ${signal ?? `exit code ${code}`}`);
  });
  const [word] = (await Promise.race([once(child, "message"), ended])) as [WorkerWord];
  if (word.type === "failed") throw new Error(word.message);
  return word.tasks;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  if (child.connected) child.disconnect();
  const force = setTimeout(() => child.kill("SIGKILL"), END_MS);
  await exit;
  clearTimeout(force);
}
