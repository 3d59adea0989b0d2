/** @returns {import("./system.mjs").Usage} */
export function usageOfThis() {
  const { user, system } = process.cpuUsage();
  return { rssBytes: process.memoryUsage.rss(), cpuMicros: user + system };
}
