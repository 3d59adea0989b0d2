import type { FastifySchemaCompiler } from "fastify";
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import type { TLocalizedValidationError } from "typebox/error";
import { Settings } from "typebox/system";
import { Value } from "typebox/value";
import type { ErrorItem } from "../../protocol/api-schemas.ts";
import { closest, shortened, shown } from "../../protocol/index.ts";
import { invalid } from "./problems.ts";

/** A schema as it is on the wire; TypeBox's types say less about what is in one than its errors need. */
interface Node {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Node[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
  readonly items?: Node;
  readonly maxItems?: number;
  readonly additionalProperties?: unknown;
  readonly patternProperties?: Readonly<Record<string, Node>>;
  readonly examples?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly format?: string;
}

const PARTS: Readonly<Record<string, ErrorItem["in"]>> = {
  body: "body",
  querystring: "query",
  params: "path",
  headers: "header",
};

const MAX_ERRORS = 100;
// It looks for 8 by default, and finds two for each unknown name.
Settings.Set({ maxErrors: MAX_ERRORS });

/** How many unknown names are told, and for how many of them it is said what may have been meant. */
const MAX_UNKNOWN = 20;
const MAX_GUESSED = 5;

/** Checks each part of a request against its schema. A body must have the right types; texts in a URL get them. */
export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const part = PARTS[httpPart ?? ""] ?? "body";
  const check = checkOf(schema, part);
  return (given: unknown) => {
    const value = part === "query" ? convertTexts(schema as Node, given) : given;
    const errors = check(value);
    return errors.length === 0 ? { value } : { error: invalid(errors) };
  };
};

/** What is wrong with a value, for people: where, what would be right, what came instead. */
export function checkOf(schema: TSchema, part: ErrorItem["in"]): (value: unknown) => readonly ErrorItem[] {
  const compiled = Compile(schema);
  const lists = limitedLists(schema as Node);
  return (value) => {
    const long = tooLong(lists, value);
    if (long) return [{ in: part, ...long }];
    if (compiled.Check(value)) return [];
    if (part === "body" && (value === null || value === undefined)) {
      return [
        {
          in: part,
          pointer: "",
          detail: "is missing; send a JSON object with Content-Type: application/json",
        },
      ];
    }
    const narrow = narrowed(schema as Node, value);
    const errors = Value.Errors(narrow as TSchema, trimmed(narrow, value));
    const items = errors.flatMap((error) => describe(error, errors, narrow, value));
    // However little can be said about it: what did not pass the check is wrong.
    if (items.length === 0) items.push({ pointer: "", detail: "does not have the form that is documented" });
    return items.slice(0, MAX_ERRORS).map(({ pointer, detail }) => ({ in: part, pointer, detail }));
  };
}

/**
 * The schema with each union replaced by the one of its forms that was meant, so that what is told is what is wrong
 * with that form and not with all others: objects say by `type` which they are, and nothing but an object can be
 * meant by an object, nor but a text by a text.
 */
function narrowed(node: Node, value: unknown): Node {
  const members = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  if (node.anyOf) {
    const meant = formMeant(node.anyOf, value, members["type"]);
    return meant ? narrowed(meant, value) : node;
  }
  if (node.items && Array.isArray(value)) {
    const wrong = value.find((item) => !Value.Check(node.items as TSchema, item)) as unknown;
    return { ...node, items: narrowed(node.items, wrong) };
  }
  if (!node.properties) return node;
  const properties = Object.entries(node.properties).map(([name, member]) => [
    name,
    narrowed(member, members[name]),
  ]);
  return { ...node, properties: Object.fromEntries(properties) as Record<string, Node> };
}

function formMeant(forms: readonly Node[], value: unknown, type: unknown): Node | undefined {
  if (typeof value === "string") return only(forms.filter((form) => form.type === "string"));
  if (typeof value === "number")
    return only(forms.filter(({ type }) => type === "number" || type === "integer"));
  if (typeof value !== "object" || value === null) return undefined;
  const kind = Array.isArray(value) ? "array" : "object";
  const fitting = forms.filter((form) => form.type === kind);
  if (fitting.length < 2) return fitting[0];
  const types = fitting.map((form) => form.properties?.["type"]?.const);
  const named = fitting[types.indexOf(type)];
  return named ?? { type: "object", required: ["type"], properties: { type: { enum: types } } };
}

function only(forms: readonly Node[]): Node | undefined {
  return forms.length === 1 ? forms[0] : undefined;
}

/** The names of lists, and how many items each may have. */
function limitedLists(node: Node): (readonly [name: string, maxItems: number])[] {
  return Object.entries(node.properties ?? {}).flatMap(([name, { maxItems }]) =>
    maxItems === undefined ? [] : [[name, maxItems] as const],
  );
}

/** A list that is too long is refused before anything looks at what is in it. */
function tooLong(lists: ReturnType<typeof limitedLists>, value: unknown): Fault | undefined {
  for (const [name, maxItems] of lists) {
    const list = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
    if (Array.isArray(list) && list.length > maxItems)
      return {
        pointer: `/${escaped(name)}`,
        detail: `must not have more than ${maxItems} items; got a list`,
      };
  }
  return undefined;
}

