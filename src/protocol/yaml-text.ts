import {
  type Alias,
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  type ParsedNode,
  Parser,
  type Scalar,
  type YAMLMap,
  type YAMLParseError,
} from "yaml";
import { type Faults, MAX_DEPTH, type ParsedText, type Path, type Visit } from "./faults.ts";
import { losesDigits } from "./rounded-integer.ts";
import type { Lines } from "./source-text.ts";
import { shown } from "./units.ts";

/** How many values aliases may stand for in all. A few lines of nested aliases can stand for billions. */
const MAX_ALIASED_VALUES = 1_000_000;
/** How many words and marks are read. A node has about 15; each takes some 200 bytes of memory until all are read. */
const MAX_LEXEMES = 10_000_000;
/** A text counts as one value for each so many of its characters. */
const VALUE_CHARACTERS = 64;

/** Space and whatever comes before it. */
const BLANK = 32;
const MAX_GAPS = 1_000;

const TAG_PREFIX = "tag:yaml.org,2002:";
const TAGS: ReadonlySet<string> = new Set(
  ["map", "seq", "str", "int", "float", "bool", "null"].map((name) => TAG_PREFIX + name),
);

const HINTS: Partial<Record<YAMLParseError["code"], string>> = {
  TAB_AS_INDENT: "indent with spaces",
  BAD_INDENT: "check the indentation, and that brackets and quotes are closed",
  BAD_SCALAR_START: "put the value in quotes",
  BLOCK_AS_IMPLICIT_KEY: 'put a value that contains ": " in quotes, and check the indentation',
  MULTILINE_IMPLICIT_KEY: "check that the key before has its colon, and that quotes are closed",
  MISSING_CHAR: "check that keys have their colon, and that brackets and quotes are closed",
  UNEXPECTED_TOKEN: "check the quotes and brackets before it",
};

/**
 * Reads YAML 1.2. Where `keepsText` says so a number or boolean stays as it is written, because people
 * write ids and versions without quotes and `1.10` must not become 1.1.
 */
export function parseYaml(
  text: string,
  lines: Lines,
  faults: Faults,
  keepsText: (path: Path) => boolean,
  entry: Visit,
): ParsedText | undefined {
  const contents = compose(text, lines, faults)?.contents;
  if (contents === undefined) return undefined;
  const reading = new Reading({ lines, keepsText, visit: entry, faults });
  const value = reading.valueOf(contents);
  if (reading.broken) return undefined;
  return { value, walk: (visit) => void new Reading({ lines, keepsText, visit }).valueOf(contents) };
}

function compose(text: string, lines: Lines, faults: Faults): Document.Parsed | undefined {
  const before = faults.count;
  const tokens = parseTokens(text, faults);
  if (tokens === undefined) return undefined;

  const [document, second] = withoutStacks(() => [
    // The composer's own search for equal keys compares each with all others, so it is off.
    ...new Composer({ uniqueKeys: false }).compose(tokens, true, text.length),
  ]);
  if (document === undefined) return undefined;
  reportSyntax(document, lines, faults);
  const { version, explicit } = document.directives.yaml;
  if (explicit && version !== "1.2")
    faults.atOffset(0, [], `YAML ${version} is not read; remove the %YAML line`);
  if (second) {
    faults.atOffset(
      second.range[0],
      [],
      'a second document begins here; remove the "---", or use one file for each',
    );
  }
  return faults.count > before ? undefined : document;
}

/** A file can have a fault at every character, each of them an error, of which nobody reads where it was made. */
function withoutStacks<Value>(make: () => Value): Value {
  const before = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = before;
  }
}

