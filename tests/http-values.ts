// Values for requests: such as a schema describes, and such as break it in one place.

import fc from "fast-check";
import type { JsonSchema } from "../src/server/http/openapi.ts";

export const anyText = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ maxLength: 20, unit: "binary" }),
  fc.constantFrom("", "\0", "\ud800", "__proto__", "constructor", "null", "../..", "%", "a,b", "😀"),
);

export function anyBody(schema: JsonSchema, ids: readonly string[]): fc.Arbitrary<string | undefined> {
  const right = anyOfSchema(schema, ids);
  const text = right.map((value) => JSON.stringify(value));
  return fc.oneof(
    { arbitrary: text, weight: 6 },
    { arbitrary: fc.tuple(right, damage).map(([value, change]) => change(value)), weight: 9 },
    { arbitrary: fc.json(), weight: 1 },
    { arbitrary: anyText, weight: 1 },
    { arbitrary: fc.tuple(text, fc.nat(200)).map(([whole, at]) => whole.slice(0, at)), weight: 1 },
    {
      arbitrary: fc.constantFrom(undefined, "", "\ufeff{}", "nodes: {a: {run: x}}", "nodes: [", ...ODD_TEXTS),
      weight: 1,
    },
  );
}

const deep = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth);

/** What stands for itself in a text of JSON, where something else was. */
const ODD_TEXTS = [
  "1e400",
  "-1e400",
  "-0",
  "1e21",
  "9007199254740993",
  "123456789012345678901234567890",
  "0.1e-400",
  '"\\u0000"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\u202e\ufeff"',
  `"${"x".repeat(100_000)}"`,
  `"${"\u{1f600}".repeat(300)}"`,
  deep(99, "[", "]"),
  deep(5000, "[", "]"),
  deep(200, '{"a":', "}").replace(":}", ":1}"),
  "[[]]",
  "{}",
  "null",
  "true",
  "",
  '{"a":1,"a":2}',
  '{"__proto__":{"a":1}}',
  '{"constructor":{"prototype":{}}}',
  '{"toString":1,"hasOwnProperty":2}',
  "NaN",
  "01",
  "'a'",
  "[1,]",
];

/** A member or an item somewhere inside, replaced, dropped, doubled or added. */
const damage: fc.Arbitrary<(value: unknown) => string> = fc
  .record({
    path: fc.array(fc.nat(30), { minLength: 1, maxLength: 4 }),
    how: fc.constantFrom("replace", "replace", "replace", "drop", "double", "add"),
    odd: fc.oneof(
      fc.constantFrom(...ODD_TEXTS),
      fc.jsonValue().map((value) => JSON.stringify(value)),
      anyText.map((value) => JSON.stringify(value)),
    ),
    name: anyText,
  })
  .map(({ path, how, odd, name }) => {
    const written = (value: unknown, steps: readonly number[]): string => {
      const [at = 0, ...rest] = steps;
      if (typeof value !== "object" || value === null) return odd;
      const isList = Array.isArray(value);
      const texts = Object.entries(value).map(([key, member]): [string, string] => [
        JSON.stringify(key),
        JSON.stringify(member) ?? "null",
      ]);
      const index = texts.length === 0 ? -1 : at % texts.length;
      const hit = texts[index];
      if (!hit || how === "add") texts.push([JSON.stringify(name), odd]);
      else if (rest.length > 0) hit[1] = written(Object.values(value)[index], rest);
      else if (how === "drop") texts.splice(index, 1);
      else if (how === "double") texts.push([hit[0], odd]);
      else hit[1] = odd;
      const members = texts.map(([key, text]) => (isList ? text : `${key}:${text}`));
      return isList ? `[${members.join(",")}]` : `{${members.join(",")}}`;
    };
    return (value: unknown) => written(value, path);
  });

/** A value that fits a schema, mostly. */
export function anyOfSchema(schema: JsonSchema, ids: readonly string[]): fc.Arbitrary<unknown> {
  const {
    type,
    anyOf,
    properties,
    required = [],
  } = schema as {
    type?: string;
    anyOf?: JsonSchema[];
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  const made = anyOf
    ? fc.oneof(...anyOf.map((one) => anyOfSchema(one, ids)))
    : madeOf(schema, type, properties, required, ids);
  const examples = schema["examples"] as unknown[] | undefined;
  // Few texts are a time or a size; the examples are.
  return examples
    ? fc.oneof({ arbitrary: fc.constantFrom(...examples), weight: 6 }, { arbitrary: made, weight: 1 })
    : made;
}

function madeOf(
  schema: JsonSchema,
  type: string | undefined,
  properties: Record<string, JsonSchema> | undefined,
  required: readonly string[],
  ids: readonly string[],
): fc.Arbitrary<unknown> {
  const { minimum = -10, maximum = 1e6, maxItems = 3, minItems = 0 } = schema as Record<string, number>;
  if (Array.isArray(schema["enum"])) return fc.constantFrom(...(schema["enum"] as unknown[]));
  if (schema["const"] !== undefined) return fc.constant(schema["const"]);
  switch (type) {
    case "string":
      return schema["format"] === "uuid"
        ? fc.oneof(fc.constantFrom(...ids), fc.uuid())
        : fc.string({ minLength: 8, maxLength: 20 });
    case "integer":
      return fc.integer({ min: Math.max(minimum, -(2 ** 31)), max: Math.min(maximum, 2 ** 31 - 1) });
    case "number":
      return fc.double({ min: minimum, max: maximum, noNaN: true });
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "array":
      return fc.array(anyOfSchema((schema["items"] ?? {}) as JsonSchema, ids), {
        minLength: minItems,
        maxLength: Math.min(maxItems, 3),
      });
    case "object": {
      if (!properties) return fc.dictionary(fc.string({ maxLength: 10 }), fc.jsonValue(), { maxKeys: 4 });
      const members = Object.fromEntries(
        Object.entries(properties).map(([name, member]) => [name, anyOfSchema(member, ids)]),
      );
      return fc.record(members, { requiredKeys: [...required] });
    }
    default:
      return fc.jsonValue();
  }
}
