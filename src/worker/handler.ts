/**
 * What stands in a tasks file:
 *
 *     export const resize = task<{ url: string }, { bytes: number }>(async (payload, context) => { … });
 *     export const thumbnail = command("convert", ["-", "png:-"]);
 */

import type { Nursery, Steps } from "../runtime/index.ts";
import { PermanentError } from "./permanent-error.ts";
import { runProgram } from "./program.ts";
import type { AttemptContext, FiberTaskContext, TaskContext } from "./task-context.ts";

/** Known by a registered symbol, not by class: the tasks file may have a copy of this module of its own. */
const HANDLER: unique symbol = Symbol.for("orrery.handler") as never;

export interface Handler<Payload = never, Result = unknown> {
  readonly [HANDLER]: true;
  readonly run: (payload: Payload, context: AttemptContext) => Promise<Result>;
  /** It has ended soon after the grace, by force where need be. A function cannot be forced. */
  readonly endsByForce: boolean;
}

/** By task type. */
export type Handlers = Readonly<Record<string, Handler>>;

/** The handler's result becomes the task's, so it has to be JSON. What it throws fails the attempt. */
export function task<Payload = unknown, Result = unknown>(
  run: (payload: Payload, context: TaskContext) => Result | Promise<Result>,
): Handler<Payload, Result> {
  return { [HANDLER]: true, run: async (payload, context) => run(payload, context), endsByForce: false };
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
  };
}

/**
 * A program that reads the payload as JSON from stdin. What it writes to stdout is the result: JSON where it is
 * that, otherwise text. Lines of stderr go to the task's log.
 */
export function command(program: string, args: readonly string[] = []): Handler<unknown, unknown> {
  return {
    [HANDLER]: true,
    run: async (payload, context) =>
      jsonOrText(
        await runProgram({ command: [program, ...args], input: JSON.stringify(payload ?? null) }, context),
      ),
    endsByForce: true,
  };
}

/** A command line that was given with the task: its stdout is the result, and can be followed in the log. */
export const shellCommand: Handler<unknown, string> = {
  [HANDLER]: true,
  run: async (payload, context) => runProgram({ ...shellRequest(payload), followed: true }, context),
  endsByForce: true,
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
