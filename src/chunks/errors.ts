/** What can go wrong with chunks, by a code that reports carry. */
export class ChunkError extends Error {
  override readonly name: string = "ChunkError";
  readonly code: "spill-failed" | "result-not-serializable" | "input-missing" | "damaged";
  /** False: trying again would fail again. */
  readonly retry: boolean;

  constructor(code: ChunkError["code"], message: string, options: ErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.retry = code !== "result-not-serializable";
  }
}

/** A copy that could not be had. */
export interface MissingCopy {
  readonly chunk: string;
  readonly worker: string;
}

/** Nobody gave it. */
export class InputMissing extends ChunkError {
  readonly missing: MissingCopy[];

  constructor(message: string, missing: readonly MissingCopy[], options?: ErrorOptions) {
    super("input-missing", message, options);
    this.missing = [...missing];
  }
}

/** The disk is full, or broken. What it was for fails and is tried again; nothing else is lost. */
export function spillFailed(cause: unknown): ChunkError {
  const { message } = cause as Error;
  return new ChunkError(
    "spill-failed",
    `it does not fit into memory and cannot be written to disk: ${message}; make room, or use another --spill-dir or more --data-memory`,
    { cause },
  );
}
