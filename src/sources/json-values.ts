export type Mapping = Readonly<Record<string, unknown>>;

const NOTHING: Mapping = {};

/** A value that should be a map; what is none has no members. */
export function mappingOf(value: unknown): Mapping {
  return isMapping(value) ? value : NOTHING;
}

export function isMapping(value: unknown): value is Mapping {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A name or an id. Whoever writes JSON by hand leaves out the quotes of "7". */
export function nameOf(value: unknown): string | undefined {
  if (Number.isSafeInteger(value)) return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}
