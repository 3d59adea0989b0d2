import {
  type KeyAnswer,
  KeyBody,
  KeysAnswer,
  NewKeyAnswer,
  RevokeBody,
  RevokedKeyAnswer,
  RotateBody,
} from "../../protocol/api-schemas.ts";
import type { ApiKeyRow } from "../../store/index.ts";
import type { Scope } from "../api.ts";
import { type Identity, identityOf } from "./auth.ts";
import { emptyIfMissing } from "./body-parsers.ts";
import { instantOrNull, instantText, parseInstant } from "./instants.ts";
import { endingOf, madeAnswer, standingStill } from "./key-ending.ts";
import { demandWithin, isWithin } from "./key-rights.ts";
import { invalid, Problem } from "./problems.ts";
import { type App, answers, type Edge, notFound, PathId } from "./route.ts";

const admin = { config: { scopes: ["admin"] } } as const;
const tags = ["keys"];
const KeyId = PathId("id", "A key's id.");
const DEFAULT_OVERLAP_S = 3600;

/** Keys, for admins. Nobody gives or touches what goes beyond their own key. */
export function keyRoutes(app: App, edge: Edge): void {
  const { keys, schedules, webhooks } = edge;
  const keyOf = (identity: Identity, id: string): ApiKeyRow => {
    const key = keys.byId(id);
    if (!key || !isWithin(identity, key)) throw notFound("key");
    return key;
  };
  const answerOf = (key: ApiKeyRow, still = standingStill(edge)): KeyAnswer => ({
    ...keyAnswer(key),
    key_id: key.keyId === "" ? null : keys.ownerOf(key.keyId),
    suspended_reason: keys.whyEnded(key.keyId) ?? null,
    standing_still: still.get(key.id) ?? 0,
  });

  app.get(
    "/keys",
    { ...admin, schema: { summary: "List keys", tags, response: answers({ 200: KeysAnswer }) } },
    async (request) => {
      const identity = identityOf(request);
      const visible = keys.all().filter((key) => isWithin(identity, key));
      const still = standingStill(edge);
      return { keys: visible.map((key) => answerOf(key, still)) };
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
        keyId: identity.key.id,
      };
      demandWithin(identity, asked);
      const { key, secret } = await keys.create(asked, request.newId);
      return reply.code(201).send({ ...answerOf(key), secret });
    },
  );

  app.post(
    "/keys/:id/revoke",
    {
      config: { scopes: ["admin"], audit: "key.revoke" },
      preValidation: emptyIfMissing,
      schema: {
        summary: "End a key, with everything that it made or without",
        description:
          "Its schedules fire no more, its webhooks send no more, and the keys that it made end too, unless they are handed over to " +
          "another key. A key that was revoked before can still hand over its schedules and webhooks.",
        tags,
        params: KeyId,
        body: RevokeBody,
        response: answers({ 200: RevokedKeyAnswer }),
      },
    },
    async (request) => {
      const identity = identityOf(request);
      const key = keyOf(identity, request.params.id);
      const { receiver, ended, handedOver } = endingOf(edge, identity, key, request.body.hand_over_to);
      for (const webhook of handedOver.webhooks)
        if (webhooks.suspendedReason(webhook) !== undefined) await webhooks.skipMissed(webhook);
      const revoked = (await keys.revoke(key.id, receiver)) ?? key;
      webhooks.noteKeys();
      schedules.noteKeys();
      return {
        ...answerOf(revoked),
        ended: madeAnswer(ended),
        handed_over_to: receiver ? { id: receiver.id, name: receiver.name } : null,
        handed_over: madeAnswer(handedOver),
      };
    },
  );

  app.post(
    "/keys/:id/rotate",
    {
      config: { scopes: ["admin"], audit: "key.rotate" },
      preValidation: emptyIfMissing,
      schema: {
        summary: "Replace a key by one like it",
        description:
          "The old secret stays valid for the overlap. Everything that the old key made belongs to the new one from now on.",
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
      const made = await keys.rotate(id, Math.round(overlapMs), identity.key.id, request.newId);
      if (!made) throw new Problem("not-found", "the key has ended already");
      return reply.code(201).send({ ...answerOf(made.key), secret: made.secret });
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
}: ApiKeyRow): Omit<KeyAnswer, "key_id" | "suspended_reason" | "standing_still"> {
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
