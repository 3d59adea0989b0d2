import { type OrreryClient, OrreryError } from "../client/index.ts";
import { countOf } from "../words/index.ts";
import type { CancelOptions, RechargeOptions } from "./cancel.ts";
import { type CliError, CliError as Failure, UsageError } from "./errors.ts";
import { printLines } from "./output.ts";
import { atService, cliErrorOf } from "./service.ts";
import type { ServiceOptions } from "./service-options.ts";
import { printSafeJson, shown } from "./service-text.ts";

/** Requests for several tasks that are under way at a time. */
const AT_ONCE = 16;

/** What came of one of several tasks. */
interface Outcome {
  readonly id: string;
  readonly done: boolean;
  readonly message: string;
  readonly exitCode: number;
}

export function cancelTasks(ids: readonly string[], options: ServiceOptions): Promise<void> {
  return doToAll(ids, options, async (client, id) => {
    if ((await client.cancel(id)).cancelled) return { id, done: true, message: "cancelled", exitCode: 0 };
    const task = await client.task(id).catch(async (error: unknown) => {
      if (!(await isRun(client, id))) throw error;
    });
    if (!task)
      return {
        id,
        done: false,
        message: `is a run; cancel it with: orrery runs ${id} --cancel`,
        exitCode: 2,
      };
    const { status } = task;
    const message =
      status === "queued" || status === "running" ? "is being cancelled already" : `is ${status} already`;
    return { id, done: false, message, exitCode: 1 };
  });
}

async function isRun(client: OrreryClient, id: string): Promise<boolean> {
  return await client.run(id).then(
    () => true,
    () => false,
  );
}

/** All that match and have not ended, in a list that is made before the first is cancelled. */
export async function cancelMatching(options: CancelOptions): Promise<void> {
  const { status, executor, type, yes } = options;
  if (status === undefined && executor === undefined && type === undefined)
    throw new UsageError("name tasks, or say which: --status, --executor, --type");
  const filter = { status: status ?? (["queued", "running"] as const), executor, task_type: type };
  const cancelled = await atService(options, async (client) => {
    const ids: string[] = [];
    for await (const { id } of client.tasks(filter, { pageSize: 1000 })) ids.push(id);
    if (!yes) return { matching: ids.length, cancelled: 0 };
    let count = 0;
    for (let from = 0; from < ids.length; from += AT_ONCE) {
      const some = ids.slice(from, from + AT_ONCE).map((id) => client.cancel(id));
      // One that ended meanwhile, or is being cancelled, needs nothing.
      for (const answer of await Promise.all(some)) count += answer.cancelled ? 1 : 0;
    }
    return { matching: ids.length, cancelled: count };
  });
  if (options.json) await printSafeJson(cancelled);
  else
    await printLines([
      yes
        ? `${countOf(cancelled.cancelled, "task")} cancelled`
        : `${countOf(cancelled.matching, "task")} would be cancelled; --yes does it`,
    ]);
}

export function retryTasks(ids: readonly string[], options: ServiceOptions): Promise<void> {
  return doToAll(ids, options, async (client, id) => {
    const { status } = await client.retry(id);
    return { id, done: true, message: status, exitCode: 0 };
  });
}

export async function rechargeTask(id: string, options: RechargeOptions): Promise<void> {
  const { ops, memory, spawns, channelOps, syscalls, json } = options;
  const budget = {
    ...(ops !== undefined && { ops: countIn("--ops", ops) }),
    ...(memory !== undefined && { memory }),
    ...(spawns !== undefined && { spawn_count: countIn("--spawns", spawns) }),
    ...(channelOps !== undefined && { channel_ops: countIn("--channel-ops", channelOps) }),
    ...(syscalls !== undefined && { syscalls: countIn("--syscalls", syscalls) }),
  };
  if (Object.keys(budget).length === 0)
    throw new UsageError("say what it gets more of: --ops, --memory, --spawns, --channel-ops or --syscalls");
  const task = await atService(options, (client) => client.recharge(id, budget));
  if (json) await printSafeJson(task);
  else await printLines([`${shown(id)} recharged`]);
}

function countIn(option: string, text: string): number {
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new UsageError(`${option} must be a whole number such as 50000; got ${shown(text)}`);
}

/** One after the other; one that cannot be done does not keep the others from it. */
async function doToAll(
  ids: readonly string[],
  options: ServiceOptions,
  act: (client: OrreryClient, id: string) => Promise<Outcome>,
): Promise<void> {
  const outcomes = await atService(options, async (client) => {
    const all: Outcome[] = [];
    for (const id of ids)
      all.push(await act(client, id).catch((error: unknown) => failed(id, error, options)));
    return all;
  });
  if (options.json) await printSafeJson(outcomes.map(({ id, done, message }) => ({ id, done, message })));
  else {
    const lines = outcomes
      .filter(({ done }) => done)
      .map(({ id, message }) => `${shown(id)} ${shown(message)}`);
    if (lines.length > 0) await printLines(lines);
  }
  const bad = outcomes.filter(({ done }) => !done);
  const [first] = bad;
  if (first) throw new Failure(bad.map(({ id, message }) => `${id} ${message}`).join("\n"), first.exitCode);
}

/** What concerns this task alone; what would be the same for the next one ends the command. */
function failed(id: string, error: unknown, options: ServiceOptions): Outcome {
  if (!(error instanceof OrreryError) || (error.status !== 404 && error.status !== 409)) throw error;
  const { message, exitCode }: CliError = cliErrorOf(error, options);
  return {
    id,
    done: false,
    message: error.status === 404 ? "is not known here" : `was not changed: ${message}`,
    exitCode,
  };
}
