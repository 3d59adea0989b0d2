/** What may come next in a JSON text. */
type Expected =
  | "a value"
  | "a value or ]"
  | "a key or }"
  | "a key"
  | "a colon"
  | "a comma or }"
  | "a comma or ]"
  | "the end";

/**
 * Where a text stops being JSON, and what should stand there. `JSON.parse` says so only sometimes, in a
 * wording that differs between versions of Node, and YAML's parser takes many seconds for a large file.
 */
export function findJsonError(text: string): { offset: number; expected: string } | undefined {
  const open: ("{" | "[")[] = [];
  let expected: Expected = "a value";
  let at = skipBlank(text, 0);
  while (at < text.length) {
    const unit = text[at] as string;
    const isKey: boolean = expected.startsWith("a key");
    const isValue: boolean = expected.startsWith("a value");
    if ((isKey || isValue) && unit === '"') {
      const end = endOfString(text, at);
      if (end < 0) return { offset: -end, expected: instead(text, -end) };
      at = end;
      expected = isKey ? "a colon" : afterValue(open);
    } else if (isValue && (unit === "{" || unit === "[")) {
      open.push(unit);
      at += 1;
      expected = unit === "{" ? "a key or }" : "a value or ]";
    } else if ((unit === "}" || unit === "]") && expected.endsWith(`or ${unit}`)) {
      open.pop();
      at += 1;
      expected = afterValue(open);
    } else if (unit === "," && expected.startsWith("a comma")) {
      at += 1;
      expected = open.at(-1) === "{" ? "a key" : "a value";
    } else if (unit === ":" && expected === "a colon") {
      at += 1;
      expected = "a value";
    } else {
      const word = isValue ? wordAt(text, at) : undefined;
      if (word === undefined) return { offset: at, expected };
      at += word.length;
      expected = afterValue(open);
    }
    at = skipBlank(text, at);
  }
  return expected === "the end" ? undefined : { offset: text.length, expected };
}

function afterValue(open: readonly ("{" | "[")[]): Expected {
  const top = open.at(-1);
  if (top === undefined) return "the end";
  return top === "{" ? "a comma or }" : "a comma or ]";
}

function skipBlank(text: string, start: number): number {
  let at = start;
  while (at < text.length && " \t\r\n".includes(text[at] as string)) at += 1;
  return at;
}

/** The offset after the closing quote, or minus the offset of what may not stand in a string. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === 34) return at + 1;
    if (unit < 32) return -at;
    if (unit === 92) {
      const escaped = /^(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/.exec(text.slice(at + 1, at + 6))?.[0];
      if (escaped === undefined) return -at;
      at += escaped.length;
    }
  }
  return -text.length;
}

function instead(text: string, offset: number): string {
  if (offset === text.length) return "a closing quote";
  return text[offset] === "\\" ? "an escape such as \\n or \\\\" : "a closing quote or an escape such as \\n";
}

function wordAt(text: string, at: number): string | undefined {
  const word = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y;
  word.lastIndex = at;
  return word.exec(text)?.[0];
}
