/** What this process has used. CPU time hardly depends on what else the machine does. */
export function usageOfThis() {
  const { user, system } = process.cpuUsage();
  return { rssBytes: process.memoryUsage.rss(), cpuMicros: user + system };
}
