import { InputMissing } from "../chunks/index.ts";

export interface Failure {
  type: "failed";
  code: string;
  message: string;
  retry?: boolean;
  missing?: InputMissing["missing"];
}

const MAX_CODE_CHARS = 64;
const MAX_MESSAGE_CHARS = 10_000;

/** What anything that was thrown says. */
export function failureOf(error: unknown): Failure {
  const { code, retry, message } = (error ?? {}) as { code?: unknown; retry?: unknown; message?: unknown };
  const text = typeof message === "string" && message !== "" ? message : textOf(error);
  return {
    type: "failed",
    code: typeof code === "string" && code !== "" ? code.slice(0, MAX_CODE_CHARS).toWellFormed() : "error",
    message: text.slice(0, MAX_MESSAGE_CHARS).toWellFormed(),
    ...(retry === false ? { retry: false } : {}),
    ...(error instanceof InputMissing ? { missing: error.missing, retry: true } : {}),
  };
}

/** Anything can be thrown, even what cannot be made a text. */
function textOf(error: unknown): string {
  try {
    return String(error);
  } catch {
    return "it threw something that has no text";
  }
}
