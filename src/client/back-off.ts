const FIRST_MS = 100;
const LAST_MS = 10_000;

/** How long to wait before the next try: doubling, and by chance less, so that not all come back at once. */
export function backOffMs(failures: number): number {
  const whole = Math.min(FIRST_MS * 2 ** failures, LAST_MS);
  return whole / 2 + (whole / 2) * chance();
}

/** Not before the time that the server asked for, and not all at that very moment. */
export function afterMs(retryAfterMs: number): number {
  return retryAfterMs * (1 + chance() / 4);
}

/** Rejects with the signal's reason. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      if (signal?.aborted) reject(signal.reason as Error);
      else resolve();
    };
    const timer = setTimeout(end, ms);
    if (signal?.aborted) end();
    else signal?.addEventListener("abort", end);
  });
}

/** From 0 to 1. */
function chance(): number {
  const [value = 0] = crypto.getRandomValues(new Uint32Array(1));
  return value / 2 ** 32;
}
