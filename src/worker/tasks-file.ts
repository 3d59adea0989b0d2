import { readFile, stat } from "node:fs/promises";
import { register } from "node:module";
import { extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type Handler, type Handlers, isHandler } from "./handler.ts";
import type { HookData } from "./module-hooks.ts";
import { stripTypes } from "./strip-types.ts";

/** A tasks file that cannot be used, as its writer can understand it. */
export class TasksFileError extends Error {
  override readonly name: string = "TasksFileError";
  readonly code: "missing" | "unsupported" | "syntax" | "broken" | "empty";

  constructor(code: TasksFileError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

const EXTENSIONS: readonly string[] = [".js", ".mjs", ".ts", ".mts"];

/**
 * The handlers that a file exports, by their names. Those in an object that is its default export count as well,
 * for names that are no identifiers: `export default { "image.resize": task(…) }`.
 */
export async function loadTasksFile(path: string): Promise<Handlers> {
  if (!EXTENSIONS.includes(extname(path))) {
    throw new TasksFileError("unsupported", `${path}: a tasks file ends with ${EXTENSIONS.join(", ")}`);
  }
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile()) throw new TasksFileError("missing", `${path}: there is no such file`);
  useHooks();
  const exported = await importFile(path);
  const handlers = handlersIn(exported);
  if (handlers.length === 0) throw new TasksFileError("empty", nothingIn(path, Object.keys(exported)));
  return Object.fromEntries(handlers);
}

type Exports = Readonly<Record<string, unknown>>;

async function importFile(path: string): Promise<Exports> {
  const file = resolve(path);
  try {
    return (await import(pathToFileURL(file).href)) as Exports;
  } catch (error) {
    if (error instanceof SyntaxError) {
      throw new TasksFileError("syntax", await locate(error, file), { cause: error });
    }
    throw new TasksFileError("broken", `${path} cannot be loaded: ${whatAndWhere(error)}`, { cause: error });
  }
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

function handlersIn({ default: collected, ...named }: Exports): [string, Handler][] {
  const entries = [...Object.entries(isRecord(collected) ? collected : {}), ...Object.entries(named)];
  return entries.flatMap(([name, value]) => (isHandler(value) ? [[name, value] as [string, Handler]] : []));
}

function isRecord(value: unknown): value is Exports {
  return typeof value === "object" && value !== null && !isHandler(value);
}

function nothingIn(path: string, names: readonly string[]): string {
  const found = names.length === 0 ? "exports nothing" : `exports no handler, only ${names.join(", ")}`;
  return [
    `${path} ${found}. A task type is an export made by task or command:`,
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
