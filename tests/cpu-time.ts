/**
 * Runs something and measures the processor time that it took. The time on the clock would measure what else
 * the machine is doing.
 */
export function cpuTimed<Result>(run: () => Result): { readonly result: Result; readonly cpuMs: number } {
  const before = process.cpuUsage();
  const result = run();
  return { result, cpuMs: cpuMsSince(before) };
}

export function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
