// What a soak has shown, as rows, and what its growth consists of, in words.

import { atLeast, atMost, formatNumber, outcomeOf } from "../report.mjs";
import { median } from "../stats.mjs";

/** @typedef {import("../report.mjs").Row} Row */
/** @typedef {import("./clients.mjs").ClientsResult} ClientsResult */
/** @typedef {import("./gauges.mjs").Gauges} Gauges */
/** @typedef {import("./kept.mjs").Kept} Kept */
/** @typedef {import("./pair.mjs").Restart} Restart */

/**
 * @typedef {object} Course
 * @property {{ perSecond: number, forMs: number, warmUpMs: number, windowMs: number }} plan
 * @property {boolean} isJudged Whether it took long enough to judge how fast and how large things are.
 * @property {Gauges} gauges
 */

/**
 * @typedef {object} Found
 * @property {ClientsResult} result
 * @property {readonly Restart[]} restarts
 * @property {ReturnType<typeof import("./times.mjs").readTimes>} times
 * @property {number} open Tasks that had not ended when the time was over.
 * @property {Kept} middle
 * @property {Kept} end
 * @property {{ distinct: number, completed: number, again: number }} counted
 * @property {number} completions In the ledger.
 * @property {readonly { name: string, ended: number | string | null, said: string }[]} ends
 * @property {string | undefined} fault
 */

/** @typedef {{ name: string, first: number, last: number, after: number, most: number }} Memory In MiB. */

const P99_MS = 100;
/** What the next leader waits for when nobody hands over. */
const GAP_MS = 3_000;
const GROWTH_MIB = 64;
/** Of the pace; who comes below it has shown what the machine can do, and not how it is at that pace. */
const KEPT_PACE = 0.95;
const MIB = 2 ** 20;

/**
 * @param {Course} course
 * @param {Found} found
 * @returns {import("../report.mjs").Outcome}
 */
export function soakOutcome(course, found) {
  const memories = memoriesOf(course, found.times);
  const failures = failuresOf(found);
  const rows = [
    ...requestRows(course, found),
    ...restartRows(found),
    ...memories.flatMap((memory) => memoryRows(course, memory)),
    ...tableRows(found),
    ...cpuRows(course, found),
    ...soundRows(found),
  ];
  const outcome = outcomeOf(rows, failures);
  const notes = [...growthNotes(found, memories), ...paceNotes(course, found), ...troubleNotes(found)];
  const { result, restarts, times, middle, end } = found;
  const secondsAt = (/** @type {number} */ at) => (at - times.startedAt) / 1000;
  const memory = Object.fromEntries(
    [...course.gauges.memory].map(([name, samples]) => [
      name,
      samples.map(({ at, rssBytes }) => [secondsAt(at), rssBytes / MIB]),
    ]),
  );
  return {
    failures,
    text: `${outcome.text}\n\n${notes.join("\n")}`,
    json: {
      ...outcome.json,
      notes,
      failed: result.failed.map((one) => ({ ...one, at: secondsAt(one.at) })),
      retries: result.retries,
      restarts: restarts.map((one) => ({ ...one, from: secondsAt(one.from), to: secondsAt(one.to) })),
      gaps: times.gaps.map((one) => ({ ...one, at: secondsAt(one.at) })),
      kept: { middle, end },
      memory,
      failures,
    },
  };
}

/**
 * @param {Course} course
 * @param {Found} found
 * @returns {Row[]}
 */
function requestRows({ plan, isJudged }, { result, times }) {
  const { sent, acknowledged, failed, retries } = result;
  const tried = Object.values(retries).reduce((sum, count) => sum + count, 0);
  const perSecond = (acknowledged * 1000) / (times.endedAt - times.startedAt);
  const spreads = /** @type {const} */ ([
    ["all", times.all, undefined],
    ["during the restarts", times.restarting, undefined],
    ["otherwise", times.otherwise, isJudged ? P99_MS : undefined],
    ["without its wait in the client", times.sinceSent, undefined],
  ]);
  return [
    { case: "requests", metric: "sent", unit: "", value: sent },
    {
      case: "requests",
      metric: "acknowledged",
      unit: "1/s",
      ...(isJudged ? atLeast(perSecond, plan.perSecond * KEPT_PACE) : { value: perSecond }),
    },
    { case: "requests", metric: "failed after the client's retries", unit: "", ...none(failed.length) },
    { case: "requests", metric: "sent again by the client", unit: "", value: tried },
    ...spreads.flatMap(([name, { p50, p99, max }, goal]) => [
      { case: `submit, ${name}`, metric: "p50", unit: "ms", value: p50 },
      {
        case: `submit, ${name}`,
        metric: "p99",
        unit: "ms",
        ...(goal === undefined ? { value: p99 } : atMost(p99, goal)),
      },
      { case: `submit, ${name}`, metric: "max", unit: "ms", value: max },
    ]),
    {
      case: "nothing acknowledged",
      metric: "longest time",
      unit: "ms",
      ...(isJudged ? atMost(times.longestGapMs, GAP_MS) : { value: times.longestGapMs }),
    },
    { case: "nothing acknowledged", metric: "times over 250 ms", unit: "", value: times.gaps.length },
  ];
}

