import { resolve } from "node:path";
import { type Config, problemLine, readConfig } from "../config/index.ts";
import { inspectDataDir } from "../store/index.ts";
import { type Check, failure, pass } from "./check.ts";
import { checkDataDir, checkDisk, checkFirstKey, checkNode, checkSecretFiles } from "./check-machine.ts";
import { checkServer } from "./check-server.ts";
import { checkStore } from "./check-store.ts";
import type { DoctorOptions } from "./doctor.ts";
import { CheckFailed, UsageError } from "./errors.ts";
import { printLines, stdoutPalette } from "./output.ts";
import { printSafeJson, shown } from "./service-text.ts";
import { assignment } from "./settings.ts";

const USUAL_PORT = 2026;

/** All checks, whatever becomes of each; those that failed decide how the command ends. */
export async function diagnose(options: DoctorOptions): Promise<void> {
  const config = readConfig(options.config, process.env, {
    options: (options.set ?? []).map(assignment),
    reader: "serve",
  });
  // With port 0 it may be anywhere.
  const usual = `http://127.0.0.1:${config.settings.server.port || USUAL_PORT}`;
  // A variable that is set to nothing says nothing.
  const server = options.server || usual;
  if (!/^https?:$/.test(URL.canParse(server) ? new URL(server).protocol : ""))
    throw new UsageError(`${server} is no URL of a server; one looks like ${usual}`);
  const address = { url: server, key: options.key, isNamed: Boolean(options.server) };
  const dataDir = resolve(options.data ?? config.settings.server.dataDir);
  const store = options.store || config.settings.server.store;
  const parts = [
    guarded("node", async () => [
      checkNode(process.versions.node),
      ...checkFirstKey(process.env["ORRERY_API_KEY"]),
      ...checkSettings(config),
    ]),
    guarded("store", () => checkStores(store, dataDir, config.settings.server.secret)),
    guarded("secret files", () => checkSecretFiles(dataDir)),
    guarded("server", () => checkServer(address)),
  ];
  const checks = (await Promise.all(parts)).flat();
  await print(checks, options.json);
  if (checks.some(({ result }) => result === "fail")) throw new CheckFailed();
}

/** Of what is wrong with variables, their own checks say more. */
function checkSettings({ file, problems }: Config): Check[] {
  if (file === undefined) return [];
  const wrong = problems.filter(({ where }) => where !== undefined).map(problemLine);
  if (wrong.length === 0) return [pass("settings", `from ${file}`)];
  return [failure("settings", wrong.join("; "), "mend the file; orrery config check says the same")];
}

async function checkStores(
  store: string | undefined,
  dataDir: string,
  secret: string | undefined,
): Promise<Check[]> {
  if (store === "memory") return [pass("store", "memory: nothing is kept when the server stops")];
  const secretProblem = async (fingerprint: string): Promise<string | undefined> =>
    (await import("../server/index.ts")).secretProblem(secret, dataDir, fingerprint);
  if (store !== undefined) return await checkStore(store, secretProblem);
  const facts = await inspectDataDir(dataDir);
  const ofDatabase = facts.url === undefined ? [] : await checkStore(facts.url, secretProblem);
  return [await checkDisk(dataDir), ...checkDataDir(dataDir, facts), ...ofDatabase];
}

/** A check that breaks is one that failed, and keeps no other from being made. */
async function guarded(name: string, check: () => Promise<Check[]>): Promise<Check[]> {
  try {
    return await check();
  } catch (error) {
    return [failure(name, `it could not be checked: ${(error as Error).message}`, "see the message")];
  }
}

async function print(checks: readonly Check[], json: boolean): Promise<void> {
  const failed = checks.filter(({ result }) => result === "fail").length;
  const warned = checks.filter(({ result }) => result === "warn").length;
  if (json) return await printSafeJson({ ok: failed === 0, failed, warned, checks });
  const { green, yellow, red, dim } = stdoutPalette();
  const marks = { pass: green("pass"), warn: yellow("warn"), fail: red("FAIL") };
  const lines = checks.flatMap(({ name, result, detail, fix }) => [
    `${marks[result]}  ${shown(name)}: ${shown(detail)}`,
    ...(fix === undefined ? [] : [`      ${dim("→")} ${shown(fix)}`]),
  ]);
  const sum = failed + warned === 0 ? "all is well" : `${failed} failed, ${warned} to look at`;
  await printLines([...lines, sum]);
}
