import { SubmitBody } from "../../protocol/api-schemas.ts";
import type { TaskSubmission } from "../api.ts";
import { readJsonText } from "./json-body.ts";
import { invalid, Problem } from "./problems.ts";
import { readSubmission } from "./submission.ts";
import { checkOf } from "./validation.ts";

let check: ReturnType<typeof checkOf> | undefined;

/**
 * A submission from the inbox: what would be answered to it by HTTP is what is wrong with it; but what was committed is worth more
 * than the last digits of a number, which are looked at before.
 */
export function readInboxBody(
  text: string,
): { readonly submission: TaskSubmission } | { readonly error: string } {
  try {
    check ??= checkOf(SubmitBody, "body");
    const body = readJsonText(text, { mayRound: true, allowsPrototype: true });
    const errors = check(body);
    if (errors.length > 0) throw invalid(errors);
    const reading = readSubmission(body as SubmitBody);
    if (!reading.ok) throw invalid(reading.errors);
    return { submission: reading.submission };
  } catch (error) {
    if (error instanceof Problem) return { error: error.message };
    throw error;
  }
}
