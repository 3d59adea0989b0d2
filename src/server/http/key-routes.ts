import { KeyAnswer, KeyBody, KeysAnswer, NewKeyAnswer, RotateBody } from "../../protocol/api-schemas.ts";
import type { ApiKeyRow } from "../../store/index.ts";
import type { Scope } from "../api.ts";
import { type Identity, identityOf } from "./auth.ts";
import { emptyIfMissing } from "./body-parsers.ts";
import { instantOrNull, instantText, parseInstant } from "./instants.ts";
import { invalid, Problem } from "./problems.ts";
import { type App, answers, type Edge, notFound, PathId } from "./route.ts";

const admin = { config: { scopes: ["admin"] } } as const;
const tags = ["keys"];
const KeyId = PathId("id", "A key's id.");
const DEFAULT_OVERLAP_S = 3600;

/** Keys, for admins. Nobody gives or touches what goes beyond their own key. */
export function keyRoutes(app: App, { keys }: Edge): void {
  const keyOf = (identity: Identity, id: string): ApiKeyRow => {
    const key = keys.byId(id);
    if (!key || !isWithin(identity, key)) throw notFound("key");
    return key;
  };

  app.get(
    "/keys",
    { ...admin, schema: { summary: "List keys", tags, response: answers({ 200: KeysAnswer }) } },
    async (request) => {
      const identity = identityOf(request);
      return {
        keys: keys
          .all()
          .filter((key) => isWithin(identity, key))
          .map(keyAnswer),
      };
    },
  );

  app.post(
    "/keys",
    {
      config: { scopes: ["admin"], audit: "key.create" },
      schema: {
        summary: "Make a key",
        description:
          'Zones and agents must be among those of the key that asks; "*" stands for all. A key that ends makes none that ends later.',
        tags,
        body: KeyBody,
        response: answers({ 201: NewKeyAnswer }),
      },
    },
    async (request, reply) => {
      const identity = identityOf(request);
      const { name, scopes, zones, agents } = request.body;
      const asked = {
        name,
        scopes: [...new Set(scopes)],
        zones,
        agents,
        expiresAt: endWithin(identity, expiryOf(request.body.expires_at)),
      };
      demandWithin(identity, asked);
      const { key, secret } = await keys.create(asked, request.newId);
      return reply.code(201).send({ ...keyAnswer(key), secret });
    },
  );

  app.post(
    "/keys/:id/revoke",
    {
      config: { scopes: ["admin"], ignoresBody: true, audit: "key.revoke" },
      schema: { summary: "End a key", tags, params: KeyId, response: answers({ 200: KeyAnswer }) },
    },
    async (request) => {
      const key = keyOf(identityOf(request), request.params.id);
      return keyAnswer((await keys.revoke(key.id)) ?? key);
    },
  );

  app.post(
    "/keys/:id/rotate",
    {
      config: { scopes: ["admin"], audit: "key.rotate" },
      preValidation: emptyIfMissing,
      schema: {
        summary: "Replace a key by one like it",
        description: "The old secret stays valid for the overlap.",
        tags,
        params: KeyId,
        body: RotateBody,
        response: answers({ 201: NewKeyAnswer }),
      },
    },
    async (request, reply) => {
      const identity = identityOf(request);
      const { id, expiresAt } = keyOf(identity, request.params.id);
      endWithin(identity, expiresAt === -1 ? Number.POSITIVE_INFINITY : expiresAt);
      const overlapMs = (request.body.overlap_seconds ?? DEFAULT_OVERLAP_S) * 1000;
      const made = await keys.rotate(id, Math.round(overlapMs), request.newId);
      if (!made) throw new Problem("not-found", "the key has ended already");
      return reply.code(201).send({ ...keyAnswer(made.key), secret: made.secret });
    },
  );
}

/** Returns when a key ends that this one makes: no later than itself, and at the same time if nothing is said. */
function endWithin({ key }: Identity, expiresAt: number): number {
  if (key.expiresAt === -1) return expiresAt;
  if (expiresAt === -1) return key.expiresAt;
  if (expiresAt <= key.expiresAt) return expiresAt;
  const detail = `this key ends at ${instantText(key.expiresAt)}, and cannot make one that ends later; use a key that does not end before`;
  throw new Problem("scope", detail);
}

type Rights = Pick<ApiKeyRow, "scopes" | "zones" | "agents">;

/** Whether a key has no right that the one who asks has not. */
export function isWithin(identity: Identity, rights: Rights): boolean {
  return beyond(identity, rights) === undefined;
}

function demandWithin(identity: Identity, rights: Rights): void {
  const field = beyond(identity, rights);
  if (field === undefined) return;
  throw new Problem("scope", `a key cannot give ${field} that it has not itself`);
}

function beyond({ key, caller }: Identity, rights: Rights): string | undefined {
  if (!rights.scopes.every((scope) => caller.scopes.has(scope as Scope))) return "scopes";
  if (!covers(key.zones, rights.zones)) return "zones";
  return covers(key.agents, rights.agents) ? undefined : "agents";
}

function covers(own: readonly string[], asked: readonly string[]): boolean {
  return own.includes("*") || asked.every((name) => name !== "*" && own.includes(name));
}

function expiryOf(text: string | null | undefined): number {
  const at = typeof text === "string" ? parseInstant(text) : -1;
  if (typeof at === "number") return at;
  throw invalid([{ in: "body", pointer: "/expires_at", detail: at.refusal }]);
}

function keyAnswer({
  id,
  name,
  scopes,
  zones,
  agents,
  createdAt,
  expiresAt,
  revokedAt,
}: ApiKeyRow): KeyAnswer {
  return {
    id,
    name,
    scopes: scopes as Scope[],
    zones: [...zones],
    agents: [...agents],
    created_at: instantText(createdAt),
    expires_at: instantOrNull(expiresAt),
    revoked_at: instantOrNull(revokedAt),
  };
}
