import { canonicalJson, sha256Hex } from "../../core/index.ts";
import type { Budget } from "../budget.ts";
import { RuntimeError } from "../errors.ts";
import type { KernelSettings } from "../kernel.ts";
import { PROFILES, type ProfileName } from "../profiles.ts";

const VERSION = 1;

/** What was recorded of a runtime with threads. Plain data; it can be kept as JSON. */
export interface Recording {
  readonly version: number;
  readonly settings: {
    readonly profile: ProfileName;
    readonly processors: number;
    readonly seed: number;
    readonly budget: Budget;
    readonly yieldInterval: number;
    readonly graceMs: number;
    readonly maxDepth: number;
    readonly stealing: boolean;
  };
  /** What happened to each processor. */
  readonly logs: readonly (readonly number[])[];
  /** Of all of the above. */
  readonly hash: string;
}

export function sealRecording(
  { profile, seed, budget, yieldInterval, graceMs, maxDepth }: KernelSettings,
  stealing: boolean,
  logs: readonly (readonly number[])[],
): Recording {
  const processors = logs.length;
  const settings = {
    profile: profile.name,
    processors,
    seed,
    budget,
    yieldInterval,
    graceMs,
    maxDepth,
    stealing,
  };
  return { version: VERSION, settings, logs, hash: hashOf(VERSION, settings, logs) };
}

function hashOf(version: unknown, settings: unknown, logs: unknown): string {
  return sha256Hex(canonicalJson({ version, settings, logs } as never));
}

/** Refuses what is no recording, or not as it was recorded. */
export function checkRecording(recording: Recording): void {
  if (typeof recording !== "object" || recording === null || !isListOfLists(recording.logs))
    refuse("is no recording: take what rt.recording() gave");
  const { version, settings, logs, hash } = recording;
  if (version !== VERSION) refuse(`has version ${String(version)}; this runtime replays version ${VERSION}`);
  if (hashOf(version, settings, logs) !== hash)
    refuse("is damaged: its hash is not that of what it holds; record the program again");
  if (!Object.hasOwn(PROFILES, settings.profile) || settings.processors !== logs.length || logs.length < 2)
    refuse("is damaged: its settings do not fit its logs");
}

function refuse(words: string): never {
  throw new RuntimeError("InvalidArgument", `replay ${words}`);
}

function isListOfLists(logs: unknown): boolean {
  return Array.isArray(logs) && logs.every((log) => Array.isArray(log));
}
