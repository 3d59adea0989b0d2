import { readFile, stat } from "node:fs/promises";
import { register } from "node:module";
import { extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { RESERVED } from "./builtin.ts";
import { type Handler, type Handlers, isHandler, plainTask } from "./handler.ts";
import type { HookData } from "./module-hooks.ts";
import { markedLike, type ProcessorRule } from "./processors/marks.ts";
import { stripTypes } from "./strip-types.ts";

/** A tasks file that cannot be used, as its writer can understand it. */
export class TasksFileError extends Error {
  override readonly name: string = "TasksFileError";
  readonly code: "missing" | "unsupported" | "syntax" | "broken" | "empty" | "export";

  constructor(code: TasksFileError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

const MAX_NAME_CHARS = 256;

const EXTENSIONS: readonly string[] = [".js", ".mjs", ".ts", ".mts"];

/**
 * The handlers and functions that a file exports, by their names. Those in an object that is its default export count as well,
 * for names that are no identifiers: `export default { "image.resize": task(…) }`. A function `processors` is none of them: it
 * says where the others run.
 */
export async function loadTasksFile(path: string): Promise<Handlers> {
  if (!EXTENSIONS.includes(extname(path))) {
    throw new TasksFileError("unsupported", `${path}: a tasks file ends with ${EXTENSIONS.join(", ")}`);
  }
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile()) throw new TasksFileError("missing", `${path}: there is no such file`);
  useHooks();
  const exported = await importFile(path);
  const handlers = handlersIn(exported, resolve(path));
  if (handlers.length === 0) throw new TasksFileError("empty", nothingIn(path, Object.keys(exported)));
  return Object.fromEntries(handlers);
}

/** The same of what is imported already. No thread can load it. */
export function tasksIn(exported: Exports): Handlers {
  const handlers = handlersIn(exported, "what was imported").map(
    ([name, { origin: _, ...handler }]) => [name, handler] as const,
  );
  if (handlers.length === 0)
    throw new TasksFileError("empty", nothingIn("what was imported", Object.keys(exported)));
  return Object.fromEntries(handlers);
}

type Exports = Readonly<Record<string, unknown>>;

async function importFile(path: string): Promise<Exports> {
  const file = resolve(path);
  try {
    const { exported } = await wrapped(pathToFileURL(file).href);
    if (!("then" in exported)) return exported;
  } catch (error) {
    if (error instanceof SyntaxError) {
      throw new TasksFileError("syntax", await locate(error, file), { cause: error });
    }
    throw new TasksFileError("broken", `${path} cannot be loaded: ${whatAndWhere(error)}`, { cause: error });
  }
  throw new TasksFileError(
    "export",
    `${path} exports then, which is called when a module is imported; call it something else`,
  );
}

/** In a module around it: whoever resolves to one that exports `then` waits for what that does, maybe for ever. */
async function wrapped(url: string): Promise<{ readonly exported: Exports }> {
  const around = `import * as exported from ${JSON.stringify(url)}; export { exported };`;
  return (await import(`data:text/javascript,${encodeURIComponent(around)}`)) as {
    readonly exported: Exports;
  };
}

/** For JavaScript, Node keeps the line of a syntax error to itself, so the file is parsed once more. */
async function locate(error: SyntaxError, file: string): Promise<string> {
  if (/:\d+:\d+: /.test(error.message)) return error.message;
  try {
    await stripTypes(await readFile(file, "utf8"), file);
    // The file itself is well-formed; something that it imports is not, or lacks what it imports from it.
    return `${file} cannot be loaded: ${error.message}`;
  } catch (located) {
    return (located as Error).message;
  }
}

function whatAndWhere(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const own = new URL(".", import.meta.url).href;
  const frame = error.stack?.split("\n").find((line) => line.includes("file://") && !line.includes(own));
  return frame === undefined ? error.message : `${error.message} (${frame.trim()})`;
}

function handlersIn(exported: Exports, file: string): [string, Handler][] {
  const { default: collected, processors: rule, ...named } = exported;
  if (rule !== undefined && typeof rule !== "function")
    throw new TasksFileError(
      "export",
      `${file} exports processors, which must be a function (name, kinds) that returns "main" or "thread"; it is ${Array.isArray(rule) ? "an array" : `a ${typeof rule}`}`,
    );
  const entries = [...Object.entries(isRecord(collected) ? collected : {}), ...Object.entries(named)];
  return entries.flatMap(([name, value]) => {
    const handler = handlerOf(value);
    const origin = { file, name, rule: rule as ProcessorRule | undefined };
    return handler ? [[checkedName(name, file), { ...handler, origin }] as [string, Handler]] : [];
  });
}

function handlerOf(value: unknown): Handler | undefined {
  if (isHandler(value)) return value;
  // A class cannot be called, and may well be exported for others.
  if (typeof value !== "function" || /^class\b/.test(Function.prototype.toString.call(value)))
    return undefined;
  return markedLike(plainTask(value as (...args: readonly unknown[]) => unknown), value);
}

/** Servers refuse a worker for a name that they do not take; and a function must not stand in for what graphs rely on. */
function checkedName(name: string, file: string): string {
  const user = RESERVED.get(name);
  if (user !== undefined)
    throw new TasksFileError(
      "export",
      `${file} exports a task named ${JSON.stringify(name)}, which is Orrery's own (for ${user}); export it under another name`,
    );
  if (name.length > 0 && name.length <= MAX_NAME_CHARS && !/[\p{Cc}\p{Cs}]/u.test(name)) return name;
  throw new TasksFileError(
    "export",
    `${file} exports a task named ${JSON.stringify(name.slice(0, 80))}; a name has 1 to ${MAX_NAME_CHARS} characters, none of them a control character`,
  );
}

function isRecord(value: unknown): value is Exports {
  return typeof value === "object" && value !== null && !isHandler(value);
}

function nothingIn(path: string, names: readonly string[]): string {
  const found =
    names.length === 0 ? "exports nothing" : `exports no function or handler, only ${names.join(", ")}`;
  return [
    `${path} ${found}. A task type is a function that is exported by name, or made by task or command:`,
    '  import { task } from "orrery/worker";',
    "  export const greet = task(async (payload) => ({ hello: payload.name }));",
  ].join("\n");
}

let areHooksUsed = false;

function useHooks(): void {
  if (areHooksUsed) return;
  areHooksUsed = true;
  // Both as they are compiled: an older Node cannot run hooks that would first need themselves.
  const data: HookData = { door: new URL("./index.js", import.meta.url).href };
  register("./module-hooks.js", import.meta.url, { data });
}
