/** A bug in Orrery itself. Never caught below the edge: a wrong state must not be committed. */
export class InvariantError extends Error {
  override readonly name = "InvariantError";
}

export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}

/** Where what is wrong is only worth putting into words when it is. */
export function violated(message: string): never {
  throw new InvariantError(message);
}