/**
 * @param {Found} found
 * @returns {Row[]}
 */
function restartRows({ restarts, ends }) {
  const wrong = [...restarts, ...ends].filter(({ ended }) => ended !== 0).length;
  return [
    ...restarts.flatMap(({ server, stopMs, startMs }) => [
      { case: `restart of ${server}`, metric: "SIGTERM to its end", unit: "ms", value: stopMs },
      { case: `restart of ${server}`, metric: "start to ready", unit: "ms", value: startMs },
    ]),
    { case: "processes", metric: "not ended with 0 when asked to", unit: "", ...none(wrong) },
  ];
}

/**
 * @param {Course} course
 * @param {Found["times"]} times
 * @returns {Memory[]}
 */
function memoriesOf({ plan, gauges }, { startedAt, endedAt }) {
  const from = startedAt + plan.warmUpMs;
  // The clients keep every time and id, which is their task here.
  const measured = [...gauges.memory].filter(([name]) => name !== "clients");
  return measured.map(([name, samples]) => {
    const within = (/** @type {number} */ after, /** @type {number} */ until) =>
      median(samples.filter(({ at }) => at >= after && at <= until).map(({ rssBytes }) => rssBytes / MIB));
    return {
      name,
      first: within(from, from + plan.windowMs),
      last: within(endedAt - plan.windowMs, endedAt),
      after: (samples.at(-1)?.rssBytes ?? 0) / MIB,
      most: samples.reduce((most, { rssBytes }) => Math.max(most, rssBytes / MIB), 0),
    };
  });
}

/**
 * @param {Course} course
 * @param {Memory} memory
 * @returns {Row[]}
 */
function memoryRows({ plan, isJudged }, { name, first, last, most }) {
  const seconds = plan.windowMs / 1000;
  const growth = last - first;
  return [
    { case: name, metric: `RSS, the ${seconds} s after warm-up`, unit: "MiB", value: first },
    { case: name, metric: `RSS, last ${seconds} s`, unit: "MiB", value: last },
    { case: name, metric: "RSS, most", unit: "MiB", value: most },
    {
      case: name,
      metric: "RSS, growth",
      unit: "MiB",
      ...(isJudged ? atMost(growth, GROWTH_MIB) : { value: growth }),
    },
  ];
}

/**
 * @param {Found} found
 * @returns {Row[]}
 */
function tableRows({ end }) {
  return end.tables.flatMap(({ name, rows, bytes }) => [
    { case: `table ${name}`, metric: "rows", unit: "", value: rows },
    { case: `table ${name}`, metric: "size with indexes", unit: "MiB", value: bytes / MIB },
    { case: `table ${name}`, metric: "per task", unit: "B", value: bytes / end.tasks },
  ]);
}

/**
 * @param {Course} course
 * @param {Found} found
 * @returns {Row[]}
 */
function cpuRows({ gauges }, { end }) {
  return ["server", "worker", "PostgreSQL", "clients"].map((name) => ({
    case: "CPU per task",
    metric: /^[sw]/.test(name) ? `both ${name}s` : name,
    unit: "µs",
    value: gauges.cpuMicros(name) / end.tasks,
  }));
}

/**
 * @param {Found} found
 * @returns {Row[]}
 */
