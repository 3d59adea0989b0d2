import { speculationTag } from "../graph/index.ts";
import {
  describeDecider,
  describeEnd,
  describeInput,
  describeNeeds,
  describeReason,
  describeRecall,
  describeRejected,
  describeRejection,
  describeWait,
  formatBytes,
  formatCores,
  formatCount,
  formatMs,
  formatTime,
  SPECULATION_WORDS,
  STATUS_WORDS,
} from "../words/index.ts";
import type { Assignment, Candidate } from "./assignment.ts";
import type { CancelCause, Failure } from "./causes.ts";
import type { Explanation, Happening } from "./explanation.ts";
import { fieldLines, hangingLines, tableLines } from "./layout.ts";
import type { Palette } from "./output.ts";
import { neutralise } from "./terminal-text.ts";

export function renderExplanation(answer: Explanation, columns: number, palette: Palette): string[] {
  const lines = [
    titleOf(answer, columns, palette),
    ...hangingLines("", contextOf(answer), columns).map(palette.dim),
    "",
  ];
  if (answer.waiting.length > 0) lines.push(...waitLines(answer, columns), "");
  else if (answer.assignment) lines.push(...assignmentLines(answer, answer.assignment, columns, palette), "");
  if (answer.earlierAttempts.length > 0) lines.push(...earlierLines(answer, columns, palette), "");
  if (answer.aftermath.length > 0) lines.push(...aftermathLines(answer, columns, palette), "");
  return lines.slice(0, -1);
}

/** The answer for programs: the same data, with its sentence. */
export function explanationJson(answer: Explanation): unknown {
  const { waiting, assignment, aftermath, now } = answer;
  return {
    ...answer,
    sentence: sentenceOf(answer),
    waiting: waiting.map((reason) => ({ ...reason, sentence: describeWait(reason, now) })),
    assignment: assignment && {
      ...assignment,
      sentence: describeReason(assignment.reason),
      candidates: assignment.candidates.map(({ rank, rejection, ...row }) => ({
        rank: rank ?? null,
        rejection: rejection ?? null,
        ...row,
      })),
    },
    aftermath: aftermath.map((happening) => ({
      ...happening,
      sentence: describeHappening(happening, answer),
    })),
  };
}

function titleOf(answer: Explanation, columns: number, { bold }: Palette): string {
  const wrapped = hangingLines("", sentenceOf(answer), columns).join("\n");
  return wrapped.replace(neutralise(answer.node), (name) => bold(name));
}

function sentenceOf(answer: Explanation): string {
  const node = neutralise(answer.node);
  const { status, assignment, waiting, aftermath } = answer;
  const last = aftermath.findLast(({ type }) => type === "skipped" || type === "cancelled");
  if (waiting.length > 0) return `${node} does not run yet: it is ${STATUS_WORDS[status]}.`;
  if (answer.carried) return `${node} did not run: an earlier run had completed it.`;
  if (status === "skipped" && last?.type === "skipped") {
    return `${node} was skipped because ${neutralise(last.because.node)}, which it needs, did not complete.`;
  }
  if (status === "cancelled" && last?.type === "cancelled" && !assignment) {
    const when = aftermath.some(({ type }) => type === "speculated")
      ? "while its alternatives ran"
      : "before it ran";
    return `${node} was cancelled ${when}: ${describeCancelCause(last.because)}.`;
  }
  const vote = aftermath.findLast((happening) => happening.type === "voted");
  if (!assignment && vote?.winner)
    return `${node} was tried in several alternatives, and has the result of ${vote.winner}.`;
  if (!assignment) return `${node} is ${STATUS_WORDS[status]}.`;
  return `${node} was given to ${neutralise(assignment.worker)} because ${describeReason(assignment.reason)}.`;
}

function contextOf({ run, seq, now, status }: Explanation): string {
  const name = run.name === "" || run.name === run.id ? "" : `${neutralise(run.name)}, `;
  return `${name}run ${neutralise(run.id)}: ${STATUS_WORDS[status]} as of event ${formatCount(seq)}, ${formatMs(now - run.submittedAt)} into the run`;
}

