// Where the nodes of a run went, and how much of their results was held at once, as its ledger has it.

import { execFile } from "node:child_process";
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const cli = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
/** The place of the held flag in an event, after its kind. */
const HELD = 9;

/**
 * @param {{ url: string, key: string }} server
 * @param {string} file
 * @param {AbortSignal} signal
 */
export async function writeLedger({ url, key }, file, signal) {
  const env = { ...process.env, ORRERY_API_KEY: key };
  await promisify(execFile)(process.execPath, [cli, "ledger", file, "--server", url], { env, signal });
}

/**
 * @param {string} ledger
 * @param {number} run Its number.
 */
export async function readPlacements(ledger, run) {
  /** By node. @type {number[]} */
  const workers = [];
  /** By node. @type {Map<number, number>} */
  const bytes = new Map();
  let [held, peakHeldBytes] = [0, 0];
  for await (const [kind, of, ...fields] of eventsIn(ledger)) {
    if (of !== run) continue;
    const [node, , third, , bytesMade] = fields;
    if (kind === "TaskAssigned") workers[Number(node)] = Number(third);
    if (kind === "AttemptFinished" && fields[HELD - 1] === true) {
      bytes.set(Number(node), Number(bytesMade));
      held += Number(bytesMade);
      peakHeldBytes = Math.max(peakHeldBytes, held);
    }
    if (kind === "ChunksFreed")
      for (const freed of /** @type {number[]} */ (node)) held -= bytes.get(freed) ?? 0;
  }
  return { workers, peakHeldBytes };
}

/**
 * @param {string} ledger
 * @returns {AsyncGenerator<readonly unknown[]>}
 */
async function* eventsIn(ledger) {
  for await (const line of createInterface({ input: createReadStream(ledger) })) {
    const { events } = /** @type {{ events: readonly unknown[][] }} */ (JSON.parse(line));
    yield* events;
  }
}
