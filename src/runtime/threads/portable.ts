import { RuntimeError } from "../errors.ts";
import type { AnyFunction } from "../fiber.ts";
import type { FiberFunction } from "../nursery.ts";

/** Registered, so that a function is known to every copy of this package that a program has loaded. */
const PLACE: unique symbol = Symbol.for("orrery.portable") as never;

/** Where another thread finds a function. */
export interface Place {
  readonly module: string;
  readonly name: string;
}

/**
 * Says under which name a module exports a function, so that other threads can import and run it:
 *
 * `export const add = portable(import.meta.url, "add", function* (fiber, a: number, b: number) { … });`
 *
 * It is the same function as before, and runs on one thread as any other. On several, its arguments and result are
 * copied when it is run by another one: they have to be structured-clonable, or shared memory.
 */
export function portable<A extends readonly unknown[], T>(
  module: string,
  name: string,
  fn: FiberFunction<A, T>,
): FiberFunction<A, T> {
  if (typeof module !== "string" || !URL.canParse(module))
    throw new RuntimeError(
      "InvalidArgument",
      `module is ${String(module)}; it is the URL of the module: import.meta.url`,
    );
  if (typeof name !== "string" || name === "")
    throw new RuntimeError(
      "InvalidArgument",
      `name is ${String(name)}; it is the name by which the module exports the function`,
    );
  if (typeof fn !== "function")
    throw new RuntimeError(
      "InvalidArgument",
      "fn is no function: portable(import.meta.url, name, function* (fiber) {})",
    );
  const place: Place = { module, name };
  Object.defineProperty(fn, PLACE, { value: Object.freeze(place) });
  return fn;
}

export function placeOf(fn: AnyFunction): Place | undefined {
  return (fn as { [PLACE]?: Place })[PLACE];
}
