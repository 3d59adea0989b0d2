/** What a server stands on: Node, the disk, its files, its port. */

import { stat, statfs } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import type { DataDirFacts } from "../store/index.ts";
import { formatBytes } from "../words/index.ts";
import { type Check, failure, pass, warning } from "./check.ts";

const NODE = [20, 20] as const;
const GIB = 1024 ** 3;
const MIN_KEY = 32;

export function checkNode(version: string): Check {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isNew = major > NODE[0] || (major === NODE[0] && minor >= NODE[1]);
  return isNew
    ? pass("node", `Node.js ${version}`)
    : failure("node", `Node.js ${version} is too old`, `install Node.js ${NODE.join(".")} or newer`);
}

export function checkFirstKey(key: string | undefined): Check[] {
  if (!key || key.length >= MIN_KEY) return [];
  const detail = `ORRERY_API_KEY has ${key.length} characters`;
  return [
    failure(
      "first key",
      detail,
      `give it at least ${MIN_KEY}: export ORRERY_API_KEY=sk-$(openssl rand -base64 32)`,
    ),
  ];
}

export async function checkDisk(dataDir: string): Promise<Check> {
  const { bavail, bsize, blocks } = await statfs(await nearest(dataDir));
  return judgeDisk(bavail * bsize, blocks * bsize, dataDir);
}

export function judgeDisk(freeBytes: number, totalBytes: number, dataDir: string): Check {
  const share = totalBytes === 0 ? 0 : freeBytes / totalBytes;
  const detail = `${formatBytes(freeBytes)} free (${Math.round(share * 100)} %) at ${dataDir}`;
  const fix = "free some, or move the data: nothing can be committed once it is full";
  if (freeBytes < GIB / 2) return failure("disk", detail, fix);
  return freeBytes < 5 * GIB && share < 0.1 ? warning("disk", detail, fix) : pass("disk", detail);
}

/** It may not be there yet. */
async function nearest(path: string): Promise<string> {
  const isThere = await stat(path).then(
    () => true,
    () => false,
  );
  return isThere || dirname(path) === path ? path : await nearest(dirname(path));
}

/** Checks that nobody else can read the files that hold the first key and the secret of the servers. */
export async function checkSecretFiles(dataDir: string): Promise<Check[]> {
  const checks = await Promise.all([
    checkSecretFile("key file", join(dataDir, "dev-key"), "rotate the key"),
    checkSecretFile("secret file", join(dataDir, "secret"), "replace the secret: orrery serve --new-secret"),
  ]);
  return checks.flat();
}

async function checkSecretFile(name: string, file: string, afterwards: string): Promise<Check[]> {
  const found = await stat(file).catch(() => undefined);
  if (!found) return [];
  const mode = (found.mode & 0o777).toString(8).padStart(3, "0");
  return (found.mode & 0o077) === 0
    ? [pass(name, `${file} is for its owner only (${mode})`)]
    : [failure(name, `${file} can be read by others (${mode})`, `chmod 600 ${file}, and ${afterwards}`)];
}

export function checkDataDir(dataDir: string, facts: DataDirFacts): Check[] {
  const checks: Check[] = [];
  if (facts.leftovers.length > 0) {
    const detail = `a crash left ${facts.leftovers.join(" and ")}`;
    checks.push(warning("leftovers", detail, "none is needed: the next start clears it away"));
  }
  if (facts.pid !== undefined && !facts.isInUse) {
    const detail = `PostgreSQL (${facts.pid}) runs on ${dataDir}, but no server does`;
    checks.push(
      warning(
        "leftovers",
        detail,
        `start the server, which takes it over, or stop it: kill -INT ${facts.pid}`,
      ),
    );
  }
  if (facts.major === undefined)
    checks.push(
      warning(
        "data",
        `there is no database in ${dataDir} yet`,
        "orrery serve makes one; or name another with --data or --store",
      ),
    );
  else if (facts.pid === undefined)
    checks.push(
      warning(
        "data",
        `the private PostgreSQL ${facts.major} of ${dataDir} does not run`,
        "start the server (orrery serve), and look again",
      ),
    );
  else checks.push(pass("data", `PostgreSQL ${facts.major} runs on ${dataDir} (${facts.pid})`));
  return checks;
}

/** Whether a server could listen there. */
export async function checkPort(host: string, port: number): Promise<Check> {
  const code = await new Promise<string>((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen(port, host, () => server.close(() => resolve("")));
  });
  if (code === "") return pass("port", `port ${port} is free`);
  const detail = code === "EADDRINUSE" ? `port ${port} is taken, by something else` : `port ${port}: ${code}`;
  return warning("port", detail, "choose another with orrery serve --port, or end what has it");
}
