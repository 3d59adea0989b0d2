import { decode, type Encoded } from "../chunks/index.ts";
import type { AssignedData, ResultHandle } from "../protocol/index.ts";
import { type Arguments, argumentsIn, resultHandle, withInputs } from "./arguments.ts";
import type { Handler } from "./handler.ts";
import { collectLargeGarbage } from "./large-garbage.ts";
import { marksOf } from "./processors/marks.ts";
import type { AttemptContext } from "./task-context.ts";

/** What a handler is run with, on whichever processor. */
export interface Invocation {
  readonly payload: unknown;
  /** Of an attempt of a run with data. */
  readonly inputs?: readonly (GivenInput | { readonly meta: ResultHandle } | { readonly value: unknown })[];
}

/** Others may get the same bytes, unless they are its own. */
type GivenInput = Encoded & { readonly isOwn?: boolean };

export function metaInputs({ inputs }: AssignedData): NonNullable<Invocation["inputs"]> {
  return inputs.map((input) => ({ meta: resultHandle(input) }));
}

export function invoke(handler: Handler, invocation: Invocation, context: AttemptContext): Promise<unknown> {
  const { payload, inputs } = invocation;
  return inputs ? invokeWith(handler, payload, inputs, context) : handler.run(payload as never, context);
}

async function invokeWith(
  handler: Handler,
  payload: unknown,
  inputs: NonNullable<Invocation["inputs"]>,
  context: AttemptContext,
): Promise<unknown> {
  collectLargeGarbage();
  const isReader = marksOf(handler).isReader ?? false;
  const values = inputs.map((input) => heldValue(input, isReader));
  const given = argumentsIn(payload);
  if (!given) return await handler.run(withInputs(payload, values) as never, context);
  const args = withInputs(given.args, values) as Arguments["args"];
  const named = withInputs(given.inputs, values) as Arguments["inputs"];
  if (handler.call) return await handler.call({ args, inputs: named }, context);
  return await handler.run({ ...named, args } as never, context);
}

function heldValue(input: NonNullable<Invocation["inputs"]>[number], isReader: boolean): unknown {
  if ("meta" in input) return input.meta;
  if ("value" in input) return input.value;
  const value = decode(input);
  return input.kind !== "bytes" || isReader || input.isOwn ? value : Buffer.from(input.bytes);
}
