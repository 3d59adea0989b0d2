import { SessionAnswer, TicketBody, WhoAnswer } from "../../protocol/api-schemas.ts";
import { SCOPES } from "../api.ts";
import { identityOf } from "./auth.ts";
import { instantText } from "./instants.ts";
import { Problem } from "./problems.ts";
import { type App, answers, type Edge } from "./route.ts";

const tags = ["keys"];

/** Who asks, and how a browser becomes somebody. */
export function sessionRoutes(app: App, { tickets, health }: Pick<Edge, "tickets" | "health">): void {
  app.post(
    "/session",
    {
      // Whoever asks has no key: `Tickets` records it once the ticket has been found.
      config: { scopes: "none", audit: "none" },
      schema: {
        summary: "A key for a one-time ticket",
        description:
          "For the link that the server prints when it starts. A ticket is good once, for ten minutes.",
        tags,
        body: TicketBody,
        response: answers({ 200: SessionAnswer }),
      },
    },
    async (request) => {
      const session = await tickets.redeem(request.body.ticket);
      if (!session) {
        throw new Problem(
          "unauthorized",
          "the ticket was used, or is older than ten minutes; enter a key, or start the server again for a new link",
          { headers: { "www-authenticate": 'Bearer realm="orrery"' } },
        );
      }
      return { key: session.secret, expires_at: instantText(session.expiresAt) };
    },
  );

  app.get(
    "/whoami",
    {
      config: { scopes: SCOPES },
      schema: { summary: "Who the key is, and what it may do", tags, response: answers({ 200: WhoAnswer }) },
    },
    async (request) => {
      const { key, caller } = identityOf(request);
      const { version } = health.info();
      return {
        key_id: key.id,
        name: key.name,
        zone: caller.zone,
        agent: caller.agent,
        zones: [...key.zones],
        scopes: [...caller.scopes],
        expires_at: key.expiresAt === -1 ? null : instantText(key.expiresAt),
        version: typeof version === "string" ? version : null,
      };
    },
  );
}