function waitLines({ waiting, now }: Explanation, columns: number): string[] {
  const [primary = "", ...others] = waiting.map((reason) => describeWait(reason, now));
  const lines = hangingLines("  ", primary, columns);
  if (others.length > 0) lines.push("", "  Also:");
  for (const other of others) lines.push(...hangingLines("  - ", other, columns));
  return lines;
}

function assignmentLines(
  answer: Explanation,
  assignment: Assignment,
  columns: number,
  palette: Palette,
): string[] {
  const { candidates, runnerUp } = assignment;
  const accepted = candidates.filter(({ rank }) => rank !== undefined).length;
  const rejected = describeRejected(assignment.rejected);
  const fields: (readonly [string, string])[] = [
    [
      "decided",
      `event ${formatCount(assignment.seq)}, ${since(answer, assignment.at)}, ${formatTime(assignment.at)}`,
    ],
    ["attempt", formatCount(assignment.attempt)],
    ["needs", describeNeeds(assignment.needs)],
    ...inputFields(assignment),
    ...limitFields(assignment),
    ["strategy", assignment.strategy],
    [
      "candidates",
      `${formatCount(accepted)} of ${formatCount(candidates.length)}${rejected && `; ${rejected}`}`,
    ],
    ["runner-up", runnerUp === null ? "none" : neutralise(runnerUp)],
    ["decided by", describeDecider(assignment.decider)],
  ];
  return [...fieldLines(fields, palette, columns), "", ...candidateLines(assignment, palette)];
}

/** Of the results that it gets, so many are named. */
const NAMED_INPUTS = 10;

function inputFields({ inputs = [] }: Assignment): (readonly [string, string])[] {
  if (inputs.length === 0) return [];
  const named = inputs.slice(0, NAMED_INPUTS).map(describeInput);
  const more = inputs.length > NAMED_INPUTS ? [`and ${formatCount(inputs.length - NAMED_INPUTS)} more`] : [];
  return [["inputs", [...named, ...more].join("; ")]];
}

/** Shorter ones are those of any turn. */
const LONG_WAIT_MS = 100;

function limitFields({ limits, waitedMs }: Assignment): (readonly [string, string])[] {
  const counted = Object.entries(limits).map(
    ([name, amount]) => `${formatCount(amount)} ${neutralise(name)}`,
  );
  const waited = `${formatMs(Math.round(waitedMs))} after it was ready; --at SEQ says what for`;
  return [
    ...(counted.length > 0 ? [["limits", counted.join(", ")] as const] : []),
    ...(waitedMs >= LONG_WAIT_MS ? [["waited", waited] as const] : []),
  ];
}

function candidateLines(assignment: Assignment, palette: Palette): string[] {
  const { candidates, strategy } = assignment;
  const titles = candidates.some(({ data }) => data)
    ? ["has", "lacks", "wait", "points"]
    : ["free cpu", "free mem", ...(strategy === "random" ? ["score"] : [])];
  const columns = [
    { title: "rank", align: "right" },
    { title: "worker" },
    { title: "status" },
    { title: "holds", align: "right" },
    ...titles.map((title) => ({ title, align: "right" }) as const),
    { title: "" },
  ] as const;
  const rows = candidates.map((candidate) => [
    candidate.rank === undefined ? "-" : String(candidate.rank),
    neutralise(candidate.worker),
    candidate.status,
    formatCount(candidate.queueDepth),
    ...termsOf(candidate, strategy),
    verdictOf(candidate, assignment),
  ]);
  return tableLines(columns, rows, palette).map((line) => `  ${line}`);
}

/** What it was compared by; points are milliseconds. */
function termsOf({ data, freeCpu, freeMemory, score }: Candidate, strategy: string): string[] {
  if (data) {
    const { heldBytes, movedBytes, waitMicros, affinityMicros } = data;
    const wait = formatMs(Math.ceil(waitMicros / 1000));
    return [formatBytes(heldBytes), formatBytes(movedBytes), wait, (affinityMicros / 1000).toFixed(1)];
  }
  return [
    formatCores(freeCpu),
    formatBytes(freeMemory),
    ...(strategy === "random" ? [formatCount(score)] : []),
  ];
}

