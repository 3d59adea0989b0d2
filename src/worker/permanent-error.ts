/** Thrown by a handler: trying again would fail again. */
export class PermanentError extends Error {
  override readonly name: string = "PermanentError";
  readonly code: string;
  readonly retry = false;

  constructor(message: string, options: ErrorOptions & { readonly code?: string } = {}) {
    super(message, options);
    this.code = options.code ?? "permanent";
  }
}
