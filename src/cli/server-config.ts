import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { closest } from "../protocol/index.ts";
import { DEFAULT_CONFIG } from "../scheduler/index.ts";
import type { ServiceSettings } from "../server/index.ts";
import { NotFoundError, UsageError } from "./errors.ts";

/** What may be null, or is by default, and so does not show its form. */
const OR_NULL: ReadonlySet<string> = new Set([
  "rejectThreshold",
  "starveBatchMs",
  "costThresholdMicros",
  "fairShare",
  "submitRate",
]);
/** What there is nothing of by default. */
const UNSET: readonly string[] = ["submitRate", "submitRatePeriodMs"];
/** Of the rules, not for people to set. */
const NOT_SET: ReadonlySet<string> = new Set(["policyVersion"]);
/** What something is divided by, or cannot be done without. */
const POSITIVE: ReadonlySet<string> = new Set([
  "boostTierMicros",
  "ageEveryMs",
  "ageStepMs",
  "costWindowMs",
  "maxNodes",
  ...UNSET,
]);
/** Their product is counted exactly. */
const AT_MOST: Readonly<Record<string, number>> = { submitRate: 1_000_000, submitRatePeriodMs: 86_400_000 };
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  order: ["hrrn", "classic", "graph"],
  overLimit: ["wait", "reject"],
  strategy: ["round-robin", "least-loaded", "random", "affinity"],
};

/** The scheduler's settings from a file of YAML or JSON, by the names and in the units that the library uses. */
export async function readServerConfig(file: string): Promise<ServiceSettings["config"]> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw error.code === "ENOENT"
      ? new NotFoundError(`${file}: no such file`)
      : new UsageError(error.message);
  });
  const given = parsed(file, text);
  const problems = Object.entries(given).flatMap(([key, value]) => problemWith(key, value) ?? []);
  if (problems.length > 0) throw new UsageError(problems.map((problem) => `${file}: ${problem}`).join("\n"));
  return given as ServiceSettings["config"];
}

function parsed(file: string, text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    throw new UsageError(`${file}: ${(error as Error).message}`);
  }
  if (value === null || value === undefined) return {};
  if (typeof value === "object" && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageError(`${file} must hold settings such as fairShare: 20`);
}

function problemWith(key: string, value: unknown): string | undefined {
  const known = [...Object.keys(DEFAULT_CONFIG), ...UNSET].filter((name) => !NOT_SET.has(name));
  if (!known.includes(key)) {
    const meant = closest(key, known);
    return `there is no setting ${key}; ${meant ? `did you mean ${meant}?` : `there are ${known.join(", ")}`}`;
  }
  if (value === null && OR_NULL.has(key)) return undefined;
  const choices = CHOICES[key];
  if (choices)
    return choices.includes(String(value)) ? undefined : `${key} must be one of ${choices.join(", ")}`;
  if (typeof DEFAULT_CONFIG[key as keyof typeof DEFAULT_CONFIG] === "boolean")
    return typeof value === "boolean" ? undefined : `${key} must be true or false`;
  const least = POSITIVE.has(key) ? 1 : 0;
  const mayBeFraction = key === "rejectThreshold" || key === "deadlineLift";
  const most = AT_MOST[key] ?? Number.MAX_SAFE_INTEGER;
  const isFit = typeof value === "number" && value >= least && value <= most;
  if (isFit && (mayBeFraction || Number.isSafeInteger(value))) return undefined;
  return `${key} must be a ${mayBeFraction ? "" : "whole "}number from ${least} ${most < Number.MAX_SAFE_INTEGER ? `to ${most}` : "on"}${OR_NULL.has(key) ? ", or null" : ""}`;
}
