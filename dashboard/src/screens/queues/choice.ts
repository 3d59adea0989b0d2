/** A limit that may be left to others, be none, or be given. */
export type Choice = "inherited" | "none" | "given";

/** As a number where it is one; otherwise as it was typed, for the server to say what is wrong. */
export function typedNumber(text: string): unknown {
  const trimmed = text.trim();
  return trimmed === "" || Number.isNaN(Number(trimmed)) ? trimmed : Number(trimmed);
}

export function choiceOf(isOwn: boolean, value: unknown): Choice {
  if (!isOwn) return "inherited";
  return value === null ? "none" : "given";
}

/** What is sent: nothing where it is left to others, null for no limit. */
export function chosen<Key extends string>(
  key: Key,
  choice: Choice,
  given: unknown,
): { readonly [Name in Key]?: unknown } {
  if (choice === "inherited") return {};
  return { [key]: choice === "none" ? null : given } as { [Name in Key]?: unknown };
}
