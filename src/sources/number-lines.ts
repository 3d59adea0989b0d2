import { shown } from "../protocol/index.ts";
import type { Problems } from "./result.ts";

/** A line of a file that consists of numbers. */
export interface NumberLine {
  readonly line: number;
  readonly numbers: readonly number[];
}

/** The whole numbers of a line, or nothing and a problem where something else stands in it. */
export function numberLine(text: string, line: number, problems: Problems): NumberLine | undefined {
  const words = text.trim().split(/\s+/);
  const numbers = words.map((word) => (/^\d{1,15}$/.test(word) ? Number(word) : Number.NaN));
  const wrong = numbers.findIndex(Number.isNaN);
  if (wrong === -1) return { line, numbers };
  problems.add(line, `expected whole numbers from 0 on, not ${shown(words[wrong])}`);
  return undefined;
}
