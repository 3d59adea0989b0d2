// Callers of the authorization matrix: every kind of credential, and every scope in every place.

import { SCOPES, type Scope } from "../src/server/api.ts";
import { bearer, type Served } from "./http-app.ts";

/** The zone and the agent that own all objects of the matrix. */
export const ZONE = "zone-secret-zone";
export const ANN = "ann-who-owns-it";
const OTHER_ZONE = "elsewhere";
const BOB = "bob";

export interface MatrixCaller {
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly zone: string;
  /** The agent that the caller acts as. */
  readonly agent: string;
  /** The agents that the key may act for. */
  readonly agents: readonly string[];
  /** Scopes in effect for the request; `undefined` if the key is not valid. */
  readonly scopes: ReadonlySet<Scope> | undefined;
  /** Whether the headers name a zone or an agent that the key does not allow. */
  readonly oversteps: boolean;
}

/** A place that a key is made for, and the place that its holder names. */
interface Place {
  readonly name: string;
  readonly zone: string;
  readonly agent: string;
  readonly names?: { readonly zone?: string; readonly agent?: string };
}

const PLACES: readonly Place[] = [
  { name: "of another zone that names this one", zone: OTHER_ZONE, agent: ANN, names: { zone: ZONE } },
  { name: "of another zone", zone: OTHER_ZONE, agent: ANN, names: { zone: OTHER_ZONE } },
  { name: "of another agent that names this one", zone: ZONE, agent: BOB, names: { agent: ANN } },
  { name: "of another agent that names itself", zone: ZONE, agent: BOB, names: { agent: BOB } },
  { name: "of another agent", zone: ZONE, agent: BOB },
  { name: "of the owner", zone: ZONE, agent: ANN },
];

/** The caller whose key registers the workers of the matrix. */
export const WORKER_KEY = "a work key of the owner";

/** Callers in the order in which they come: those who may see most come last, because they change the objects. */
export async function matrixCallers(served: Served): Promise<readonly MatrixCaller[]> {
  const own = { scopes: [...SCOPES], zones: [ZONE], agents: [ANN] };
  const revoked = await served.secretOf(own);
  await served.keys.revoke(served.keys.find(revoked)?.id ?? "");
  const invalid = {
    "no key": "",
    "a wrong key": "sk-of-nobody",
    "an expired key": await served.secretOf({ ...own, expiresAt: Date.now() - 1 }),
    "a revoked key": revoked,
  };
  const callers = Object.entries(invalid).map(([name, secret]): MatrixCaller => {
    const headers = secret === "" ? { authorization: "" } : bearer(secret);
    return { name, headers, zone: ZONE, agent: ANN, agents: [ANN], scopes: undefined, oversteps: false };
  });
  for (const place of PLACES) for (const scope of SCOPES) callers.push(await callerAt(served, place, scope));
  return callers;
}

async function callerAt(
  served: Served,
  { name, zone, agent, names = {} }: Place,
  scope: Scope,
): Promise<MatrixCaller> {
  const secret = await served.secretOf({ name, scopes: [scope], zones: [zone], agents: [agent] });
  return {
    name: `a ${scope} key ${name}`,
    headers: {
      ...bearer(secret),
      ...(names.zone !== undefined && { "x-zone-id": names.zone }),
      ...(names.agent !== undefined && { "x-agent-id": names.agent }),
    },
    zone,
    agent,
    agents: [agent],
    scopes: scopesInEffect(scope, names.agent !== undefined),
    oversteps: (names.zone ?? zone) !== zone || (names.agent ?? agent) !== agent,
  };
}

/**
 * An admin may submit, read and work as well. A request that names its agent has the rights of an agent only: not those of an
 * admin or operator, and not the work that being an admin implies.
 */
function scopesInEffect(scope: Scope, namesAgent: boolean): ReadonlySet<Scope> {
  if (scope === "admin")
    return new Set<Scope>(namesAgent ? ["submit", "read"] : ["admin", "submit", "read", "work"]);
  return new Set<Scope>(scope === "operator" && namesAgent ? [] : [scope]);
}
