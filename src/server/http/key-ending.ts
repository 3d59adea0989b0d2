import type { KeyMade } from "../../protocol/api-schemas.ts";
import type { ApiKeyRow, ScheduleRow, WebhookRow } from "../../store/index.ts";
import type { Identity } from "./auth.ts";
import { isWithin, lackOf, type Rights } from "./key-rights.ts";
import { invalid, type Problem } from "./problems.ts";
import type { Edge } from "./route.ts";

type Makers = Pick<Edge, "keys" | "schedules" | "webhooks">;

/** Schedules, webhooks and keys that keys made. */
interface Made {
  readonly keys: readonly ApiKeyRow[];
  readonly schedules: readonly ScheduleRow[];
  readonly webhooks: readonly WebhookRow[];
}

/** Everything that ends with a revoked key, or goes to the receiver. */
export interface Ending {
  readonly receiver: ApiKeyRow | undefined;
  readonly ended: Made;
  readonly handedOver: Made;
}

const NOTHING: Made = { keys: [], schedules: [], webhooks: [] };

/** Decides what ends with a key and what is handed over. Changes nothing; a hand-over that is not possible is a `Problem`. */
export function endingOf(
  edge: Makers,
  identity: Identity,
  key: ApiKeyRow,
  handOverTo: string | undefined,
): Ending {
  const descendants = edge.keys.descendantsOf(key);
  const below = madeBy(edge, new Set(descendants.map(({ id }) => id)));
  const own = madeBy(edge, new Set([key.id]));
  const receiver = handOverTo === undefined ? undefined : receiverOf(edge, identity, key, handOverTo);
  if (!receiver) {
    const schedules = [...own.schedules, ...below.schedules];
    const webhooks = [...own.webhooks, ...below.webhooks];
    return { receiver, ended: { keys: descendants, schedules, webhooks }, handedOver: NOTHING };
  }
  // Keys that ended with it stay revoked.
  const wasRevoked = key.revokedAt !== -1;
  const children = wasRevoked ? [] : own.keys.filter(({ id }) => id !== receiver.id);
  const handedOver = { ...own, keys: children };
  demandRights(receiver, handedOver);
  return { receiver, ended: wasRevoked ? { ...below, keys: descendants } : NOTHING, handedOver };
}

/** Returns everything that a rotated key made. All of it goes to the successor. */
export function handedToSuccessor(edge: Makers, key: ApiKeyRow): Made {
  return madeBy(edge, new Set([key.id]));
}

export function madeAnswer({ keys, schedules, webhooks }: Made): KeyMade {
  return {
    keys: keys.map(({ id, name }) => ({ id, name })),
    schedules: schedules.map(({ id, name, zone }) => ({ id, name, zone })),
    webhooks: webhooks.map(({ id, url, zone }) => ({ id, name: originOf(url), zone })),
  };
}

/** Returns the ids of everything that keys made, for the audit. */
export function madeIds(made: Made): object {
  const idsOf = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);
  return {
    keys: idsOf(made.keys),
    schedules: idsOf(made.schedules),
    webhooks: idsOf(made.webhooks),
  };
}

/** How many schedules and webhooks stand still because their key has ended, by the id of that key. */
export function standingStill({ keys, schedules, webhooks }: Makers): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { keyId } of [...schedules.all(), ...webhooks.all()]) {
    if (keys.whyEnded(keyId) === undefined) continue;
    const owner = keys.ownerOf(keyId);
    counts.set(owner, (counts.get(owner) ?? 0) + 1);
  }
  return counts;
}

function madeBy({ keys, schedules, webhooks }: Makers, makers: ReadonlySet<string>): Made {
  const isTheirs = ({ keyId }: { readonly keyId: string }) => keyId !== "" && makers.has(keys.ownerOf(keyId));
  return {
    keys: keys.all().filter((key) => isTheirs(key) && keys.isValid(key)),
    schedules: schedules.all().filter(isTheirs),
    webhooks: webhooks.all().filter(isTheirs),
  };
}

/** Finds the key that is named by its id or its name, among those that the caller may manage. */
function receiverOf({ keys }: Makers, identity: Identity, key: ApiKeyRow, text: string): ApiKeyRow {
  const { handedTo } = key;
  const found = keys
    .all()
    .filter((one) => (one.id === text || one.name === text) && isWithin(identity, one) && keys.isValid(one));
  const exact = found.find(({ id }) => id === text);
  const candidates = exact ? [exact] : found.filter((one) => one.id !== key.id && one.handedTo === "");
  const [receiver] = candidates;
  if (candidates.length > 1) throw refused(`names ${candidates.length} keys; use the id of one of them`);
  if (!receiver) throw refused("names no valid key that this one may manage; see: orrery keys list");
  if (receiver.id === key.id) throw refused("is the key that ends; name another one");
  if (handedTo !== "" && handedTo !== receiver.id)
    throw refused(
      `comes too late: everything that the key made belongs to the key ${handedTo}; revoke that one`,
    );
  if (receiver.handedTo !== "")
    throw refused(`has handed over what it made itself; name the key ${keys.ownerOf(receiver.id)}`);
  return receiver;
}

function demandRights(receiver: ApiKeyRow, { keys, schedules, webhooks }: Made): void {
  const needs: [what: string, rights: Rights][] = [
    ...keys.map((key): [string, Rights] => [`the key ${key.id}`, key]),
    ...schedules.map(({ id, zone, agent }): [string, Rights] => [
      `the schedule ${id}`,
      { scopes: ["submit"], zones: [zone], agents: [agent] },
    ]),
    ...webhooks.map(({ id, zone }): [string, Rights] => [
      `the webhook ${id}`,
      { scopes: ["admin"], zones: [zone], agents: [] },
    ]),
  ];
  for (const [what, rights] of needs) {
    const lack = lackOf(receiver, rights);
    if (lack !== undefined) throw refused(`lacks ${lack}, which ${what} needs; name a key that has it`);
  }
}

function refused(detail: string): Problem {
  return invalid([{ in: "body", pointer: "/hand_over_to", detail }]);
}

/** A path or a query may be a secret. */
function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : "";
}
