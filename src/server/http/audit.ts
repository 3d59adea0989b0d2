import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { invariant } from "../../core/index.ts";
import { AuditAnswer, AuditCheckAnswer } from "../../protocol/api-schemas.ts";
import { type AuditRow, newId } from "../../store/index.ts";
import { AUDITED, type AuditAction, type Describe } from "./audited.ts";
import { callerOf, identityOf } from "./auth.ts";
import { unknownCursor } from "./cursor.ts";
import { instantText } from "./instants.ts";
import { type App, answers, type Edge, PageLimit } from "./route.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /**
     * What the audit keeps of a request, or "none" if the route changes nothing or is not administrative. A route with a
     * method that may change something cannot be registered without it.
     */
    audit?: AuditAction | "none";
  }
  interface FastifyRequest {
    /** Entry of the audit that was recorded before the request was carried out. */
    entry: AuditRow | null;
    /** The id that a new key gets, so that its entry can name it. */
    newId: string;
  }
}

const READING: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** Nothing is left out of the audit by accident: a route says what is kept of it, or the server does not start. */
export function demandAudit(app: App): void {
  app.addHook("onRoute", ({ method, url, config }) => {
    const methods = typeof method === "string" ? [method] : method;
    const isReading = methods.every((one) => READING.has(one));
    invariant(isReading || config?.audit !== undefined, `the route ${url} says what the audit keeps of it`);
  });
}

/**
 * Records what a request is about to change, in the ledger's chain, before the request is carried out: if the server is killed
 * in between, there may be an entry without its change, and never a change without its entry. A request that fails after
 * that gets a second entry, which says so.
 */
export function useAudit(app: App, edge: Edge): void {
  app.decorateRequest("entry", null);
  app.decorateRequest("newId", "");
  app.addHook("preHandler", async (request) => {
    const { audit: action = "none" } = request.routeOptions.config;
    if (action === "none") return;
    request.newId = newId();
    const entry = await entryOf(action, request, edge);
    if (!entry) return;
    await edge.api.recordAudit(entry);
    request.entry = entry;
  });
  app.addHook("onSend", async (request, reply) => {
    if (request.entry && reply.statusCode >= 400) await noteFailure(request, reply, request.entry, edge);
  });
}

async function entryOf(
  action: AuditAction,
  request: FastifyRequest,
  edge: Edge,
): Promise<AuditRow | undefined> {
  const { key, caller } = identityOf(request);
  const describe: Describe = AUDITED[action];
  const noted = await describe({
    edge,
    key,
    caller,
    params: (request.params ?? {}) as Readonly<Record<string, string>>,
    body: (request.body ?? {}) as Readonly<Record<string, unknown>>,
    newId: request.newId,
  });
  if (!noted) return undefined;
  const { target, before, detail = {}, concernsAll = false } = noted;
  return {
    id: newId(),
    at: Date.now(),
    zone: concernsAll ? "" : caller.zone,
    keyId: caller.keyId,
    agent: caller.agent,
    action: noted.action ?? action,
    target,
    before: JSON.stringify(before ?? null),
    detail: JSON.stringify(detail),
    seq: -1,
  };
}

async function noteFailure(
  request: FastifyRequest,
  { statusCode }: FastifyReply,
  entry: AuditRow,
  { api }: Edge,
): Promise<void> {
  const detail = JSON.stringify({ refused: statusCode, entry: entry.id });
  const failed = { ...entry, id: newId(), at: Date.now(), before: "null", detail };
  request.entry = null;
  // The first entry is there: that it came to nothing is only said less clearly.
  await api.recordAudit(failed).catch((error: unknown) => request.log.warn({ error }, "not in the audit"));
}

/** As ids are made. */
const ENTRY_ID = /^[0-9a-f-]{36}$/;

export function auditRoute(app: App, { api, audit }: Edge): void {
  app.get(
    "/audit",
    {
      config: { scopes: ["admin"] },
      schema: {
        summary: "Who did what in the zone, newest first",
        description:
          "What admins set and do, and what is done to many tasks at once. Operators are told of what concerns all " +
          "zones too. The latest 100,000 entries are kept.",
        tags: ["administration"],
        querystring: Type.Object(
          {
            limit: Type.Optional(PageLimit),
            cursor: Type.Optional(
              Type.String({ maxLength: 64, description: "Where an earlier page said `next`." }),
            ),
          },
          { additionalProperties: false },
        ),
        response: answers({ 200: AuditAnswer }),
      },
    },
    async (request) => {
      const { limit = 50, cursor } = request.query;
      if (cursor !== undefined && !ENTRY_ID.test(cursor)) throw unknownCursor();
      const { zone, scopes } = callerOf(request);
      const rows = await audit.list(scopes.has("operator") ? [zone, ""] : [zone], cursor, limit + 1);
      const entries = rows.slice(0, limit).map(({ keyId, at, before, detail, ...rest }) => ({
        ...rest,
        at: instantText(at),
        key_id: keyId,
        before: JSON.parse(before) as Record<string, unknown> | null,
        detail: JSON.parse(detail) as Record<string, unknown>,
      }));
      return { entries, next: rows.length > limit ? (entries.at(-1)?.id ?? null) : null };
    },
  );

  app.get(
    "/audit/check",
    {
      config: { scopes: ["operator"] },
      schema: {
        summary: "Compare the audit with the ledger's chain",
        description:
          "Each entry has an event in the ledger that holds its hash, so an entry that was changed, added or deleted in the " +
          "database is found. Entries from before there were such events are only counted.",
        tags: ["administration"],
        response: answers({ 200: AuditCheckAnswer }),
      },
    },
    async () => {
      const { checked, unchained, faults } = await api.checkAudit();
      return { ok: faults.length === 0, checked, unchained, faults: [...faults] };
    },
  );
}
