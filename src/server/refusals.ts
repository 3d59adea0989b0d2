import type { Answer } from "../driver/index.ts";
import type { Excess } from "../scheduler/index.ts";
import { countOf, formatBytes } from "../words/index.ts";
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
export function refusalOf({ code, retryAt, excess }: Refused, now: number): Refusal {
  if (excess) {
    const isForGood = excess.asked > excess.most;
    return { ...refusal("backlog", excessText(excess)), ...(!isForGood && { retryAfterMs: RETRY_AFTER_MS }) };
  }
  const message = REFUSALS[code as RefusalCode] ?? "it was refused";
  const retryAfterMs = retryAt === undefined ? RETRY_AFTER_MS : Math.max(1, retryAt - now);
  const known = (code in REFUSALS ? code : "not-ended") as RefusalCode;
  const when = retryAt === undefined ? "" : `; it may again in ${Math.ceil(retryAfterMs / 1000)} s`;
  return { ...refusal(known, message + when), ...(MAY_PASS.has(code) && { retryAfterMs }) };
}

const SETTINGS = {
  tasks: { server: "queue.backlog_limit", zone: "queue.zone_share", agent: "queue.agent_share" },
  bytes: { server: "queue.backlog_size", zone: "queue.zone_share", agent: "queue.agent_share" },
} as const;

/** Says whose work holds how much, and which setting allows how much. What other zones hold is not told. */
export function excessText({ whose, unit, held, asked, most }: Excess): string {
  const all = whose === "server" ? "the server" : `this ${whose}`;
  const [allowed, more] =
    unit === "tasks"
      ? [countOf(most, "task"), countOf(asked, "task")]
      : [formatBytes(most), formatBytes(asked)];
  const limit = `at most ${allowed} (${SETTINGS[unit][whose]})`;
  if (asked > most)
    return `this submission needs ${more}${unit === "bytes" ? " of memory" : ""}, and ${all} may have ${limit}`;
  return unit === "tasks"
    ? `too many tasks wait: ${all} has ${countOf(held, "waiting task")} and may have ${limit}; this submission has ${more}`
    : `waiting and running work of ${all} holds ${formatBytes(held)} of memory, and ${limit} is allowed; this submission needs up to ${more}`;
}

export function refusal(code: RefusalCode, message: string): Refusal {
  return { accepted: false, code, message };
}
