import { Readable } from "node:stream";
import { Type } from "typebox";
import { LedgerHeadAnswer } from "../../protocol/api-schemas.ts";
import { type App, answers, type Edge } from "./route.ts";
import { shareOf } from "./shares.ts";

/** A large ledger takes its time. */
const LIMIT_MS = 3_600_000;

/** The ledger spans all zones, so it is for operators. */
export function ledgerRoutes(app: App, { api, past }: Edge): void {
  app.get(
    "/ledger/head",
    {
      config: { scopes: ["operator"] },
      schema: {
        summary: "Where the ledger ends, and how far its chain was verified",
        description: "Each call verifies a little more, for a tenth of a second at most.",
        tags: ["ledger"],
        response: answers({ 200: LedgerHeadAnswer }),
      },
    },
    async () => {
      const { head, verifiedTo, damage } = await api.ledgerStanding();
      const { replayed } = past;
      return {
        ...head,
        verified_to: verifiedTo,
        damage: damage ? { ...damage } : null,
        replay: replayed ? { seq: replayed.seq, equal: replayed.isEqual } : null,
      };
    },
  );

  app.get(
    "/ledger",
    {
      config: { scopes: ["operator"], answerWithinMs: LIMIT_MS },
      schema: {
        summary: "The ledger, a block a line",
        description: "For `orrery verify`, `replay`, `export` and the like.",
        tags: ["ledger"],
        produces: ["application/jsonl"],
        response: answers({ 200: Type.String({ description: "JSON lines." }) }),
      },
    },
    async (request, reply) => {
      await shareOf(request).turnToRead(reply.raw);
      // The text that the schema names, as it comes.
      const text = Readable.from(api.ledger()) as unknown as string;
      return reply.type("application/jsonl").send(text);
    },
  );
}
