import { decode, type Encoded } from "../chunks/index.ts";
import type { AssignedData, ResultHandle } from "../protocol/index.ts";
import { argumentsIn, resultHandle, withInputs } from "./arguments.ts";
import type { Handler } from "./handler.ts";
import { marksOf } from "./processors/marks.ts";
import type { AttemptContext } from "./task-context.ts";

/** What a handler is run with, on whichever processor. */
export interface Invocation {
  readonly payload: unknown;
  /** Of an attempt of a run with data. */
  readonly inputs?: readonly (GivenInput | { readonly meta: ResultHandle })[];
}

/** Others may get the same bytes, unless they are its own. */
type GivenInput = Encoded & { readonly isOwn?: boolean };

export function metaInputs({ inputs }: AssignedData): NonNullable<Invocation["inputs"]> {
  return inputs.map((input) => ({ meta: resultHandle(input) }));
}

export async function invoke(
  handler: Handler,
  { payload, inputs }: Invocation,
  context: AttemptContext,
): Promise<unknown> {
  if (!inputs) return await handler.run(payload as never, context);
  const isReader = marksOf(handler).isReader ?? false;
  const values = inputs.map((input) => ("meta" in input ? input.meta : valueIn(input, isReader)));
  const resolved = withInputs(payload, values);
  const given = argumentsIn(resolved);
  if (!given) return await handler.run(resolved as never, context);
  if (handler.call) return await handler.call(given, context);
  return await handler.run({ ...given.inputs, args: given.args } as never, context);
}

function valueIn(input: GivenInput, isReader: boolean): unknown {
  const value = decode(input);
  return input.kind !== "bytes" || isReader || input.isOwn ? value : Buffer.from(input.bytes);
}
