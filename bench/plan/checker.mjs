// Reads PSPLIB's files and checks schedules of them, by itself: it shares no code with what it checks.

/**
 * @typedef {object} Instance
 * @property {readonly { duration: number, uses: readonly number[], before: readonly number[] }[]} jobs By number, from 0 on.
 * @property {readonly number[]} capacities
 */

/**
 * @param {string} text
 * @returns {Instance}
 */
export function readInstance(text) {
  const lines = text.split(/\r?\n/);
  const section = (/** @type {string} */ title, /** @type {number} */ skip) => {
    const from = lines.findIndex((line) => line.startsWith(title)) + skip;
    const rest = lines.slice(from);
    const end = rest.findIndex((line) => line.startsWith("*"));
    return rest
      .slice(0, end === -1 ? undefined : end)
      .map(numbers)
      .filter((row) => row.length > 0);
  };
  const followers = section("PRECEDENCE RELATIONS", 2);
  const jobs = section("REQUESTS/DURATIONS", 3).map(([number = 0, , duration = 0, ...uses]) => ({
    duration,
    uses,
    before: followers.flatMap(([other = 0, , , ...after]) => (after.includes(number) ? [other - 1] : [])),
  }));
  const [capacities = []] = section("RESOURCEAVAILABILITIES", 2);
  return { jobs, capacities };
}

/**
 * Everything that is wrong with a schedule.
 *
 * @param {Instance} instance
 * @param {readonly number[]} starts
 * @param {number} makespan
 * @returns {string[]}
 */
export function faultsOf({ jobs, capacities }, starts, makespan) {
  if (starts.length !== jobs.length) return [`${starts.length} of ${jobs.length} jobs have a start`];
  const start = (/** @type {number} */ at) => starts[at] ?? Number.NaN;
  const end = (/** @type {number} */ at) => start(at) + (jobs[at]?.duration ?? 0);
  const faults = jobs.flatMap(({ before }, at) => [
    ...(start(at) >= 0 ? [] : [`job ${at + 1} starts at ${start(at)}`]),
    ...before.flatMap((other) =>
      end(other) <= start(at)
        ? []
        : [`job ${at + 1} starts at ${start(at)}, job ${other + 1} ends at ${end(other)}`],
    ),
  ]);
  const last = Math.max(0, ...jobs.map((_, at) => end(at)));
  if (last !== makespan) faults.push(`it ends at ${last}, not at ${makespan}`);
  for (let time = 0; time < last; time++) {
    for (const [resource, capacity] of capacities.entries()) {
      let used = 0;
      for (const [at, { uses }] of jobs.entries()) {
        if (start(at) <= time && time < end(at)) used += uses[resource] ?? 0;
      }
      if (used > capacity) faults.push(`${used} of ${capacity} of resource ${resource + 1} at ${time}`);
    }
  }
  return faults;
}

/**
 * `set,instance,lb,ub,proved_optimal`
 *
 * @param {string} text
 * @returns {Map<string, { least: number, best: number, proved: boolean }>}
 */
export function readBounds(text) {
  const [, ...rows] = text.trim().split(/\r?\n/);
  return new Map(
    rows.map((row) => {
      const [, instance = "", least, best, proved] = row.split(",");
      return [instance, { least: Number(least), best: Number(best), proved: proved === "1" }];
    }),
  );
}

function numbers(/** @type {string} */ line) {
  return line.trim() === "" ? [] : line.trim().split(/\s+/).map(Number);
}
