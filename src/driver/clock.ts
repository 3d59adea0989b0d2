/** The time of day when it was made, going on evenly from there, whatever becomes of the machine's clock. */
export function steadyClock(): () => number {
  const origin = Date.now() - performance.now();
  return () => Math.trunc(origin + performance.now());
}