/** The value without the unknown names that nobody is told of: there may be millions. */
function trimmed(node: Node, value: unknown): unknown {
  const { items, properties, additionalProperties } = node;
  if (Array.isArray(value)) return items ? value.map((item) => trimmed(items, item)) : value;
  if (!isObject(value) || !properties || additionalProperties !== false) return value;
  const kept: [string, unknown][] = [];
  let unknown = 0;
  for (const name of Object.keys(value)) {
    const member = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (member) kept.push([name, trimmed(member, value[name])]);
    else if (unknown < MAX_UNKNOWN) {
      unknown += 1;
      kept.push([name, value[name]]);
    }
  }
  return Object.fromEntries(kept);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

interface Fault {
  readonly pointer: string;
  readonly detail: string;
}

function describe(
  error: TLocalizedValidationError,
  all: readonly TLocalizedValidationError[],
  root: Node,
  value: unknown,
): Fault[] {
  const { keyword, instancePath, schemaPath } = error;
  const node = at(root, schemaPath) as Node;
  const got = `; got ${shown(at(value, instancePath))}`;
  const says = (detail: string): Fault[] => [
    { pointer: instancePath, detail: detail + exampleOf(node) + (detail === "" ? "" : got) },
  ];
  if (isPartOfUnion(error, all)) return [];
  switch (keyword) {
    case "required":
      return error.params.requiredProperties.map((name) => ({
        pointer: `${instancePath}/${escaped(name)}`,
        detail: `is missing${exampleOf(node.properties?.[name])}`,
      }));
    case "additionalProperties":
      return error.params.additionalProperties.map((name, index) => ({
        pointer: `${instancePath}/${escaped(name)}`,
        detail: node.patternProperties
          ? "has a name of no or too many characters, or with control characters; give it one of 1 to 256 characters"
          : unknownName(name, Object.keys(node.properties ?? {}), index < MAX_GUESSED),
      }));
    case "boolean":
      return [];
    case "anyOf":
      return isExplainedDeeper(error, all) ? [] : says(`must be ${kindOf(node)}`);
    case "enum":
    case "const":
    case "type":
      return says(`must be ${kindOf(node)}`);
    case "pattern":
      return says("must be one line of text without control characters or broken Unicode");
    case "format":
      return says(`must be a ${node.format === "uuid" ? "UUID" : node.format}`);
    default:
      return says(error.message);
  }
}

/** The one that a writer of an unknown name may have meant. */
function unknownName(name: string, known: readonly string[], mayGuess: boolean): string {
  const meant = mayGuess ? closest(name, known) : undefined;
  if (meant !== undefined) return `is not known; did you mean "${meant}"?`;
  return known.length === 0
    ? "is not known; nothing is taken here"
    : `is not known; there are ${known.join(", ")}`;
}

/** A union is told once, as a whole. */
function isPartOfUnion(error: TLocalizedValidationError, all: readonly TLocalizedValidationError[]): boolean {
  return all.some(
    (other) =>
      other.keyword === "anyOf" &&
      other.instancePath === error.instancePath &&
      error.schemaPath.startsWith(`${other.schemaPath}/anyOf/`),
  );
}

function isExplainedDeeper(
  union: TLocalizedValidationError,
  all: readonly TLocalizedValidationError[],
): boolean {
  return all.some(
    (other) =>
      other.schemaPath.startsWith(`${union.schemaPath}/anyOf/`) &&
      other.instancePath.startsWith(`${union.instancePath}/`),
  );
}

const KINDS: Readonly<Record<string, string>> = {
  string: "a text",
  integer: "a whole number",
  number: "a number",
  boolean: "true or false",
  object: "an object",
  array: "a list",
  null: "null",
};

function kindOf(node: Node): string {
  if (node.anyOf) return [...new Set(node.anyOf.map(kindOf))].join(" or ");
  if (node.enum) return node.enum.map((value) => JSON.stringify(value)).join(" or ");
  if (node.const !== undefined) return JSON.stringify(node.const);
  const kind = KINDS[node.type ?? ""] ?? "something else";
  if (node.minimum === undefined) return kind;
  return node.maximum === undefined
    ? `${kind} of at least ${node.minimum}`
    : `${kind} from ${node.minimum} to ${node.maximum}`;
}

function exampleOf(node: Node | undefined): string {
  const example = node?.examples?.[0];
  return example === undefined ? "" : `, for example ${JSON.stringify(example)}`;
}

/** What a JSON pointer leads to; a schema's begins with "#". */
function at(root: unknown, pointer: string): unknown {
  let found = root;
  for (const step of pointer.replace(/^#/, "").split("/").slice(1)) {
    if (typeof found !== "object" || found === null) return undefined;
    found = (found as Record<string, unknown>)[step.replaceAll("~1", "/").replaceAll("~0", "~")];
  }
  return found;
}

/** As a step of a pointer that people read: of a name that is too long to be one, only how it begins. */
export function escaped(name: string): string {
  return shortened(name).replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Numbers and truth values, where the schema wants them and the text is nothing else. */
function convertTexts(schema: Node, given: unknown): Record<string, unknown> {
  const converted: Record<string, unknown> = { ...(given as Record<string, unknown>) };
  for (const [name, { type }] of Object.entries(schema.properties ?? {})) {
    const text = converted[name];
    if (typeof text !== "string") continue;
    if ((type === "integer" || type === "number") && /^-?\d{1,16}(\.\d{1,32})?$/.test(text))
      converted[name] = Number(text);
    if (type === "boolean" && (text === "true" || text === "false")) converted[name] = text === "true";
  }
  return converted;
}
