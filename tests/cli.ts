// The compiled command line, driven as a user does.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const MAIN: string = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));

const SECRET = "the secret that servers of tests share";

export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
}

export function startOrrery(cwd: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Started {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd,
    // Servers of one test share a store, and mostly no data directory.
    env: { ...process.env, NO_COLOR: "1", ...(args[0] === "serve" && { ORRERY_SECRET: SECRET }), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const finished = new Promise<Finished>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return { child, finished };
}

export function orrery(cwd: string, ...args: readonly string[]): Promise<Finished> {
  return startOrrery(cwd, args).finished;
}

/** An empty directory with the given files in it. */
export async function directoryWith(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "orrery-test-"));
  for (const [name, content] of Object.entries(files)) await writeFile(join(directory, name), content);
  return directory;
}
