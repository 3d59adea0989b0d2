/**
 * Why nothing can be told of the past: the ledger does not reach that far, is still being replayed, is too long for that, or the
 * replay broke.
 */
export class PastError extends Error {
  override readonly name = "PastError";
  readonly code: "not-yet" | "building" | "too-long" | "failed";
  /** How much of the ledger is replayed, from 0 to 1. */
  readonly progress: number | undefined;

  constructor(code: PastError["code"], message: string, progress?: number) {
    super(message);
    this.code = code;
    this.progress = progress;
  }
}
