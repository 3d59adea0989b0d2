import { type Static, Type } from "typebox";
import { OrNull, Time, TimeOrNull } from "./api-parts.ts";

export type TicketBody = Static<typeof TicketBody>;
export const TicketBody = Type.Object(
  { ticket: Type.String({ minLength: 1, maxLength: 256, description: "From the link, behind `#ticket=`." }) },
  { additionalProperties: false },
);

export type SessionAnswer = Static<typeof SessionAnswer>;
export const SessionAnswer = Type.Object(
  {
    key: Type.String({ description: "An API key, told once." }),
    expires_at: Time("Until when it is valid."),
  },
  { title: "Session" },
);

export type WhoAnswer = Static<typeof WhoAnswer>;
export const WhoAnswer = Type.Object(
  {
    key_id: Type.String(),
    name: Type.String(),
    zone: Type.String({ description: "Where the request acts." }),
    agent: Type.String({ description: "For whom it acts." }),
    zones: Type.Array(Type.String(), { description: "Where the key may act; `*`: everywhere." }),
    scopes: Type.Array(Type.String(), { description: "What it may do there." }),
    expires_at: TimeOrNull("Null: it does not expire."),
    version: OrNull(Type.String({ description: "The server's." })),
  },
  { title: "Caller", description: "Who asks, as the key and the headers say." },
);