/** The parser keeps a stack of its own and the composer recurses: too deep or long a file would end the process. */
function parseTokens(text: string, faults: Faults): CST.Token[] | undefined {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  let lexemes = 0;
  const gaps = new Gaps();
  for (const lexeme of new Lexer().lex(text)) {
    if (gaps.areTooMany(lexeme)) {
      faults.atOffset(parser.offset, [], "not valid YAML: a comma has nothing before it; remove it");
      return undefined;
    }
    for (const token of parser.next(lexeme)) tokens.push(token);
    const top = parser.stack.at(-1);
    // The document itself is the first of the stack.
    if (parser.stack.length - 1 > MAX_DEPTH && top && "items" in top) {
      faults.tooDeep(top.offset);
      return undefined;
    }
    lexemes += 1;
    if (lexemes <= MAX_LEXEMES) continue;
    faults.atOffset(parser.offset, [], "the file is too long for YAML from here on; write it as JSON");
    return undefined;
  }
  for (const token of parser.end()) tokens.push(token);
  const offset = tokens.map(offsetTooDeep).find((found) => found !== undefined);
  if (offset === undefined) return tokens;
  faults.tooDeep(offset);
  return undefined;
}

/** Commas with nothing between them. Each is a fault, and a list of nothing else can be as long as the file. */
class Gaps {
  #before = "";
  #count = 0;

  areTooMany(lexeme: string): boolean {
    if (lexeme === "," && this.#before === ",") this.#count++;
    if (lexeme.charCodeAt(0) > BLANK) this.#before = lexeme;
    return this.#count > MAX_GAPS;
  }
}

function reportSyntax(document: Document.Parsed, lines: Lines, faults: Faults): void {
  const wrongLines = new Set<number>();
  for (const error of document.errors) {
    // One slip makes the parser stumble several times; the first time says most.
    const { line } = lines.at(error.pos[0]);
    if (wrongLines.has(line)) continue;
    wrongLines.add(line);
    const hint = HINTS[error.code];
    faults.atOffset(error.pos[0], [], `not valid YAML: ${error.message}${hint ? `; ${hint}` : ""}`);
  }
  for (const warning of document.warnings) {
    faults.atOffset(warning.pos[0], [], `not supported: ${warning.message}; remove it`);
  }
}

function offsetTooDeep(root: CST.Token): number | undefined {
  const left: { token: CST.Token; depth: number }[] = [{ token: root, depth: 0 }];
  for (let next = left.pop(); next; next = left.pop()) {
    const { token, depth } = next;
    if (token.type === "document" && token.value) left.push({ token: token.value, depth });
    if (!("items" in token)) continue;
    if (depth >= MAX_DEPTH) return token.offset;
    for (const { key, value } of token.items) {
      if (key) left.push({ token: key, depth: depth + 1 });
      if (value) left.push({ token: value, depth: depth + 1 });
    }
  }
  return undefined;
}

interface ReadingOptions {
  readonly lines: Lines;
  readonly keepsText: (path: Path) => boolean;
  readonly visit: Visit;
  readonly faults?: Faults;
}

/**
 * One pass over a composed document that makes plain values of it.
 *
 * The library's own conversion would do but for three things: it puts keys such as `10` before all
 * others, it searches the document again for every merged alias, and it refuses the hundred and first
 * use of an anchor. An aliased value is shared here, not copied, and what limits aliases is how many
 * values they stand for.
 */
class Reading {
  /** Something was met that has no value. */
  broken = false;
  readonly #options: ReadingOptions;
  readonly #path: (string | number)[] = [];
  readonly #anchors = new Map<string, { readonly value: unknown; readonly size: number }>();
  #values = 0;
  #aliasedValues = 0;

  constructor(options: ReadingOptions) {
    this.#options = options;
  }

  valueOf(node: ParsedNode | null): unknown {
    if (node === null) return null;
    if (isAlias(node)) return this.#aliased(node);
    if (node.tag !== undefined && !TAGS.has(node.tag)) {
      return this.#refuse(node, `the tag ${node.tag.replace(TAG_PREFIX, "!!")} is not supported; remove it`);
    }
    const before = this.#values;
    this.#values += isScalar(node) ? 1 + Math.floor((node.source?.length ?? 0) / VALUE_CHARACTERS) : 1;
    const value = isScalar(node)
      ? this.#scalar(node)
      : isMap(node)
        ? this.#map(node)
        : this.#list(node.items);
    if (node.anchor) this.#anchors.set(node.anchor, { value, size: this.#values - before });
    return value;
  }

