import { items, members, startOfValue } from "./json-spans.ts";

/** Tells the lines of the items of a list in a JSON text. They are looked for once, when the first is asked for. */
export function lineOfItems(text: string, path: readonly string[]): (index: number) => number {
  let lines: number[] | undefined;
  return (index) => {
    lines ??= linesOf(text, path);
    return lines[index] ?? 1;
  };
}

function linesOf(text: string, path: readonly string[]): number[] {
  const list = path.reduce((at, key) => offsetOf(text, at, key), startOfValue(text));
  const lines: number[] = [];
  let line = 1;
  let from = 0;
  for (const at of items(text, list)) {
    for (let next = text.indexOf("\n", from); next !== -1 && next < at; next = text.indexOf("\n", from)) {
      line += 1;
      from = next + 1;
    }
    lines.push(line);
  }
  return lines;
}

/** Of equal keys the last counts, as it does for `JSON.parse`. */
function offsetOf(text: string, at: number, key: string): number {
  let found = at;
  for (const { keyAt, keyEnd, valueAt } of members(text, at))
    if (JSON.parse(text.slice(keyAt, keyEnd)) === key) found = valueAt;
  return found;
}
