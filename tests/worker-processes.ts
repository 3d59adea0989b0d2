// Workers and test servers as processes of their own.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Assignment } from "../src/protocol/worker-messages.ts";
import type { Heard } from "./worker-server.ts";

const dist = (path: string): string => new URL(`../dist/${path}`, import.meta.url).href;

/** Ends as `orrery worker` does. */
const WORKER = `
  import { workerCommand } from "${dist("cli/worker.js")}";
  import { CliError } from "${dist("cli/errors.js")}";
  try {
    await workerCommand().exitOverride().parseAsync(process.argv.slice(1), { from: "user" });
  } catch (error) {
    process.stderr.write(error.message + "\\n");
    process.exitCode = error instanceof CliError ? error.exitCode : 2;
  }`;

export interface WorkerProcess {
  readonly child: ChildProcess;
  /** All of both streams so far. */
  output(): string;
  /** Resolves when this has been said. */
  says(text: string): Promise<void>;
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>;
}

export function startWorkerProcess(args: readonly string[], env: NodeJS.ProcessEnv = {}): WorkerProcess {
  return followed(
    spawn(process.execPath, ["--input-type=module", "-e", WORKER, "--", ...args], {
      env: { ...process.env, NO_COLOR: "1", ORRERY_API_KEY: "key", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    }),
  );
}

export function followed(child: ChildProcess): WorkerProcess {
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      child.emit("said");
    });
  }
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, output }));
  return {
    child,
    output: () => output,
    ended,
    async says(text) {
      while (!output.includes(text)) {
        await Promise.race([once(child, "said"), ended]);
        if (child.exitCode !== null && !output.includes(text))
          throw new Error(`it never said ${text}:\n${output}`);
      }
    },
  };
}

/** Lets this Node run TypeScript, as tasks files are run. */
const HOOKS = `import{register}from"node:module";register("${dist("worker/module-hooks.js")}",{data:{door:"${dist("worker/index.js")}"}})`;

export class ServerProcess {
  readonly port: number;
  readonly #child: ChildProcess;
  readonly #heard: Heard[];

  /** Silent: it answers no report. */
  static async start(port: number, manner: "answering" | "silent"): Promise<ServerProcess> {
    const main = fileURLToPath(new URL("./worker-server-main.ts", import.meta.url));
    const child = spawn(
      process.execPath,
      [`--import=data:text/javascript,${encodeURIComponent(HOOKS)}`, main, String(port), manner],
      { stdio: ["pipe", "pipe", "inherit"] },
    );
    const heard: Heard[] = [];
    const listening = new Promise<number>((resolve, reject) => {
      child.once("exit", () => reject(new Error("the server ended")));
      createInterface(child.stdout).on("line", (line) => {
        const message = JSON.parse(line) as Heard | { type: "listening"; port: number };
        if (message.type === "listening") return resolve(message.port);
        heard.push(message);
        child.emit("heard");
      });
    });
    return new ServerProcess(await listening, child, heard);
  }

  private constructor(port: number, child: ChildProcess, heard: Heard[]) {
    this.port = port;
    this.#child = child;
    this.#heard = heard;
  }

  assign(assignment: Assignment): void {
    this.#child.stdin?.write(`${JSON.stringify(assignment)}\n`);
  }

  async hears<Type extends Heard["type"]>(
    type: Type,
    fits: (message: Extract<Heard, { type: Type }>) => boolean = () => true,
  ): Promise<Extract<Heard, { type: Type }>> {
    for (;;) {
      const found = this.#heard.find(
        (message): message is Extract<Heard, { type: Type }> =>
          message.type === type && fits(message as Extract<Heard, { type: Type }>),
      );
      if (found) return found;
      await once(this.#child, "heard");
    }
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill("SIGKILL");
    await once(this.#child, "exit");
  }
}