  #aliased(node: Alias.Parsed): unknown {
    const anchor = this.#anchors.get(node.source);
    if (anchor === undefined) {
      return this.#refuse(
        node,
        `the alias *${node.source} stands for nothing; put &${node.source} before a value above it`,
      );
    }
    this.#values += anchor.size;
    this.#aliasedValues += anchor.size;
    if (this.#aliasedValues <= MAX_ALIASED_VALUES) return anchor.value;
    if (this.broken) return null;
    return this.#refuse(
      node,
      `the aliases up to here stand for more than ${MAX_ALIASED_VALUES} values; use fewer`,
    );
  }

  #scalar(node: Scalar): unknown {
    const { value, source } = node;
    const isWord = typeof value === "number" || typeof value === "boolean";
    if (!isWord || source === undefined) return value;
    if (this.#options.keepsText(this.#path)) return source;
    if (losesDigits(source))
      this.#options.faults?.roundedNumber([...this.#path], node.range?.[0] ?? 0, source);
    return value;
  }

  #list(items: readonly ParsedNode[]): unknown[] {
    return items.map((item, index) => this.#entry(index, item.range[0], item));
  }

  #map(node: YAMLMap.Parsed): Record<string, unknown> {
    const map: Record<string, unknown> = {};
    const keyOffsets = new Map<string, number>();
    const merged: ParsedNode[] = [];
    for (const { key, value } of node.items) {
      if (isScalar(key) && key.value === "<<" && key.type === "PLAIN" && value) {
        for (const one of isSeq(value) ? value.items : [value]) merged.push(one);
        continue;
      }
      const text = this.#keyText(key);
      const first = keyOffsets.get(text);
      if (first === undefined) keyOffsets.set(text, key.range[0]);
      put(map, text, this.#entry(text, key.range[0], value));
      if (first !== undefined) {
        const { faults, lines } = this.#options;
        faults?.duplicateKey([...this.#path, text], key.range[0], lines.at(first).line);
      }
    }
    for (const source of merged) this.#merge(map, source);
    return map;
  }

  #entry(step: string | number, keyOffset: number, node: ParsedNode | null): unknown {
    this.#path.push(step);
    this.#options.visit(this.#path, keyOffset, node?.range[0] ?? keyOffset);
    const value = this.valueOf(node);
    this.#path.pop();
    return value;
  }

  /** The map's own keys win over merged ones, and those merged first over those merged later. */
  #merge(map: Record<string, unknown>, source: ParsedNode): void {
    const value = this.valueOf(source);
    if (this.broken) return;
    if (value === null || typeof value !== "object" || Array.isArray(value)) {
      this.#refuse(
        source,
        `<< must be followed by an alias of a map, or a list of them; got ${shown(value)}`,
      );
      return;
    }
    for (const [key, member] of Object.entries(value)) if (!Object.hasOwn(map, key)) put(map, key, member);
  }

  #keyText(key: ParsedNode): string {
    const value = isAlias(key) ? this.valueOf(key) : isScalar(key) ? (key.value ?? key.source) : key;
    if (typeof value === "string") return value;
    if (isScalar(key) && key.source !== undefined) return key.source;
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    if (!this.broken) this.#refuse(key, "a key must be a single word or text, not a map or list");
    return "";
  }

  #refuse(node: ParsedNode, message: string): null {
    this.broken = true;
    this.#options.faults?.atOffset(node.range[0], [...this.#path], message);
    return null;
  }
}

function put(map: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") map[key] = value;
  else Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
}
