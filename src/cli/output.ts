/** Where a command's words go: data to stdout, everything else to stderr. */

import { once } from "node:events";
import type { Writable } from "node:stream";
import colors from "picocolors";
import { wantsColor } from "./terminal-text.ts";

export type Palette = ReturnType<typeof colors.createColors>;

const COLUMNS_ELSEWHERE = 100;

/** Resolves when the stream can take more, so that a slow reader bounds what is held for it. */
export async function write(stream: Writable, text: string | Uint8Array): Promise<void> {
  if (!stream.write(text)) await once(stream, "drain");
}

function print(text: string): Promise<void> {
  return write(process.stdout, text);
}

export function printLines(lines: readonly string[]): Promise<void> {
  return print(`${lines.join("\n")}\n`);
}

export function printJson(value: unknown): Promise<void> {
  return print(`${JSON.stringify(value, null, 2)}\n`);
}

export function warn(text: string): void {
  process.stderr.write(`warning: ${text}\n`);
}

export function stdoutPalette(): Palette {
  return colors.createColors(wantsColor(process.stdout));
}

export function stdoutColumns(): number {
  return process.stdout.isTTY ? process.stdout.columns : COLUMNS_ELSEWHERE;
}
