import type { FastifyBaseLogger } from "fastify";

const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogOptions {
  readonly level: LogLevel;
  /** By default lines of JSON. */
  readonly isHuman?: boolean;
  readonly write: (line: string) => void;
}

/**
 * The only fields that a record may have beside its message and error. What is not named here is not written, so
 * nothing that a request, a result or a library brings along gets into the log by accident.
 */
const FIELDS = [
  "request_id",
  "method",
  "route",
  "status",
  "ms",
  "url",
  "store",
  "version",
  "signal",
] as const;
type Fields = Readonly<Partial<Record<(typeof FIELDS)[number], string | number>>>;

export interface Log {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields & { readonly err?: unknown }): void;
  /** The same log, as the HTTP edge writes to it. */
  readonly forRequests: FastifyBaseLogger;
}

type Level = Exclude<LogLevel, "silent">;

export function makeLog(options: LogOptions): Log {
  const write: Write = (level, message, given) => {
    if (!isWritten(level, options.level)) return;
    const record = { time: new Date().toISOString(), level, msg: message, ...recordOf(given) };
    options.write(`${options.isHuman ? humanLine(record) : JSON.stringify(record)}\n`);
  };
  return {
    debug: (message, fields) => write("debug", message, fields),
    info: (message, fields) => write("info", message, fields),
    warn: (message, fields) => write("warn", message, fields),
    error: (message, fields) => write("error", message, fields),
    forRequests: new RequestLog(options.level, write, {}),
  };
}

interface LogRecord {
  readonly time: string;
  readonly level: Level;
  readonly msg: string;
  readonly err?: ErrorLine;
}

function recordOf(given: unknown): Record<string, unknown> {
  if (typeof given !== "object" || given === null) return {};
  const fields = given as Readonly<Record<string, unknown>>;
  const record: Record<string, unknown> = {};
  for (const name of FIELDS) {
    const value = fields[name];
    if (typeof value === "string" || typeof value === "number") record[name] = value;
  }
  const err = given instanceof Error ? given : fields["err"];
  if (err !== undefined) record["err"] = errorLine(err);
  return record;
}

interface ErrorLine {
  readonly type: string;
  readonly message: string;
  readonly stack: string;
  readonly code?: unknown;
  readonly cause?: string;
}

/** What finds an error, and no more: a database's own hold the values of the statement that failed. */
function errorLine(error: unknown): ErrorLine {
  if (!(error instanceof Error)) return { type: typeof error, message: "no error was thrown", stack: "" };
  const { name, stack = "", cause } = error;
  const code = "code" in error && typeof error.code === "string" ? { code: error.code } : {};
  const why = cause instanceof Error ? { cause: messageOf(cause) } : {};
  const calls = stack.split("\n").filter((line) => /^\s+at /.test(line));
  return { type: name, message: messageOf(error), stack: calls.join("\n"), ...code, ...why };
}

/** What could not be parsed stands in the message of who tried. */
function messageOf(error: Error): string {
  return error instanceof SyntaxError ? "a text could not be read" : error.message;
}

/** For a terminal: the time of day, the level, the message, and the rest behind it. */
function humanLine({ time, level, msg, err, ...rest }: LogRecord): string {
  const fields = Object.entries(rest).map(([name, value]) => `${name}=${String(value)}`);
  const error = err === undefined ? [] : [`${err.type}: ${err.message}`];
  const line = [time.slice(11, 23), level.padEnd(5), msg, ...error, ...fields].join("  ");
  return [line, ...(err?.stack ? [err.stack] : [])].join("\n").replace(/(?!\n)\p{Cc}/gu, "");
}

type Write = (level: Level, message: string, given: unknown) => void;

/**
 * In the form that the HTTP library wants: an object and a message, or a message alone. It makes one for each request,
 * which costs little as long as the methods are shared.
 */
class RequestLog implements FastifyBaseLogger {
  readonly level: LogLevel;
  readonly #write: Write;
  readonly #bound: Fields;

  constructor(level: LogLevel, write: Write, bound: Fields) {
    this.level = level;
    this.#write = write;
    this.#bound = bound;
  }

  fatal(first: unknown, second?: unknown): void {
    this.#at("error", first, second);
  }

  error(first: unknown, second?: unknown): void {
    if (isLateAnswer(first)) return;
    this.#at("error", first, second);
  }

  warn(first: unknown, second?: unknown): void {
    if (isLateAnswer(first)) return;
    this.#at("warn", first, second);
  }

  info(first: unknown, second?: unknown): void {
    this.#at("info", first, second);
  }

  debug(first: unknown, second?: unknown): void {
    this.#at("debug", first, second);
  }

  trace(): void {}

  silent(): void {}

  child(more: object): RequestLog {
    return new RequestLog(this.level, this.#write, { ...this.#bound, ...(more as Fields) });
  }

  #at(level: Level, first: unknown, second: unknown): void {
    if (!isWritten(level, this.level)) return;
    if (typeof first === "string") this.#write(level, first, this.#bound);
    else
      this.#write(level, typeof second === "string" ? second : "", { ...this.#bound, ...recordable(first) });
  }
}

/** Codes of what a handler comes with after a time limit or an outage has answered its request. They are no news. */
const LATE: ReadonlySet<unknown> = new Set(["FST_ERR_REP_ALREADY_SENT", "unavailable", "locked"]);

function isLateAnswer(given: unknown): boolean {
  const { err } = recordable(given) as { readonly err?: { readonly code?: unknown } };
  return LATE.has(err?.code);
}

function isWritten(level: Level, from: LogLevel): boolean {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(from);
}

function recordable(given: unknown): object {
  if (given instanceof Error) return { err: given };
  return typeof given === "object" && given !== null ? given : {};
}