function verdictOf(candidate: Candidate, { needs, worker, runnerUp }: Assignment): string {
  if (candidate.worker === worker) return "chosen";
  if (candidate.rejection)
    return `rejected: ${describeRejection(candidate.rejection, { ...candidate, needs })}`;
  return candidate.worker === runnerUp ? "runner-up" : "";
}

function earlierLines({ earlierAttempts }: Explanation, columns: number, { dim }: Palette): string[] {
  return [
    dim("  Earlier attempts"),
    ...earlierAttempts.flatMap(({ seq, attempt, worker, outcome, error }) => {
      const before = `  ${attempt} on ${neutralise(worker)}  event ${formatCount(seq)}  `;
      return hangingLines(before, describeEnd(outcome, error), columns);
    }),
  ];
}

function aftermathLines(answer: Explanation, columns: number, { dim }: Palette): string[] {
  const rows = answer.aftermath.map((happening) => ({
    when: since(answer, happening.at),
    event: `event ${formatCount(happening.seq)}`,
    text: describeHappening(happening, answer),
  }));
  const whenWidth = Math.max(...rows.map(({ when }) => when.length));
  const eventWidth = Math.max(...rows.map(({ event }) => event.length));
  return [
    dim(answer.assignment && answer.waiting.length === 0 ? "  What came of it" : "  What happened"),
    ...rows.flatMap(({ when, event, text }) =>
      hangingLines(`  ${when.padStart(whenWidth)}  ${event.padEnd(eventWidth)}  `, text, columns),
    ),
  ];
}

/** Relative to the start of the run. */
function since({ run }: Explanation, at: number): string {
  return `+${formatMs(at - run.submittedAt)}`;
}

function describeHappening(happening: Happening, answer: Explanation): string {
  switch (happening.type) {
    case "started":
      return "started";
    case "ended":
      return describeEnd(happening.outcome, happening.error);
    case "retried":
      return happening.dueAt <= happening.at
        ? "to be tried again at once"
        : `to be tried again, due ${since(answer, happening.dueAt)}`;
    case "reserved":
      return `${neutralise(happening.worker)} is kept free for it`;
    case "room-reserved":
      return "room is kept for it under its limits";
    case "recalled":
      return `its worker was asked to give it back because ${describeRecall(happening, happening.idle)}`;
    case "cancel-requested":
      return "its cancellation was requested";
    case "cancel-signalled":
      return "its worker was told to stop it";
    case "speculated":
      return `tried in ${happening.alternatives} alternatives at once: ${SPECULATION_WORDS[happening.because]}`;
    case "voted":
      return describeVote(happening);
    case "failed":
      return happening.code === "escalated"
        ? `failed: ${neutralise(happening.error ?? "a person has to look")}`
        : "failed for good: no attempt is left";
    case "cancelled":
      return `cancelled: ${describeCancelCause(happening.because)}`;
    case "skipped": {
      const { node, failure } = happening.because;
      return `skipped: ${neutralise(node)} ${failure ? describeFailure(failure) : "was cancelled"}`;
    }
  }
}

function describeVote({ winner, by, totals }: Extract<Happening, { type: "voted" }>): string {
  const scores = totals.map((total, at) => `${speculationTag(at)} ${total === null ? "not ended" : total}`);
  const outcome = winner === null ? "no alternative was good enough" : `${winner} won by ${by}`;
  return `${outcome} (points: ${scores.join(", ")})`;
}

function describeFailure({ outcome, error, seq }: Failure): string {
  return `${describeEnd(outcome, error)} (event ${formatCount(seq)})`;
}

function describeCancelCause(cause: CancelCause): string {
  switch (cause.type) {
    case "run-cancelled":
      return `the run was cancelled (event ${formatCount(cause.seq)})`;
    case "vote-taken":
      return `the vote was taken without it (event ${formatCount(cause.seq)})`;
    case "node-cancelled":
      return `that was requested (event ${formatCount(cause.seq)})`;
    case "node-failed":
      return `${neutralise(cause.node)} failed (event ${formatCount(cause.seq)}), and this run stops at the first failure`;
    case "unknown":
      return "the ledger does not say why";
  }
}
