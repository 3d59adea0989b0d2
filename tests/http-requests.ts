// Requests of every kind, made from the server's own document: right ones, broken ones, and ones that are no
// requests at all. Whatever comes, the answer has to be one of those that the document promises, and no 5xx.

import fc from "fast-check";
import type { JsonSchema } from "../src/server/http/openapi.ts";
import { API, type Served } from "./http-app.ts";
import { Contract, type Described } from "./http-document.ts";

interface Request {
  readonly target: Described;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
}

/** Sends that many requests and returns what was wrong with the answers. */
export async function sendGenerated(
  served: Served,
  { count, seed }: { readonly count: number; readonly seed: number },
): Promise<{ readonly faults: readonly string[]; readonly statuses: ReadonlyMap<number, number> }> {
  const contract = await Contract.of(served);
  const ids = await someIds(served);
  // A stream does not end by itself.
  const targets = contract.operations().filter(({ path }) => !path.endsWith("/events"));
  const requests = fc.sample(anyRequest(contract, targets, ids), { numRuns: count, seed });
  const statuses = new Map<number, number>();
  const faults: string[] = [];
  for (const { target, url, headers, body } of requests) {
    const answer = await served.call(target.method, url, body, headers);
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    const fault =
      answer.status >= 500 ? `${answer.status} ${answer.text.slice(0, 300)}` : contract.fault(target, answer);
    // A path that a generated name has changed is no longer the one that the document describes.
    if (fault !== undefined && ![404, 405].includes(answer.status)) {
      faults.push(`${target.method} ${url} ${JSON.stringify(headers)} ${body?.slice(0, 300)}: ${fault}`);
    }
  }
  return { faults, statuses };
}

/** A task, a run, and a worker whose session is the one that the document gives as an example. */
async function someIds(served: Served): Promise<string[]> {
  const registration = { ...WORKER, id: "worker-1", session: "b1f7c0de5a", executors: ["agent-worker-1"] };
  await served.call("POST", "/worker/register", { registration, heartbeat: { attempts: [] } });
  const task = await served.call("POST", `${API}/submit`, { executor: "agent-worker-1", task_type: "b" });
  const run = await served.call("POST", `${API}/runs`, { graph: { nodes: { n: { task: "t" } } } });
  return [task, run].map(({ body }) => (body as { id: string }).id);
}

const WORKER = {
  protocol: 1,
  types: ["test_task"],
  cpu_millicores: 1_000_000,
  memory_bytes: 2 ** 40,
  slots: 1000,
};

function anyRequest(
  contract: Contract,
  targets: readonly Described[],
  ids: readonly string[],
): fc.Arbitrary<Request> {
  return fc.constantFrom(...targets).chain((target) => {
    const schema = Object.values(target.operation.requestBody?.content ?? {})[0]?.schema;
    return fc.record({
      target: fc.constant(target),
      url: anyUrl(target, ids),
      headers: anyHeaders,
      body: schema ? anyBody(contract.whole(schema), ids) : fc.option(anyText, { nil: undefined, freq: 5 }),
    });
  });
}

const anyText = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ maxLength: 20, unit: "binary" }),
  fc.constantFrom("", "\0", "\ud800", "__proto__", "constructor", "null", "../..", "%", "a,b", "😀"),
);

function anyUrl({ path, operation }: Described, ids: readonly string[]): fc.Arbitrary<string> {
  const segment = fc.oneof(
    fc.constantFrom(...ids, "worker-1"),
    fc.uuid(),
    anyText.map(encoded),
    fc.constantFrom("%zz", "%00"),
  );
  const names = (operation.parameters ?? []).filter((one) => one.in === "query").map((one) => one.name);
  const value = fc.oneof(
    anyText.map(encoded),
    fc.integer({ min: -2, max: 2000 }).map(String),
    fc.constantFrom("true", "queued", "%zz"),
  );
  const pair = fc
    .tuple(
      fc.oneof(
        { arbitrary: fc.constantFrom(...names, "odd"), weight: 9 },
        { arbitrary: anyText.map(encoded), weight: 1 },
      ),
      value,
    )
    // A wait that is granted would take its time.
    .map(([name, given]) => `${name}=${name === "wait" && Number(given) > 0 ? "0.001" : given}`);
  return fc
    .tuple(segment, fc.array(pair, { maxLength: 3 }))
    .map(
      ([id, pairs]) => path.replace(/\{\w+\}/, () => id) + (pairs.length > 0 ? `?${pairs.join("&")}` : ""),
    );
}

function encoded(text: string): string {
  return /\p{Cs}/u.test(text) ? "%ED%A0%80" : encodeURIComponent(text);
}

const anyHeaders: fc.Arbitrary<Record<string, string>> = fc
  .record(
    {
      "x-zone-id": fc.constantFrom("a", "b", "", "a b", "ö"),
      "x-agent-id": fc.constantFrom("alice", "bob", "x".repeat(300)),
      "idempotency-key": fc.constantFrom("k1", "k2", "", "k k"),
      "x-request-id": fc.constantFrom("mine", "not mine", ""),
      "content-type": fc.constantFrom(
        "application/json",
        "application/yaml",
        "text/plain",
        "",
        "%",
        "application/json; charset=latin1",
      ),
      "last-event-id": fc.constantFrom("x", ""),
      authorization: fc.constantFrom("Bearer", "Bearer sk-bogus", "Basic YTpi", ""),
    },
    { requiredKeys: [] },
  )
  .chain((headers) => fc.subarray(Object.keys(headers), { maxLength: 1 }).map((kept) => pick(headers, kept)));

function pick(headers: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, headers[name] ?? ""]));
}

function anyBody(schema: JsonSchema, ids: readonly string[]): fc.Arbitrary<string | undefined> {
  const right = anyOfSchema(schema, ids);
  const text = right.map((value) => JSON.stringify(value));
  return fc.oneof(
    { arbitrary: text, weight: 6 },
    { arbitrary: fc.tuple(right, damage).map(([value, change]) => JSON.stringify(change(value))), weight: 6 },
    { arbitrary: fc.json(), weight: 1 },
    { arbitrary: anyText, weight: 1 },
    { arbitrary: fc.tuple(text, fc.nat(200)).map(([whole, at]) => whole.slice(0, at)), weight: 1 },
    {
      arbitrary: fc.constantFrom(undefined, "", "nodes: {a: {run: x}}", "nodes: [", '{"a":1e999}'),
      weight: 1,
    },
  );
}

/** Something small that makes a value wrong, or odd. */
const damage: fc.Arbitrary<(value: unknown) => unknown> = fc
  .tuple(
    fc.nat(30),
    fc.oneof(fc.jsonValue(), anyText, fc.constantFrom(null, -1, 1e300, 0.5, [], {})),
    fc.boolean(),
    anyText,
  )
  .map(([at, odd, adds, name]) => (value: unknown) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return odd;
    const keys = Object.keys(value);
    const key = adds || keys.length === 0 ? name : (keys[at % keys.length] ?? name);
    return { ...value, [key]: odd };
  });

/** A value that fits a schema, mostly. */
function anyOfSchema(schema: JsonSchema, ids: readonly string[]): fc.Arbitrary<unknown> {
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
