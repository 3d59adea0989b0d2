import type { KeyAnswer, NewKeyAnswer, RevokedKeyAnswer } from "../client/index.ts";
import { UsageError } from "./errors.ts";
import type { CreateKeyOptions, RevokeKeyOptions, RotateKeyOptions } from "./keys.ts";
import { type Column, tableLines } from "./layout.ts";
import { printLines, stdoutPalette } from "./output.ts";
import { atService } from "./service.ts";
import type { ServiceOptions } from "./service-options.ts";
import { ago, printSafeJson, shown } from "./service-text.ts";
import { instantOf } from "./submission.ts";

const COLUMNS: readonly Column[] = [
  { title: "ID" },
  { title: "NAME" },
  { title: "SCOPES" },
  { title: "ZONES" },
  { title: "AGENTS" },
  { title: "CREATED", align: "right" },
  { title: "VALID" },
];

export async function createKey(name: string, options: CreateKeyOptions): Promise<void> {
  const { scope, zone, allZones, forAgent, allAgents, expires, ...rest } = options;
  const zones = namesOf("zones", "--zone", zone, "--all-zones", allZones);
  const agents = namesOf("agents", "--for-agent", forAgent, "--all-agents", allAgents);
  const key = await atService(rest, (client) =>
    client.keys.create({
      name,
      scopes: [...scope],
      zones,
      agents,
      ...(expires !== undefined && { expires_at: instantOf("--expires", expires) }),
    }),
  );
  await printSecret(key, options.json);
}

/** Nobody gives a key everything by leaving something out. */
function namesOf(
  what: string,
  option: string,
  names: readonly string[] | undefined,
  allOption: string,
  isAll: boolean,
): string[] {
  if (isAll && names) throw new UsageError(`use either ${option} or ${allOption}`);
  if (isAll) return ["*"];
  if (names) return [...names];
  throw new UsageError(`name the ${what} of the key with ${option} NAME, or use ${allOption}`);
}

export async function rotateKey(id: string, options: RotateKeyOptions): Promise<void> {
  const { overlap } = options;
  const body = overlap === undefined ? {} : { overlap_seconds: overlap };
  await printSecret(await atService(options, (client) => client.keys.rotate(id, body)), options.json);
}

export async function revokeKey(id: string, options: RevokeKeyOptions): Promise<void> {
  const { handOverTo } = options;
  const body = handOverTo === undefined ? {} : { hand_over_to: handOverTo };
  const key = await atService(options, (client) => client.keys.revoke(id, body));
  await (options.json ? printSafeJson(key) : printLines(revokedLines(key)));
}

function revokedLines({ id, ended, handed_over, handed_over_to }: RevokedKeyAnswer): string[] {
  const to = handed_over_to && `${shown(handed_over_to.name)} (${shown(handed_over_to.id)})`;
  return [
    `${shown(id)} revoked`,
    ...madeLines("ended with it", ended),
    ...(to === null ? [] : madeLines(`handed over to ${to}`, handed_over)),
  ];
}

function madeLines(what: string, { keys, schedules, webhooks }: RevokedKeyAnswer["ended"]): string[] {
  const linesOf = (kind: string, items: typeof keys) =>
    items.map(({ id, name }) => `  ${kind} ${shown(id)} ${shown(name)}`);
  const lines = [...linesOf("key", keys), ...linesOf("schedule", schedules), ...linesOf("webhook", webhooks)];
  return lines.length === 0 ? [] : [`${what}:`, ...lines];
}

export async function listKeys(options: ServiceOptions): Promise<void> {
  const keys = await atService(options, (client) => client.keys.list());
  if (options.json) await printSafeJson({ keys });
  else if (keys.length === 0) process.stderr.write("no keys\n");
  else await printLines(tableLines(COLUMNS, keys.map(row), stdoutPalette()));
}

/** The secret alone goes to stdout, so that it can be put where it belongs without being seen. */
async function printSecret(key: NewKeyAnswer, json: boolean): Promise<void> {
  if (json) return await printSafeJson(key);
  process.stderr.write(`key ${shown(key.id)} (${shown(key.name)}); its secret is shown this once:\n`);
  await printLines([shown(key.secret)]);
}

function row(key: KeyAnswer): string[] {
  const lists = [key.scopes, key.zones, key.agents].map((names) => shown(names.join(", ")));
  return [shown(key.id), shown(key.name), ...lists, ago(key.created_at), validity(key)];
}

function validity({ expires_at, revoked_at, suspended_reason }: KeyAnswer): string {
  if (revoked_at !== null) return "revoked";
  if (suspended_reason !== null) return `no: ${shown(suspended_reason)}`;
  if (expires_at === null) return "yes";
  return Date.parse(expires_at) <= Date.now() ? "expired" : `until ${shown(expires_at)}`;
}
