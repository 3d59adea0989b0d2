// A server as a process of its own, on a private PostgreSQL or on memory.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Finished, type Started, startOrrery } from "./cli.ts";

export const SERVER_KEY = "sk-server-process-0123456789-and-0123456789";

export interface ServerProcess extends Started {
  readonly url: string;
  /** What it has written to stderr so far. */
  readonly said: () => string;
}

/** Resolves when it is ready. */
export async function startServerProcess(
  cwd: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<ServerProcess> {
  const started = startOrrery(cwd, ["serve", "--port", "0", "--json", ...args], {
    DATABASE_URL: undefined,
    // Node says on stderr that both this and NO_COLOR are set.
    FORCE_COLOR: undefined,
    ORRERY_API_KEY: SERVER_KEY,
    ...env,
  });
  let stderr = "";
  started.child.stderr?.on("data", (text: string) => {
    stderr += text;
  });
  const url = await new Promise<string>((resolve, reject) => {
    let stdout = "";
    started.child.stdout?.on("data", (text: string) => {
      stdout += text;
      const found = /"url": "(.+?)"/.exec(stdout)?.[1];
      if (found !== undefined) resolve(found);
    });
    started.finished.then((ended: Finished) => reject(new Error(`it ended: ${ended.stderr}`)), reject);
  });
  return { ...started, url, said: () => stderr };
}

/** Undefined: none runs, or ran to its end. */
export async function postmasterOf(dataDir: string): Promise<number | undefined> {
  const text = await readFile(join(dataDir, "postgres", "postmaster.pid"), "utf8").catch(() => "");
  const pid = Number.parseInt(text, 10);
  return Number.isInteger(pid) && isAlive(pid) ? pid : undefined;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
