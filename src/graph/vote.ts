import { invariant } from "../core/index.ts";
import type { Risk } from "./risk.ts";

/**
 * Which of several alternatives of one node is taken.
 *
 * Those that fail verification are out. If more than half of all alternatives have the same result, that result
 * wins. Otherwise the highest score does, if it reaches the threshold; if none does, a person has to look.
 * Equal scores fall to the alternative that stands first (primary, alt1, alt2).
 */
export interface Vote {
  /** Of each alternative that has ended, in their order; 0 for those that are out. */
  readonly scores: readonly (Score | undefined)[];
  readonly outcome: VoteOutcome;
  /** Whatever the alternatives that still run come to, the outcome stays: they can be cancelled. */
  readonly decided: boolean;
}

export type VoteOutcome =
  | { readonly type: "won"; readonly winner: number; readonly by: "majority" | "score" }
  | { readonly type: "escalated" };

/** Whole points. Each part is rounded down by itself, so that the parts add up to the total. */
export interface Score {
  readonly verification: number;
  readonly confidence: number;
  readonly size: number;
  readonly risk: number;
  readonly speed: number;
  readonly total: number;
}

/** In the order of their tags. */
export type Alternative = EndedAlternative | RunningAlternative;

export interface RunningAlternative {
  readonly is: "running";
  /** So far. */
  readonly durationMs: number;
}

/** All numbers are whole and not negative. One that gave no result is not verified, and changed no lines. */
export interface EndedAlternative {
  readonly is: "ended";
  readonly verified: boolean;
  /** Of the result: equal hashes, equal results. */
  readonly hash: string;
  /** 0 to 1,000. */
  readonly confidencePermille: number;
  readonly lines: number;
  readonly risk: Risk;
  readonly durationMs: number;
}

const VOTE_THRESHOLD = 70;

const VERIFICATION = 40;
const CONFIDENCE = 20;
const SIZE = 15;
const SPEED = 10;
const RISK: Readonly<Record<Risk, number>> = { low: 15, medium: 10, high: 5, critical: 0 };
const OUT: Score = { verification: 0, confidence: 0, size: 0, risk: 0, speed: 0, total: 0 };

export function vote(alternatives: readonly Alternative[], threshold: number = VOTE_THRESHOLD): Vote {
  invariant(alternatives.length > 0, "a vote has alternatives");
  const extent = extentOf(alternatives);
  const standing = outcomeOf(alternatives, extent, threshold);
  return {
    scores: alternatives.map((one) => (one.is === "ended" ? scoreOf(one, extent) : undefined)),
    outcome: standing,
    decided: isDecided(alternatives, extent, standing, threshold),
  };
}

/** The largest of all alternatives, which the others are measured by. */
interface Extent {
  readonly lines: number;
  readonly durationMs: number;
}

function extentOf(alternatives: readonly Alternative[]): Extent {
  const lines = alternatives.map((one) => (one.is === "ended" ? one.lines : 0));
  return {
    lines: Math.max(...lines),
    durationMs: Math.max(...alternatives.map(({ durationMs }) => durationMs)),
  };
}

function scoreOf(one: EndedAlternative, extent: Extent): Score {
  if (!one.verified) return OUT;
  const confidence = Math.floor((CONFIDENCE * one.confidencePermille) / 1_000);
  const size = below(SIZE, one.lines, extent.lines);
  const risk = RISK[one.risk];
  const speed = below(SPEED, one.durationMs, extent.durationMs);
  const total = VERIFICATION + confidence + size + risk + speed;
  return { verification: VERIFICATION, confidence, size, risk, speed, total };
}

/** All points for 0, none for the largest. */
function below(points: number, amount: number, largest: number): number {
  return largest === 0 ? points : Math.floor((points * (largest - amount)) / largest);
}

/** The outcome if whatever still runs fails. */
function outcomeOf(alternatives: readonly Alternative[], extent: Extent, threshold: number): VoteOutcome {
  const totals = alternatives.map((one) => (one.is === "ended" ? scoreOf(one, extent).total : 0));
  const best = (at: readonly number[]): number | undefined =>
    at.reduce<number | undefined>(
      (most, one) => (most === undefined || (totals[one] as number) > (totals[most] as number) ? one : most),
      undefined,
    );
  const standing = alternatives.flatMap((one, at) => (isVerified(one) ? [at] : []));
  const majority = groupsOf(alternatives).find((group) => isMajority(group.length, alternatives.length));
  const agreed = best(majority ?? []);
  if (agreed !== undefined) return { type: "won", winner: agreed, by: "majority" };
  const winner = best(standing);
  const reaches = winner !== undefined && (totals[winner] as number) >= threshold;
  return reaches ? { type: "won", winner, by: "score" } : { type: "escalated" };
}

