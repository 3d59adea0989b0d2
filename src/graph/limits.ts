import { compareText } from "../core/index.ts";
import type { TaskSpec } from "./spec.ts";

/** Capabilities, and limits, that a task may name: each name takes memory in the scheduler. */
export const MAX_NAMES = 20;

/** What a task counts towards, in the form that its specification has. What it counts nothing towards is no limit of it. */
export function limitsOf(amounts: ReadonlyMap<string, number>): Pick<TaskSpec, "limits" | "amounts"> {
  const counted = [...amounts].filter(([, amount]) => amount > 0).sort(([a], [b]) => compareText(a, b));
  const limits = counted.map(([name]) => name);
  return { limits, amounts: counted.some(([, amount]) => amount !== 1) ? counted.map(([, of]) => of) : [] };
}
