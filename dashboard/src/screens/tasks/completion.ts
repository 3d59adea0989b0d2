import { FILTER_KEYS } from "../../../../src/protocol/task-filter.ts";

export interface Suggestion {
  /** What the word under the caret becomes. */
  readonly word: string;
  readonly does: string;
  /** Nothing more is expected of this term. */
  readonly isWhole: boolean;
}

const MOST = 8;

/** The word that the caret stands in or behind. */
export function wordAt(text: string, caret: number): { readonly from: number; readonly word: string } {
  const from = text.lastIndexOf(" ", caret - 1) + 1;
  return { from, word: text.slice(from, caret) };
}

/** What the word could become: a key, or a value that its key has; `seen` are values of tasks that are shown. */
export function suggestionsFor(
  word: string,
  seen: (key: string) => readonly string[],
): readonly Suggestion[] {
  const [, name = "", value] = /^(\w*)(?::(.*))?$/s.exec(word) ?? [];
  if (value === undefined) {
    return FILTER_KEYS.filter((key) => word === name && key.name.startsWith(name)).map(({ name, does }) =>
      name === "wait" ? { word: "wait>", does, isWhole: false } : { word: `${name}:`, does, isWhole: false },
    );
  }
  const key = FILTER_KEYS.find((one) => one.name === name);
  if (!key) return [];
  const earlier = name === "status" ? value.slice(0, value.lastIndexOf(",") + 1) : "";
  const begun = value.slice(earlier.length).replace(/^"/, "");
  return (key.values ?? seen(name))
    .filter((one) => one.startsWith(begun) && one !== begun)
    .slice(0, MOST)
    .map((one) => ({ word: `${name}:${earlier}${quoted(one)}`, does: "", isWhole: true }));
}

function quoted(value: string): string {
  return /\s/.test(value) ? `"${value}"` : value;
}
