/** A clock that begins at the time of day and goes on evenly from there, whatever happens to the machine's clock. */
export function steadyClock(): () => number {
  const origin = Date.now() - performance.now();
  return () => Math.trunc(origin + performance.now());
}
