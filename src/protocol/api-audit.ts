import { type Static, Type } from "typebox";
import { NextCursor, Time } from "./api-parts.ts";

export type AuditAnswer = Static<typeof AuditAnswer>;
export const AuditAnswer = Type.Object(
  {
    entries: Type.Array(
      Type.Object({
        id: Type.String(),
        at: Time("When it was done."),
        zone: Type.String({ description: "Where; empty: it concerns all zones." }),
        key_id: Type.String({ description: "The key that it was done with." }),
        agent: Type.String({ description: "For whom." }),
        action: Type.String({ examples: ["worker.drain"] }),
        target: Type.String({ description: "What it was done to." }),
        detail: Type.Record(Type.String(), Type.Unknown(), { description: "How. Never a secret." }),
      }),
    ),
    next: NextCursor,
  },
  { title: "Audit" },
);
