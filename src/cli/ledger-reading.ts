/** Reads a ledger for a command: says how far it has come, and stops where it cannot be trusted. */

import { open } from "node:fs/promises";
import type { Block } from "../ledger/index.ts";
import { LedgerFile } from "../store/index.ts";
import { countOf, formatCount } from "../words/index.ts";
import { CheckFailed, NotFoundError, UsageError } from "./errors.ts";
import { warn } from "./output.ts";

/** Before this nobody wonders whether it hangs. */
const PATIENCE_MS = 500;
const FRAME_MS = 100;
const CLEAR_LINE = "\r\x1b[K";

export interface OpenLedger {
  readonly file: LedgerFile;
  readonly bytes: number;
}

export async function openLedger(path: string): Promise<OpenLedger> {
  if (/\.ya?ml$/i.test(path)) {
    throw new UsageError(
      `${path} looks like a graph; name its ledger, by default .orrery/<name of the graph>.jsonl`,
    );
  }
  let found: { readonly bytes: number; readonly directory: boolean };
  try {
    const handle = await open(path);
    const stats = await handle.stat();
    await handle.close();
    found = { bytes: stats.size, directory: stats.isDirectory() };
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") throw new NotFoundError(`${path}: no such file`);
    throw new UsageError(`${path} cannot be read: ${message}`);
  }
  if (found.directory) throw new UsageError(`${path} is a directory; name the ledger file in it`);
  return { file: new LedgerFile(path), bytes: found.bytes };
}

/** The blocks up to the first damage, which the caller looks at; on a terminal, with a percentage if it takes long. */
export async function* blocksWithProgress({ file, bytes }: OpenLedger, quiet = false): AsyncGenerator<Block> {
  const beganMs = performance.now();
  let shownMs = beganMs + PATIENCE_MS - FRAME_MS;
  let shown = false;
  try {
    for await (const block of file.blocks()) {
      yield block;
      if (quiet || !process.stderr.isTTY || performance.now() - shownMs < FRAME_MS) continue;
      shownMs = performance.now();
      shown = true;
      const percent = Math.floor((100 * file.soundBytes) / Math.max(1, bytes));
      process.stderr.write(`${CLEAR_LINE}reading ${percent}% (event ${formatCount(file.head.seq)})`);
    }
  } finally {
    if (shown) process.stderr.write(CLEAR_LINE);
  }
}

/** The blocks of a ledger that has to be sound, as far as it is read; quietly, where the output itself goes by. */
export async function* soundBlocks(path: string, quiet = false): AsyncGenerator<Block> {
  const ledger = await openLedger(path);
  yield* blocksWithProgress(ledger, quiet);
  const { damage, tornBytes, head } = ledger.file;
  if (head.seq === 0 && (!damage || damage.code === "not a block")) {
    throw new UsageError(ledger.bytes === 0 ? `${path} is empty` : `${path} is not a ledger`);
  }
  if (damage) {
    throw new CheckFailed(
      `${path}: damaged at event ${formatCount(damage.seq)} (${damage.code}): ${damage.detail}\n` +
        `what stands before it can be trusted; orrery verify ${path} says more`,
    );
  }
  if (tornBytes > 0) warn(`${path}: ${describeTorn(tornBytes)}`);
}

/** A chain can be whole and hold nonsense all the same, where somebody computed it anew. */
export function replaying<Result>(path: string, block: Block, action: () => Result): Result {
  try {
    return action();
  } catch (cause) {
    const where = `${path}: the block at event ${formatCount(block.seq)} cannot be replayed`;
    throw new CheckFailed(`${where}: ${(cause as Error).message}\norrery verify ${path} says more`);
  }
}

export function describeTorn(bytes: number): string {
  return `the last block was never finished (a crash); the next run drops its ${countOf(bytes, "byte")}`;
}
