// Attackers as processes of their own. They have a lower priority than the server, because on a small machine they would
// take its CPU time, against which no server can defend itself.

import { execFile, spawn } from "node:child_process";
import { mkdtemp, readdir, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { AttackOrder } from "./attacks/main.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Compiles the attacks, which Node.js 20 cannot run as they are. Returns the path of their main file. */
export async function compileAttacks(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "orrery-attacks-"));
  const options = [
    "--ignoreConfig",
    "--noCheck",
    "--noResolve",
    "--module",
    "nodenext",
    "--target",
    "es2024",
  ];
  const rest = ["--rewriteRelativeImportExtensions", "--rootDir", join(ROOT, "tests"), "--outDir", folder];
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  const attacks = join(ROOT, "tests/attacks");
  const files = (await readdir(attacks)).map((name) => join(attacks, name));
  await promisify(execFile)(process.execPath, [tsc, ...options, ...rest, ...files], { cwd: ROOT });
  await symlink(join(ROOT, "package.json"), join(folder, "package.json"));
  return join(folder, "attacks/main.js");
}

/** Runs an attack to its end. Returns what came of it. */
export function runAttack(main: string, order: AttackOrder): Promise<string> {
  const child = spawn("nice", ["-n", "10", process.execPath, main, JSON.stringify(order)], {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  let said = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(said);
      else reject(new Error(`the attacker ended with ${code}`));
    });
  });
}
