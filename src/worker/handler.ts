/**
 * What stands in a tasks file:
 *
 *     export const resize = task<{ url: string }, { bytes: number }>(async (payload, context) => { … });
 *     export const thumbnail = command("convert", ["-", "png:-"]);
 */

import { isPlainJson } from "../chunks/index.ts";
import type { Nursery, Steps } from "../runtime/index.ts";
import { type Arguments, argumentsIn } from "./arguments.ts";
import { PermanentError } from "./permanent-error.ts";
import type { ProcessorRule } from "./processors/marks.ts";
import { programBytes, runProgram } from "./program.ts";
import type { AttemptContext, FiberTaskContext, TaskContext } from "./task-context.ts";

/** Known by a registered symbol, not by class: the tasks file may have a copy of this module of its own. */
const HANDLER: unique symbol = Symbol.for("orrery.handler") as never;

export interface Handler<Payload = never, Result = unknown> {
  readonly [HANDLER]: true;
  readonly run: (payload: Payload, context: AttemptContext) => Promise<Result>;
  /** With the arguments of a node. Without it, they are a payload: the named ones, and `args`. */
  readonly call?: (given: Arguments, context: AttemptContext) => Promise<Result>;
  /** It has ended soon after the grace, by force where need be. A function cannot be forced. */
  readonly endsByForce: boolean;
  /** It cannot run on a thread: it is no function, or one that works on what the main thread has. */
  readonly isBound?: true;
  /** The file that it comes from, from which threads load it too. */
  readonly origin?: {
    readonly file: string;
    readonly name: string;
    readonly rule: ProcessorRule | undefined;
  };
}

/** By task type. */
export type Handlers = Readonly<Record<string, Handler>>;

/**
 * The handler's result becomes the task's, so it has to be JSON. What it throws fails the attempt. As a node of a graph it gets
 * `{ args: […] }`, and named inputs beside that.
 */
export function task<Payload = unknown, Result = unknown>(
  run: (payload: Payload, context: TaskContext) => Result | Promise<Result>,
): Handler<Payload, Result> {
  return { [HANDLER]: true, run: async (payload, context) => run(payload, context), endsByForce: false };
}

/** A function that knows nothing of tasks: called with the arguments of its node, the named ones as an object behind the others. */
export function plainTask(run: (...args: readonly unknown[]) => unknown): Handler {
  const call = async ({ args, inputs }: Arguments): Promise<unknown> =>
    run(...args, ...(Object.keys(inputs).length > 0 ? [inputs] : []));
  return {
    [HANDLER]: true,
    run: async (payload: unknown) => {
      const given = argumentsIn(payload);
      if (given) return await call(given);
      return payload === null || payload === undefined ? run() : run(payload);
    },
    call,
    endsByForce: false,
  };
}

/**
 * A task of fibers: structured, cancelled as a whole, and held to the budget that it was submitted with. What it yields
 * is for the runtime (see `orrery/runtime`):
 *
 *     export const crawl = fiberTask<{ urls: string[] }, number>(function* (nursery, { urls }) {
 *       const pages = urls.map((url) => nursery.spawn(fetchPage, [url]));
 *       let bytes = 0;
 *       for (const page of pages) bytes += yield* page.join();
 *       return bytes;
 *     });
 */
export function fiberTask<Payload = unknown, Result = unknown>(
  body: (nursery: Nursery, payload: Payload, context: FiberTaskContext) => Steps<Result>,
): Handler<Payload, Result> {
  return {
    [HANDLER]: true,
    run: (payload, context) =>
      context.fibers((nursery, fiber) => body(nursery, payload, Object.assign(context, { fiber }))),
    endsByForce: false,
    isBound: true,
  };
}

/**
 * A program that reads the payload as JSON from stdin. What it writes to stdout is the result: JSON where it is
 * that, otherwise text; or all of it, however much, as bytes. Lines of stderr go to the task's log. A node whose only argument
 * is bytes or a text gives that to stdin as it is. Its environment holds `env` and what the worker passes on.
 */
export function command(
  program: string,
  args: readonly string[] = [],
  {
    output = "json",
    env = {},
  }: { readonly output?: "json" | "bytes"; readonly env?: Readonly<Record<string, string>> } = {},
): Handler<unknown, unknown> {
  const line: [string, ...string[]] = [program, ...args];
  const run = async (input: string | Uint8Array, context: AttemptContext): Promise<unknown> => {
    if (output === "bytes") return programBytes({ command: line, input, env }, context);
    return jsonOrText(await runProgram({ command: line, input, env }, context));
  };
  return {
    [HANDLER]: true,
    run: (payload, context) => run(JSON.stringify(payload ?? null), context),
    call: (given, context) => run(inputOfProgram(given), context),
    endsByForce: true,
    isBound: true,
  };
}

/** Bytes or a text as they are, where they are all, as from one program to the next; else what JSON can say. */
function inputOfProgram({ args, inputs }: Arguments): string | Uint8Array {
  const all = [...args, ...Object.values(inputs)];
  const [only] = all;
  if (all.length === 1 && (only instanceof Uint8Array || typeof only === "string")) return only;
  const odd = [...args.map((value, at) => [`args[${at}]`, value]), ...Object.entries(inputs)].find(
    ([, value]) => !isPlainJson(value ?? null),
  );
  if (odd) {
    const what = odd[1] instanceof Uint8Array ? "bytes, which must be the only argument" : "no JSON";
    throw new PermanentError(`a program cannot be given ${odd[0] as string}: it is ${what}`, {
      code: "input-not-json",
    });
  }
  return JSON.stringify({ ...inputs, args });
}

/** A command line that was given with the task: its stdout is the result, and can be followed in the log. */
export const shellCommand: Handler<unknown, string> = {
  [HANDLER]: true,
  run: async (payload, context) => runProgram({ ...shellRequest(payload), followed: true }, context),
  endsByForce: true,
  isBound: true,
};

export function isHandler(value: unknown): value is Handler {
  return typeof value === "object" && value !== null && HANDLER in value;
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

interface ShellPayload {
  readonly command?: unknown;
  readonly env?: unknown;
  readonly cwd?: unknown;
}

function shellRequest(payload: unknown): {
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
} {
  const { command, env = {}, cwd } = (payload ?? {}) as ShellPayload;
  if (typeof command !== "string") throw malformed("payload.command must be a text");
  if (!isTextRecord(env)) throw malformed("payload.env must be an object of texts");
  if (cwd === undefined) return { command, env };
  if (typeof cwd !== "string") throw malformed("payload.cwd must be a text");
  return { command, env, cwd };
}

function malformed(message: string): PermanentError {
  return new PermanentError(message, { code: "bad-payload" });
}

function isTextRecord(value: unknown): value is Readonly<Record<string, string>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((text) => typeof text === "string");
}
