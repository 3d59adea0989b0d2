import type { LedgerEventAnswer } from "../../../../src/protocol/api-schemas.ts";

/** Fields that say something by themselves; numbers of runs and nodes stand for what the line is about. */
const TOLD = ["type", "code", "outcome", "message", "name", "agent", "executor", "part", "max", "micros"];

/** The short of an event; its dialog has all of it. */
export function wordsOf({ data, worker_id }: LedgerEventAnswer): string {
  const words: string[] = [];
  if (typeof data["attempt"] === "number") words.push(`attempt ${data["attempt"]}`);
  if (worker_id !== null) words.push(`on ${worker_id}`);
  const reason = data["reason"] as { readonly type?: string } | undefined;
  if (reason?.type) words.push(`because ${reason.type}`);
  const spec = data["spec"];
  if (Array.isArray(spec) && typeof spec[0] === "string") words.push(spec[0]);
  for (const name of TOLD) {
    const value = data[name];
    if (typeof value === "string" || typeof value === "number") words.push(`${name} ${value}`);
  }
  return words.join(", ");
}
