// A scheduler on its PostgreSQL as a process of its own, to be killed.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

const dist = (path: string): string => new URL(`../dist/${path}`, import.meta.url).href;

const MAIN = `
  import { PostgresStore } from "${dist("store/postgres/store.js")}";
  import { openService } from "${dist("server/open-service.js")}";
  const fail = (error) => { console.error(error); process.exit(1); };
  const store = await PostgresStore.open({ url: process.argv[1] });
  await openService({ store, warn: console.error, onFailed: fail });
  console.log("ready");`;

export class SchedulerProcess {
  readonly #child: ChildProcess;
  #said = "";

  /** Resolves when its service is open. */
  static async start(url: string): Promise<SchedulerProcess> {
    const scheduler = new SchedulerProcess(url);
    await scheduler.#says("ready");
    return scheduler;
  }

  constructor(url: string) {
    this.#child = spawn(process.execPath, ["--input-type=module", "-e", MAIN, "--", url], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.#said += text;
        this.#child.emit("said");
      });
    }
    this.#child.once("exit", () => this.#child.emit("said"));
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null) throw new Error(`it had ended by itself:\n${this.#said}`);
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }

  async #says(text: string): Promise<void> {
    while (!this.#said.includes(text)) {
      if (this.#child.exitCode !== null) throw new Error(`it ended:\n${this.#said}`);
      await once(this.#child, "said");
    }
  }
}
