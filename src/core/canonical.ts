import { invariant } from "./invariant.ts";

/**
 * JSON with keys sorted by code unit and no white space (RFC 8785), so that equal values have equal texts.
 * Members that are `undefined` are left out, as JSON does.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (value === null || typeof value !== "object") return scalar(value);
  let text = "";
  if (Array.isArray(value)) {
    if (isPlain(value)) return JSON.stringify(value);
    for (const item of value as unknown[])
      text += text === "" ? canonicalJson(item) : `,${canonicalJson(item)}`;
    return `[${text}]`;
  }
  for (const key of inOrder(Object.keys(value))) {
    const member = (value as Record<string, unknown>)[key];
    if (member === undefined) continue;
    if (text !== "") text += ",";
    text += `${JSON.stringify(key)}:${canonicalJson(member)}`;
  }
  return `{${text}}`;
}

/** Texts and numbers in lists of lists: JSON has one form for these, and writes long ones many times faster. */
function isPlain(items: readonly unknown[]): boolean {
  for (let at = 0; at < items.length; at++) {
    const item = items[at];
    if (typeof item !== "string" && !Number.isFinite(item) && !(Array.isArray(item) && isPlain(item)))
      return false;
  }
  return true;
}

/** Most are in order already, which takes less to see than to sort them. */
function inOrder(keys: string[]): string[] {
  for (let at = 1; at < keys.length; at++)
    if ((keys[at - 1] as string) > (keys[at] as string)) return keys.sort();
  return keys;
}

function scalar(value: unknown): string {
  invariant(typeof value !== "number" || Number.isFinite(value), "a number in canonical JSON is finite");
  const text = JSON.stringify(value);
  if (text === undefined) invariant(false, `a ${typeof value} has no canonical JSON`);
  return text;
}
