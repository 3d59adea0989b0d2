import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";
import { invariant } from "../../core/index.ts";
import type { ApiKeyRow } from "../../store/index.ts";
import type { Caller, Scope } from "../api.ts";
import type { Keys } from "../keys.ts";
import { Problem } from "./problems.ts";

/** Who asks, and the key that says so. */
export interface Identity {
  readonly key: ApiKeyRow;
  readonly caller: Caller;
}

declare module "fastify" {
  interface FastifyRequest {
    /** Null on routes that need no key. */
    identity: Identity | null;
  }
  interface FastifyContextConfig {
    /** Any of these lets a caller in; "none": no key is needed. A route without it cannot be registered. */
    scopes?: readonly Scope[] | "none";
  }
}

const DEFAULT_ZONE = "default";
const VISIBLE = /^[\x21-\x7e]{1,256}$/;

/** Finds out who asks, from the headers alone; whoever it is not clear of is refused. */
export function identify(
  keys: Keys,
  { headers, socket }: Pick<IncomingMessage, "headers" | "socket">,
): Identity {
  const key = keyOf(keys, headers.authorization, socket.remoteAddress);
  const zone = zoneOf(key, headerOf(headers, "x-zone-id"));
  const actsFor = headerOf(headers, "x-agent-id");
  if (actsFor !== undefined && !allows(key.agents, actsFor)) {
    throw new Problem("agent-not-allowed", `this key may not act for agent "${actsFor}"`);
  }
  const { own, lent } = scopesOf(key);
  const scopes = actsFor === undefined ? own : lent;
  const agent = actsFor ?? ownAgent(key);
  const isZoneAdmin = scopes.has("admin");
  return { key, caller: { keyId: key.id, zone, agent, scopes, isZoneAdmin } };
}

export function demandScope(caller: Caller, allowed: readonly Scope[]): void {
  if (allowed.some((scope) => caller.scopes.has(scope))) return;
  const needed = allowed.join(" or ");
  throw new Problem(
    "scope",
    `this needs the scope ${needed}; the request has ${[...caller.scopes].join(", ") || "none"}`,
  );
}

export function callerOf(request: FastifyRequest): Caller {
  return identityOf(request).caller;
}

export function identityOf(request: FastifyRequest): Identity {
  invariant(request.identity !== null, "a route that asks for its caller needs a key");
  return request.identity;
}

/** ["*"] allows everything. */
export function allows(list: readonly string[], name: string): boolean {
  return list.includes("*") || list.includes(name);
}

/** A header that names something. Two of the same kind arrive joined by a comma and a space, which no name has. */
export function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  if (value === undefined) return undefined;
  if (typeof value === "string" && VISIBLE.test(value)) return value;
  throw new Problem(
    "bad-header",
    `${name} must be given once, with 1 to 256 visible ASCII characters and no spaces`,
  );
}

/** Returns the valid key that the headers show; `undefined` if they show none. */
export function keyShown(keys: Keys, { authorization }: IncomingHttpHeaders): ApiKeyRow | undefined {
  const secret = secretIn(authorization);
  return secret === undefined ? undefined : keys.find(secret);
}

function secretIn(authorization: string | undefined): string | undefined {
  return /^Bearer +([\x21-\x7e]{1,512})$/i.exec(authorization ?? "")?.[1];
}

function keyOf(keys: Keys, authorization: string | undefined, address = ""): ApiKeyRow {
  const secret = secretIn(authorization);
  const key = secret === undefined ? undefined : keys.findFrom(address, secret);
  if (key === "too-many")
    throw new Problem("rate-limit", "too many wrong API keys came from this address; try again later", {
      headers: { "retry-after": "1" },
    });
  if (key) return key;
  // The same words for a key that is unknown, expired or revoked: which of them it was helps only who guesses.
  const detail = authorization === undefined ? "send Authorization: Bearer sk-…" : "the API key is not valid";
  throw new Problem("unauthorized", detail, { headers: { "www-authenticate": 'Bearer realm="orrery"' } });
}

function zoneOf(key: ApiKeyRow, asked: string | undefined): string {
  if (asked === undefined) {
    const [first = "*"] = key.zones;
    return first === "*" ? DEFAULT_ZONE : first;
  }
  // Whether the zone exists is not said.
  if (!allows(key.zones, asked))
    throw new Problem("zone-not-allowed", `this key does not allow zone "${asked}"`);
  return asked;
}

function ownAgent(key: ApiKeyRow): string {
  const [first = "*"] = key.agents;
  if (first !== "*") return first;
  return key.name === "" ? key.id : key.name;
}

/** What a key may do when it acts for nobody else. */
export function ownScopes(key: ApiKeyRow): ReadonlySet<Scope> {
  return scopesOf(key).own;
}

/** Of a key by itself, and where it acts for an agent. */
interface Scopes {
  readonly own: ReadonlySet<Scope>;
  readonly lent: ReadonlySet<Scope>;
}

/** A row never changes: what does becomes a new one. */
const SCOPES = new WeakMap<ApiKeyRow, Scopes>();

function scopesOf(key: ApiKeyRow): Scopes {
  let scopes = SCOPES.get(key);
  if (!scopes) {
    scopes = { own: effectiveScopes(key, false), lent: effectiveScopes(key, true) };
    SCOPES.set(key, scopes);
  }
  return scopes;
}

/**
 * An admin may submit, read and work too. Who acts for an agent has that agent's rights and no others, so what only
 * an admin may do is gone, and so is what being one implied beyond an agent's own.
 */
function effectiveScopes(key: ApiKeyRow, actsForAgent: boolean): ReadonlySet<Scope> {
  const scopes = new Set(key.scopes as readonly Scope[]);
  if (scopes.has("admin")) {
    scopes.add("submit").add("read");
    if (!actsForAgent) scopes.add("work");
  }
  if (actsForAgent) {
    scopes.delete("admin");
    scopes.delete("operator");
  }
  return scopes;
}
