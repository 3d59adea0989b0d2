/** What YAML reads as a text without quotes, also within a list or map on one line. */
const PLAIN =
  /^(?!(?:null|true|false|\.inf|\.nan)$)(?:[a-z/]|\.[a-z/])[\w./@+-]*(?::[\w./@+-]+)*$|^(?:\d+(?:d|h|m|s|ms))+$|^\d+[KMGT]iB$/i;

/** A value as it may stand in a file of settings, on one line. */
export function valueText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(valueText).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).map(([key, member]) => `${valueText(key)}: ${valueText(member)}`);
    return `{${entries.join(", ")}}`;
  }
  return typeof value === "string" && !PLAIN.test(value) ? JSON.stringify(value) : String(value);
}
