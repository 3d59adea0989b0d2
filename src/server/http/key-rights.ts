import type { ApiKeyRow } from "../../store/index.ts";
import type { Scope } from "../api.ts";
import { type Identity, ownScopes } from "./auth.ts";
import { Problem } from "./problems.ts";

export type Rights = Pick<ApiKeyRow, "scopes" | "zones" | "agents">;

/** Whether a key has no right that the one who asks has not. */
export function isWithin(identity: Identity, rights: Rights): boolean {
  return beyond(identity, rights) === undefined;
}

export function demandWithin(identity: Identity, rights: Rights): void {
  const field = beyond(identity, rights);
  if (field === undefined) return;
  throw new Problem("scope", `a key cannot give ${field} that it has not itself`);
}

/** Names the rights that a key lacks for something, as "the zone a"; undefined if it lacks none. */
export function lackOf(key: ApiKeyRow, needed: Rights): string | undefined {
  const own = ownScopes(key);
  const scope = needed.scopes.find((one) => !own.has(one as Scope));
  if (scope !== undefined) return `the scope ${scope}`;
  const zone = missing(key.zones, needed.zones);
  if (zone !== undefined) return zone === "*" ? "all zones" : `the zone ${zone}`;
  const agent = missing(key.agents, needed.agents);
  if (agent === undefined) return undefined;
  return agent === "*" ? "all agents" : `the agent ${agent}`;
}

function beyond({ key, caller }: Identity, rights: Rights): string | undefined {
  if (!rights.scopes.every((scope) => caller.scopes.has(scope as Scope))) return "scopes";
  if (missing(key.zones, rights.zones) !== undefined) return "zones";
  return missing(key.agents, rights.agents) === undefined ? undefined : "agents";
}

function missing(own: readonly string[], asked: readonly string[]): string | undefined {
  if (own.includes("*")) return undefined;
  return asked.find((name) => name === "*" || !own.includes(name));
}
