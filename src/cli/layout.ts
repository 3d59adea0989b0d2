/** Aligned text. What is laid out has been neutralised already. */

import type { Palette } from "./output.ts";
import { padText, textWidth } from "./terminal-text.ts";

/** Names in a column of their own, values beside them, wrapped where they are long. */
export function fieldLines(
  fields: readonly (readonly [name: string, value: string])[],
  { dim }: Palette,
  columns: number = Number.POSITIVE_INFINITY,
): string[] {
  const width = Math.max(0, ...fields.map(([name]) => textWidth(name)));
  const indent = " ".repeat(width + 4);
  return fields.flatMap(([name, value]) => {
    const [first = "", ...rest] = hangingLines(indent, value, columns);
    return [`  ${dim(padText(name, width))}  ${first.slice(indent.length)}`.trimEnd(), ...rest];
  });
}

export interface Column {
  readonly title: string;
  readonly align?: "right";
}

/** A table without lines: two spaces between columns, titles above them. */
export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  { dim }: Palette,
): string[] {
  const widths = columns.map(({ title }, at) =>
    Math.max(textWidth(title), ...rows.map((row) => textWidth(row[at] ?? ""))),
  );
  const line = (cells: readonly string[]): string =>
    columns
      .map(({ align }, at) => {
        const [cell, width] = [cells[at] ?? "", widths[at] as number];
        return align === "right" ? " ".repeat(width - textWidth(cell)) + cell : padText(cell, width);
      })
      .join("  ")
      .trimEnd();
  return [dim(line(columns.map(({ title }) => title))), ...rows.map(line)];
}

/** Wraps the words of a text behind what stands before it; further lines are indented as far. */
export function hangingLines(before: string, text: string, columns: number): string[] {
  const indent = " ".repeat(textWidth(before));
  const room = Math.max(NARROWEST, columns - indent.length);
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && textWidth(longer) > room) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line].map((wrapped, at) => (at === 0 ? before : indent) + wrapped);
}

/** Narrower text is no longer read but deciphered; then it may rather run over the edge. */
const NARROWEST = 20;
