import type { Answer } from "../driver/index.ts";
import type { Refusal, RefusalCode } from "./api.ts";

type Refused = Extract<Answer, { readonly accepted: false }>;

/** Refused submissions may be tried again after this long. */
const RETRY_AFTER_MS = 1000;

/** The same whoever has it: what runs other zones have is not told. */
export const ID_TAKEN = "its id cannot be used for another run; leave it out, or take another one";

const REFUSALS: Readonly<Partial<Record<RefusalCode, string>>> = {
  backlog: "too many tasks wait already",
  backpressure: "the workers are too busy",
  "fair-share": "the agent runs as many tasks as it may",
  "rate-limit": "the agent submits faster than it may",
  credits: "the agent's credits do not cover the boost",
  "duplicate-run": ID_TAKEN,
  "content-refused":
    "the store cannot take its content: remove unusual characters and values; the log of the server says more",
  "too-many-nodes": "the graph has too many nodes",
};

const MAY_PASS: ReadonlySet<string> = new Set(["backlog", "backpressure", "fair-share", "rate-limit"]);

/** What the scheduler refused, in words, and when it is worth another try. */
export function refusalOf({ code, retryAt }: Refused, now: number): Refusal {
  const message = REFUSALS[code as RefusalCode] ?? "it was refused";
  const retryAfterMs = retryAt === undefined ? RETRY_AFTER_MS : Math.max(1, retryAt - now);
  const known = (code in REFUSALS ? code : "not-ended") as RefusalCode;
  const when = retryAt === undefined ? "" : `; it may again in ${Math.ceil(retryAfterMs / 1000)} s`;
  return { ...refusal(known, message + when), ...(MAY_PASS.has(code) && { retryAfterMs }) };
}

export function refusal(code: RefusalCode, message: string): Refusal {
  return { accepted: false, code, message };
}