function isVerified(one: Alternative): one is EndedAlternative {
  return one.is === "ended" && one.verified;
}

/** Verified alternatives with equal results. */
function groupsOf(alternatives: readonly Alternative[]): number[][] {
  const groups = new Map<string, number[]>();
  for (const [at, one] of alternatives.entries()) {
    if (!isVerified(one)) continue;
    const group = groups.get(one.hash);
    if (group) group.push(at);
    else groups.set(one.hash, [at]);
  }
  return [...groups.values()];
}

/** One alone agrees with nobody. */
function isMajority(votes: number, of: number): boolean {
  return votes >= 2 && 2 * votes > of;
}

/**
 * Whether the same result wins (or nobody does) whatever the alternatives that still run come to. A running one
 * could agree with others; be the best itself; or fail, after so many lines or so long that the others, measured by
 * it, change places.
 */
function isDecided(
  alternatives: readonly Alternative[],
  extent: Extent,
  standing: VoteOutcome,
  threshold: number,
): boolean {
  const running = alternatives.flatMap((one, at) => (one.is === "running" ? [at] : []));
  if (running.length === 0 || (standing.type === "won" && standing.by === "majority")) return true;
  const result = resultOf(alternatives, standing);
  if (couldAgree(alternatives, running.length, result)) return false;
  const linesOf = extents(
    SIZE,
    extent.lines,
    alternatives.map((one) => (isVerified(one) ? one.lines : 0)),
  );
  const longest = extents(
    SPEED,
    extent.durationMs,
    alternatives.map(({ durationMs }) => durationMs),
  );
  for (const lines of linesOf) {
    for (const durationMs of longest) {
      const outcome = outcomeOf(alternatives, { lines, durationMs }, threshold);
      if (resultOf(alternatives, outcome) !== result) return false;
    }
  }
  // One that is the best itself changed no lines. Only another running one can make it look faster.
  const measuredBy = running.length > 1 ? longest : [extent.durationMs];
  return !running.some((at) => measuredBy.some((durationMs) => couldWin(at, { ...extent, durationMs })));

  function couldWin(at: number, measure: Extent): boolean {
    const supposed = alternatives.with(at, bestOf(alternatives, at));
    const outcome = outcomeOf(supposed, measure, threshold);
    return outcome.type === "won" && outcome.winner === at;
  }
}

function resultOf(alternatives: readonly Alternative[], outcome: VoteOutcome): string | undefined {
  const winner = outcome.type === "won" ? alternatives[outcome.winner] : undefined;
  return winner?.is === "ended" ? winner.hash : undefined;
}

/** Whether those that run could make another result than the standing one that of a majority. */
function couldAgree(
  alternatives: readonly Alternative[],
  running: number,
  result: string | undefined,
): boolean {
  const others = groupsOf(alternatives).filter(([first = 0]) => hashAt(alternatives, first) !== result);
  return [0, ...others.map((group) => group.length)].some((votes) =>
    isMajority(votes + running, alternatives.length),
  );
}

function hashAt(alternatives: readonly Alternative[], at: number): string | undefined {
  const one = alternatives[at];
  return one?.is === "ended" ? one.hash : undefined;
}

/** What a running alternative can come to at best, with a result of its own. */
function bestOf(alternatives: readonly Alternative[], at: number): EndedAlternative {
  const hash = `${alternatives.map((_, other) => hashAt(alternatives, other)).join()} and another`;
  const durationMs = alternatives[at]?.durationMs ?? 0;
  return { is: "ended", verified: true, hash, confidencePermille: 1_000, lines: 0, risk: "low", durationMs };
}

/** All that make a difference, of those that are at least `least`: where some amount gets one point more. */
function extents(points: number, least: number, amounts: readonly number[]): number[] {
  const found = new Set([least]);
  for (const amount of amounts) {
    for (let lost = 1; lost <= points; lost++) found.add(Math.ceil((points * amount) / lost));
  }
  return [...found].filter((extent) => extent >= least);
}
