import { countOf, formatCount } from "../words/index.ts";
import { fieldLines } from "./layout.ts";
import { describeTorn } from "./ledger-reading.ts";
import type { Palette } from "./output.ts";
import { neutralise } from "./terminal-text.ts";
import type { Difference, LocatedDamage, Verification } from "./verification.ts";

export function renderVerification(result: Verification, columns: number, palette: Palette): string[] {
  const name = palette.bold(neutralise(result.ledger));
  const { damage, redecided } = result;
  const title = damage
    ? `${palette.red("✗")} ${name} is damaged: event ${formatCount(damage.seq)} is the first bad one`
    : redecided?.difference
      ? `${palette.red("✗")} ${name} is intact, but event ${formatCount(redecided.difference.seq)} would be decided otherwise`
      : `${palette.green("✓")} ${name} is sound`;
  return [
    title,
    "",
    ...fieldLines(damage ? damageFields(result, damage) : countFields(result), palette, columns),
    ...(redecided?.difference ? ["", ...differenceLines(redecided.difference, columns, palette)] : []),
  ];
}

export function warningsOf(result: Verification): string[] {
  const warnings: string[] = [];
  const { headFile, tornBytes, redecided } = result;
  if (!headFile && result.blocks > 0)
    warnings.push("there is no head file beside the ledger: the end cannot be checked");
  if (tornBytes > 0 && result.damage?.code !== "not a block") warnings.push(describeTorn(tornBytes));
  if (redecided && redecided.policyVersion.ledger !== redecided.policyVersion.program) {
    const { ledger, program } = redecided.policyVersion;
    const decisions = countOf(redecided.skipped, "decision");
    warnings.push(
      `${decisions} of policy ${ledger} taken as recorded: this program has policy ${program} and decides otherwise`,
    );
  }
  return warnings;
}

type Field = readonly [name: string, value: string];

function countFields(result: Verification): Field[] {
  const { snapshot, redecided } = result;
  return [
    ["blocks", formatCount(result.blocks)],
    ["events", formatCount(result.events)],
    ["head", `${formatCount(result.head.seq)}  ${result.head.hash}`],
    ["chain", result.headFile ? "ok" : "ok, but the end cannot be checked"],
    ["state", result.stateHash ?? ""],
    ["snapshot", snapshot ? `ok, at event ${formatCount(snapshot.seq)}` : "none"],
    ...(redecided && !redecided.difference ? [["decisions", decisionsText(redecided)] as const] : []),
  ];
}

function decisionsText({ decisions, skipped }: NonNullable<Verification["redecided"]>): string {
  const taken = skipped > 0 ? `${formatCount(skipped)} taken as recorded` : "";
  if (decisions === 0 && skipped > 0) return `none decided again, ${taken}`;
  return [`${formatCount(decisions)} decided again, all the same`, taken].filter(Boolean).join("; ");
}

function damageFields(result: Verification, damage: LocatedDamage): Field[] {
  const { head, blocks } = result;
  const where =
    damage.line === null ? `after line ${formatCount(blocks)}` : `line ${formatCount(damage.line)}`;
  return [
    ["what", damage.code],
    ["detail", neutralise(damage.detail)],
    ...(damage.code === "empty" ? [] : [["where", where] as const]),
    ["sound", `${countOf(Math.min(head.seq, damage.seq - 1), "event")} before it`],
    ["to do", adviceFor(result, damage)],
  ];
}

function adviceFor({ ledger }: Verification, { seq, code }: LocatedDamage): string {
  const path = neutralise(ledger);
  switch (code) {
    case "empty":
      return "nothing was recorded here, or the file was emptied: restore it from a copy";
    case "snapshot differs":
      return `restore the ledger from a copy if its end is missing; else delete ${path}.snapshot, which only saves time`;
    case "cannot be replayed":
      return "the chain holds, so it was written like this: read it with the version that wrote it";
    default:
      return seq === 1
        ? "restore it from a copy, if it is a ledger at all: a line of JSON for each block"
        : `restore it from a copy; to see the sound part: orrery replay ${path} --to ${seq - 1}`;
  }
}

function differenceLines(
  { seq, line, recorded, decided, failure }: Difference,
  columns: number,
  palette: Palette,
): string[] {
  const show = (event: unknown): string => (event ? neutralise(JSON.stringify(event)) : "nothing");
  return fieldLines(
    [
      ["event", `${formatCount(seq)}, line ${formatCount(line)}`],
      ["recorded", show(recorded)],
      failure === null ? ["decided", show(decided)] : ["failure", neutralise(failure)],
    ],
    palette,
    columns,
  );
}
