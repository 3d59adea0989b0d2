/** A worker that holds 32 GiB of results of this size has 65,530 mappings, the most that a process may have by default. */
const LARGE_BYTES = 512 * 1024;

/**
 * Memory for a result that is kept. That of a large one goes back to the system as soon as it is freed: it has pages of its own,
 * which V8 gives to what could be resized. All else comes from malloc, and glibc, once something large was freed, takes what is
 * large from a heap of which nothing goes back below the last small thing in it: of 100 results of 1 MiB that were freed, all
 * could stay with the process.
 */
export function allocate(bytes: number): Buffer {
  if (bytes < LARGE_BYTES) return Buffer.allocUnsafe(bytes);
  return Buffer.from(new ArrayBuffer(bytes, { maxByteLength: bytes }), 0, bytes);
}

export function copyOf(bytes: Uint8Array): Buffer {
  const copy = allocate(bytes.length);
  copy.set(bytes);
  return copy;
}

/** What nobody else has, in memory for what is kept. */
export function keepable(bytes: Buffer): Buffer {
  return bytes.length < LARGE_BYTES ? bytes : copyOf(bytes);
}

/** The same bytes, in memory that functions may have: `fetch` and others of its kind take nothing that could be resized. */
export function lendable(bytes: Buffer): Buffer {
  return isResizable(bytes) ? Buffer.from(bytes) : bytes;
}

export function isResizable({ buffer }: Uint8Array): boolean {
  return buffer instanceof ArrayBuffer && buffer.resizable;
}
