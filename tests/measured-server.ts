// A server in a process of its own that says what it holds in memory, measured where nothing else is.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

const SERVER = `
  import { setImmediate } from "node:timers/promises";
  import { makeLog, startServer } from "${new URL("../dist/server/index.js", import.meta.url).href}";
  const [store, apiKey, remembered] = process.argv.slice(1);
  const server = await startServer({
    host: "127.0.0.1",
    port: 0,
    strictPort: true,
    store,
    dataDir: "",
    apiKey,
    secret: "the secret that servers of tests share",
    version: "test",
    settings: { config: { fairShare: null }, remembered: Number(remembered) },
    log: makeLog({ level: "error", write: (line) => process.stderr.write(line) }),
    onFailed: (error) => { throw error; },
  });
  process.on("message", async () => {
    for (let time = 0; time < 3; time++) { await setImmediate(); gc(); }
    const { heapUsed, external } = process.memoryUsage();
    process.send(heapUsed + external);
  });
  process.on("disconnect", () => process.exit());
  process.send(server.url);`;

export interface MeasuredOptions {
  readonly store: string;
  readonly key: string;
  /** Events and placements. */
  readonly remembered: number;
}

export class MeasuredServer implements AsyncDisposable {
  readonly url: string;
  readonly #child: ChildProcess;

  static async start({ store, key, remembered }: MeasuredOptions): Promise<MeasuredServer> {
    const args = ["--expose-gc", "--input-type=module", "-e", SERVER, "--", store, key, String(remembered)];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    return new MeasuredServer(child, String(await answerOf(child)));
  }

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  /** What is left when all that nobody holds is gone: objects and buffers. */
  async heldBytes(): Promise<number> {
    this.#child.send("how much?");
    return Number(await answerOf(this.#child));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const ended = once(child, "exit").then(() => {
    throw new Error(`the server ended with ${child.exitCode}`);
  });
  ended.catch(() => {});
  const [answer] = (await Promise.race([once(child, "message"), ended])) as readonly unknown[];
  return answer;
}
