import { decode, encodedInline, handleOf } from "../chunks/index.ts";
import type { AssignedData, ResultHandle } from "../protocol/index.ts";
import { PermanentError } from "./permanent-error.ts";

/** What a node is called with: positional arguments, then named ones. */
export interface Arguments {
  readonly args: readonly unknown[];
  readonly inputs: Readonly<Record<string, unknown>>;
}

/** The last says how it is run, and is none of the function's. */
const CALL_KEYS: readonly string[] = ["args", "inputs", "as"];

/** Those of a payload that holds nothing else; undefined: it is a payload as any other. */
export function argumentsIn(payload: unknown): Arguments | undefined {
  if (!isRecord(payload) || !Object.keys(payload).every((key) => CALL_KEYS.includes(key))) return undefined;
  const { args = [], inputs = {} } = payload as { readonly args?: unknown; readonly inputs?: unknown };
  if (!("args" in payload || "inputs" in payload)) return undefined;
  return Array.isArray(args) && isRecord(inputs) ? { args, inputs } : undefined;
}

/** With what stands for an input, `{"$input": 0}`, replaced by it. */
export function withInputs(value: unknown, inputs: readonly unknown[]): unknown {
  if (Array.isArray(value)) return value.map((item) => withInputs(item, inputs));
  if (!isRecord(value)) return value;
  const keys = Object.keys(value);
  if (keys.length === 1 && keys[0] === "$input") return inputAt(value["$input"], inputs);
  return Object.fromEntries(keys.map((key) => [key, withInputs(value[key], inputs)]));
}

function inputAt(index: unknown, inputs: readonly unknown[]): unknown {
  if (typeof index === "number" && Object.hasOwn(inputs, index)) return inputs[index];
  const many = `${inputs.length} input${inputs.length === 1 ? "" : "s"}`;
  throw new PermanentError(`the payload names input ${JSON.stringify(index)} of ${many}`, {
    code: "bad-payload",
  });
}

/** What a meta node gets in place of an input. */
export function resultHandle({ from = [], ...input }: AssignedData["inputs"][number]): ResultHandle {
  const { chunk, node, kind = "json", bytes = 0, sha256 = "" } = input;
  if (!("value" in input))
    return { chunk, node, kind, bytes, sha256, holders: from.map(({ worker }) => worker) };
  const encoded = encodedInline(input.value);
  return { chunk, node, ...handleOf(encoded), holders: [], value: decode(encoded) };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
