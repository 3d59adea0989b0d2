// Running other programs from our scripts.

import { spawn } from "node:child_process";

/**
 * Run a program that speaks only when it fails; then we end with its exit code.
 *
 * @param {string} folder
 * @param {string} command
 * @param {readonly string[]} args
 */
export async function runQuietly(folder, command, args) {
  const child = spawn(command, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  /** @type {Buffer[]} */
  const output = [];
  child.stdout.on("data", (chunk) => output.push(chunk));
  child.stderr.on("data", (chunk) => output.push(chunk));
  const code = await exitCode(child);
  if (code === 0) return;
  process.stderr.write(Buffer.concat(output));
  process.exit(code);
}

/**
 * Run a program of ours on this Node, its output going where ours goes.
 *
 * @param {string} folder
 * @param {readonly string[]} args
 */
export function runNode(folder, args) {
  return exitCode(spawn(process.execPath, args, { cwd: folder, stdio: "inherit" }));
}

/**
 * The command for npm: the one that started us, or else the one on the path.
 *
 * @param {string[]} args
 * @returns {[command: string, args: string[]]}
 */
export function npm(...args) {
  const { npm_execpath: script } = process.env;
  return script?.endsWith(".js") ? [process.execPath, [script, ...args]] : ["npm", args];
}

/**
 * @param {import("node:child_process").ChildProcess} child
 * @returns {Promise<number>}
 */
function exitCode(child) {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status) => resolve(status ?? 1));
  });
}