function soundRows(found) {
  const { counted, fault } = found;
  const { lost, doubled, notOnce } = wrongs(found);
  return [
    { case: "tasks", metric: "acknowledged and completed", unit: "", value: counted.completed },
    { case: "tasks", metric: "acknowledged and not completed", unit: "", ...none(lost) },
    { case: "tasks", metric: "that nobody asked for", unit: "", ...none(doubled) },
    { case: "tasks", metric: "completions more than tasks, in the ledger", unit: "", ...none(notOnce) },
    { case: "tasks", metric: "tried more than once", unit: "", value: counted.again },
    {
      case: "ledger",
      metric: "verify --redecide",
      unit: "",
      value: fault === undefined ? 1 : 0,
      goal: "1",
      met: fault === undefined,
    },
  ];
}

/** @param {Found} found */
function wrongs({ result, counted, completions, end, open }) {
  return {
    lost: result.acknowledged - counted.completed,
    // A request that failed may have made its task nevertheless.
    doubled: Math.max(0, end.tasks - result.acknowledged - result.failed.length),
    notOnce: completions - (end.tasks - open),
  };
}

/** @param {Found} found */
function failuresOf(found) {
  const { lost, doubled, notOnce } = wrongs(found);
  const { open, fault, restarts, ends } = found;
  const badRestarts = restarts.filter(({ ended }) => ended !== 0);
  return [
    ...(open > 0 ? [`${open} tasks have not ended`] : []),
    ...(lost !== 0 ? [`${lost} of the acknowledged tasks are not completed`] : []),
    ...(doubled > 0 ? [`${doubled} tasks are there that nobody asked for`] : []),
    ...(notOnce !== 0 ? [`the ledger has ${notOnce} completions more than there are completed tasks`] : []),
    ...(fault === undefined ? [] : [`verify --redecide: ${fault}`]),
    ...badRestarts.map(({ server, ended }) => `${server} ended with ${ended} at its restart`),
    ...ends
      .filter(({ ended }) => ended !== 0)
      .map(({ name, ended, said }) => `${name} ended with ${ended}: ${said}`),
  ];
}

/**
 * @param {Found} found
 * @param {readonly Memory[]} memories
 */
function growthNotes({ middle, end }, memories) {
  const bytesOf = (/** @type {Kept} */ { tables }) => tables.reduce((sum, { bytes }) => sum + bytes, 0);
  const second = (bytesOf(end) - bytesOf(middle)) / (end.tasks - middle.tasks);
  const memory = memories.map(
    ({ name, last, after }) => `${name} ${formatNumber(last)}, ${formatNumber(after)} after`,
  );
  return [
    `What grows is what is kept: ${formatNumber(end.tasks)} tasks x ${formatNumber(bytesOf(end) / end.tasks)} B = ${formatNumber(bytesOf(end) / MIB)} MiB of rows and indexes,`,
    `${formatNumber(bytesOf(middle) / middle.tasks)} B each in the first half, ${formatNumber(second)} B each in the second. Ended tasks are kept without --keep-ended,`,
    "idempotency keys for a day, blocks for ever.",
    `Memory at the end of the load, and after the last task (MiB): ${memory.join("; ")}.`,
  ];
}

/**
 * @param {Course} course
 * @param {Found} found
 */
function paceNotes({ plan }, { times }) {
  const lateS = (times.endedAt - times.startedAt - plan.forMs) / 1000;
  if (lateS * 1000 < plan.forMs * (1 / KEPT_PACE - 1)) return [];
  return [
    `THE PACE WAS NOT KEPT: the last answer came ${formatNumber(lateS)} s late. What was due waited in the clients, and that counts above.`,
  ];
}

/** @param {Found} found */
function troubleNotes({ result, times, restarts }) {
  const retries = Object.entries(result.retries).map(([why, count]) => `${why} ${count}`);
  const origin = restarts[0]?.from ?? 0;
  const since = (/** @type {number} */ at) =>
    `${formatNumber((at - origin) / 1000)} s after the first SIGTERM`;
  return [
    ...(retries.length === 0 ? [] : [`Sent again by the client because of: ${retries.join(", ")}.`]),
    ...times.gaps
      .slice(0, 20)
      .map(({ at, ms }) => `Nothing acknowledged for ${formatNumber(ms)} ms, ${since(at)}.`),
    ...result.failed
      .slice(0, 10)
      .map(
        ({ at, server, status, code, detail }) =>
          `FAILED at ${server}, ${since(at)}: ${status} ${code}: ${detail}`,
      ),
  ];
}

/** @param {number} value */
function none(value) {
  return { value, goal: "0", met: value === 0 };
}
