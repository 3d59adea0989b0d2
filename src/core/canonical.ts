import { invariant } from "./invariant.ts";

/**
 * JSON with keys sorted by code unit and no white space (RFC 8785), so that equal values have equal texts.
 * Members that are `undefined` are left out, as JSON does.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== "object") return scalar(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const member = (value as Record<string, unknown>)[key];
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${canonicalJson(member)}`);
  }
  return `{${members.join(",")}}`;
}

function scalar(value: unknown): string {
  invariant(typeof value !== "number" || Number.isFinite(value), "a number in canonical JSON is finite");
  const text = JSON.stringify(value);
  invariant(text !== undefined, `a ${typeof value} has no canonical JSON`);
  return text;
}
