/** What a server prints when it is ready. */

import { relative } from "node:path";
import type { DevKey, RunningServer } from "../server/index.ts";
import { workerCommand } from "../words/index.ts";
import { printJson, printLines } from "./output.ts";
import type { ServeOptions } from "./serve.ts";

interface Announced extends ServeOptions {
  /** The port that was asked for. */
  readonly port: number;
  readonly version: string;
}

/**
 * Prints where the server is and how to use it.
 *
 * Secrets go to a terminal only: what a server prints elsewhere ends in a journal or a log, which others read and which is
 * kept. The key that the server made is shown when it is made, and afterwards its file is named.
 */
export async function announce(server: RunningServer, options: Announced): Promise<void> {
  const { url, storeDescription, devKey } = server;
  const link = process.stdout.isTTY ? await server.dashboardLink() : undefined;
  const readyMs = Math.round(performance.now());
  if (options.json) {
    await printJson({
      version: options.version,
      url,
      store: storeDescription,
      role: server.service ? "leader" : "follower",
      key_file: devKey?.file ?? null,
      dashboard: link ?? url,
      readyMs,
      pid: process.pid,
    });
    return;
  }
  const isMoved = options.port !== 0 && server.port !== options.port;
  const isKeyShown = devKey?.isNew && process.stdout.isTTY;
  const header = `-H "Authorization: Bearer ${isKeyShown ? devKey.secret : "$ORRERY_API_KEY"}"`;
  await printLines([
    `orrery ${options.version}, ready after ${(readyMs / 1000).toFixed(1)} s`,
    `  look   ${link ? `${link}   (once, within ten minutes; then with a key)` : `${url}   (with a key)`}`,
    `  url    ${url}   documentation: ${url}/docs`,
    ...(isMoved
      ? [`         port ${options.port} is taken; for other commands: export ORRERY_URL=${url}`]
      : []),
    `  key    ${keyText(devKey)}`,
    `  store  ${storeDescription}`,
    ...(server.service ? [] : ["  role   follower: another server leads, and gets what is asked here"]),
    `  ${workerLine(options)}`,
    `try: curl -sd '{"executor":"default","task_type":"echo","payload":{"hello":"world"}}' \\`,
    `       ${header} -H 'Content-Type: application/json' ${url}/api/v2/scheduler/submit`,
    `     and for its result, with the id of the answer: curl -s ${header} ${url}/api/v2/scheduler/task/ID?wait=10`,
  ]);
}

function keyText(devKey: DevKey | undefined): string {
  if (!devKey) return "$ORRERY_API_KEY, or one that you made";
  const near = relative(process.cwd(), devKey.file);
  const file = near.startsWith("..") ? devKey.file : near;
  if (devKey.isNew && process.stdout.isTTY) return `${devKey.secret}   (shown once; kept in ${file})`;
  return `in ${file}: export ORRERY_API_KEY=$(cat '${file}')`;
}

function workerLine({ demo, shell }: ServeOptions): string {
  if (!demo) return `no worker yet: ${workerCommand()}`;
  return shell
    ? "worker the example tasks, and shell commands of anyone who may submit tasks"
    : "worker the example tasks, and no shell commands; with --shell it runs those too";
}
