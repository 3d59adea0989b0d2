import { type Static, Type } from "typebox";
import { NextCursor, Time } from "./api-parts.ts";

export type AuditEntry = AuditAnswer["entries"][number];
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
        before: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
          description: "What was set before; null if there was nothing. Never a secret.",
        }),
        detail: Type.Record(Type.String(), Type.Unknown(), {
          description: "What was asked for. Never a secret.",
        }),
        seq: Type.Integer({ description: "The event of the ledger that holds its hash; -1 if none does." }),
      }),
    ),
    next: NextCursor,
  },
  { title: "Audit" },
);

export type AuditCheckAnswer = Static<typeof AuditCheckAnswer>;
export const AuditCheckAnswer = Type.Object(
  {
    ok: Type.Boolean(),
    checked: Type.Integer({ description: "Entries that were compared with their events." }),
    unchained: Type.Integer({ description: "Entries from before the ledger held their hashes." }),
    faults: Type.Array(
      Type.Object({
        what: Type.Enum(["changed", "added", "deleted"]),
        seq: Type.Integer({ description: "The event of the ledger." }),
        entry: Type.Union([Type.String(), Type.Null()]),
      }),
    ),
  },
  { title: "AuditCheck" },
);
