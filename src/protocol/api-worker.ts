import { type Static, Type } from "typebox";
import { ChunkIds } from "./chunk-messages.ts";
import { Heartbeat, LogEntry, Progress, Registration, Report } from "./worker-messages.ts";

/** What a worker says by HTTP: the same as over a socket, with its session in each request. */

const session = { session: Type.String({ minLength: 8, maxLength: 64, examples: ["b1f7c0de5a"] }) };

export type RegisterBody = Static<typeof RegisterBody>;
export const RegisterBody = Type.Object({ registration: Registration, heartbeat: Heartbeat });

export type RegisterAnswer = Static<typeof RegisterAnswer>;
export const RegisterAnswer = Type.Object({
  worker: Type.String(),
  lease_ms: Type.Integer({ minimum: 0, description: "Silence for this long loses the worker." }),
  heartbeat_ms: Type.Integer({ minimum: 0 }),
});

export const PollBody = Type.Object({ ...session, heartbeat: Heartbeat, chunks: Type.Optional(ChunkIds) });
export const ReportBody = Type.Object({ ...session, report: Report });
export const LogBody = Type.Object({ ...session, entries: Type.Array(LogEntry, { maxItems: 1000 }) });
export const ProgressBody = Type.Object({ ...session, progress: Progress });
export const SessionBody = Type.Object(session);

/** Done; there is nothing to tell. */
export const Done = Type.Object({ ok: Type.Literal(true) });
