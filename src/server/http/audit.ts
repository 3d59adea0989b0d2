import type { FastifyRequest } from "fastify";
import { Type } from "typebox";
import { AuditAnswer } from "../../protocol/api-schemas.ts";
import { type AuditRow, newId } from "../../store/index.ts";
import { callerOf } from "./auth.ts";
import { unknownCursor } from "./cursor.ts";
import { instantText } from "./instants.ts";
import { type App, answers, type Edge, PageLimit } from "./route.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** What is noted of it when it was done; without it nothing is. */
    audit?: AuditAction;
  }
}

/** What was asked, and what was answered, as records: each action knows its own. */
interface Done {
  readonly zone: string;
  readonly params: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly answer: Readonly<Record<string, unknown>>;
}

interface Noted {
  /** Where it is not told by the route. */
  readonly action?: string;
  readonly target: string;
  readonly detail?: object;
  readonly concernsAll?: boolean;
}

/** What is kept of each action; undefined: nothing was done after all. No answer that holds a secret is kept as it is. */
const NOTED = {
  "worker.drain": ({ params }) => ({ target: params["id"] ?? "" }),
  "queue.pause": ({ body, zone }) => queueOf(body, zone),
  "queue.resume": ({ body, zone }) => queueOf(body, zone),
  "zone.set": ({ body, zone }) => ({ target: zone, detail: body }),
  "agent.set": ({ params, body }) => ({ target: params["agent"] ?? "", detail: body }),
  "agent.credits": ({ params, body }) => ({ target: params["agent"] ?? "", detail: body }),
  "limit.set": ({ params, body }) => ({ target: params["name"] ?? "", detail: body }),
  "key.create": ({ body, answer }) => ({ target: String(answer["id"]), detail: body }),
  "key.revoke": ({ answer }) => ({ target: String(answer["id"]), detail: { name: answer["name"] } }),
  "key.rotate": ({ params, answer }) => ({
    target: params["id"] ?? "",
    detail: { name: answer["name"], by: answer["id"] },
  }),
  "tasks.bulk": ({ body, answer }) =>
    body["dry_run"] === true || answer["done"] === 0
      ? undefined
      : {
          action: `tasks.${String(body["action"])}`,
          target: String(body["filter"] ?? ""),
          detail: { done: answer["done"] },
        },
  "leader.step-down": ({ answer }) => ({
    target: String(answer["name"]),
    detail: { epoch: answer["epoch"] },
    concernsAll: true,
  }),
} satisfies Readonly<Record<string, (done: Done) => Noted | undefined>>;

type AuditAction = keyof typeof NOTED;

function queueOf(body: Done["body"], zone: string): Noted {
  return body["executor"] === undefined
    ? { target: zone, detail: { whole_zone: true } }
    : { target: String(body["executor"]) };
}

/** Notes what admins do once it is done, before whoever asked is told. */
export function useAudit(app: App, { audit }: Pick<Edge, "audit">): void {
  app.addHook("preSerialization", async (request, reply, answer) => {
    const { audit: action } = request.routeOptions.config;
    const row = action && reply.statusCode < 400 ? rowOf(action, request, answer) : undefined;
    // It was done already: that it could not be noted is for the log, not for whoever did it.
    if (row)
      await audit.add(row).catch((error: unknown) => request.log.error({ error, row }, "not in the audit"));
    return answer;
  });
}

function rowOf(action: AuditAction, request: FastifyRequest, answer: unknown): AuditRow | undefined {
  const { zone, keyId, agent } = callerOf(request);
  const noted: Noted | undefined = NOTED[action]({
    zone,
    params: (request.params ?? {}) as Done["params"],
    body: (request.body ?? {}) as Done["body"],
    answer: answer as Done["answer"],
  });
  if (!noted) return undefined;
  const { target, detail = {}, concernsAll = false } = noted;
  return {
    id: newId(),
    at: Date.now(),
    zone: concernsAll ? "" : zone,
    keyId,
    agent,
    action: noted.action ?? action,
    target,
    detail: JSON.stringify(detail),
  };
}

/** As ids are made. */
const ENTRY_ID = /^[0-9a-f-]{36}$/;

export function auditRoute(app: App, { audit }: Edge): void {
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
      const entries = rows.slice(0, limit).map(({ keyId, at, detail, ...rest }) => ({
        ...rest,
        at: instantText(at),
        key_id: keyId,
        detail: JSON.parse(detail) as Record<string, unknown>,
      }));
      return { entries, next: rows.length > limit ? (entries.at(-1)?.id ?? null) : null };
    },
  );
}
