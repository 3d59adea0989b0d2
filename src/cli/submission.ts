import { readFile } from "node:fs/promises";
import { text as textOf } from "node:stream/consumers";
import type { BatchResult, NewSchedule, OrreryClient, Submission, TaskAnswer } from "../client/index.ts";
import { parseDurationMs, roundedInteger } from "../protocol/index.ts";
import { CheckFailed, NotFoundError, UsageError } from "./errors.ts";
import { printLines } from "./output.ts";
import { atService } from "./service.ts";
import { errorOf, printSafeJson, safeJson, shown } from "./service-text.ts";
import type { SubmitOptions, TaskFlags } from "./submit.ts";
import { neutralise } from "./terminal-text.ts";

/** `orrery submit TYPE`. */
export async function submitOne(type: string | undefined, options: SubmitOptions): Promise<void> {
  if (type === undefined) throw new UsageError("name the type of the task, or give many with --batch");
  const task = await submissionOf(type, options);
  const timeoutMs = options.wait === undefined ? undefined : waitMsOf(options.wait);
  await atService(options, async (client) => {
    const submitted = await client.submit(task);
    if (options.wait === undefined) {
      await (options.json ? printSafeJson(submitted) : printLines([submitted.id]));
      return;
    }
    if (!options.json) process.stderr.write(`submitted ${submitted.id}\n`);
    const impatience = setTimeout(() => void sayWhyWaiting(client, submitted.id), PATIENCE_MS);
    try {
      await printEnd(await client.waitForTask(submitted.id, { timeoutMs }), options.json);
    } finally {
      clearTimeout(impatience);
    }
  });
}

/** Before this nobody wonders why nothing happens. */
const PATIENCE_MS = 3000;

async function sayWhyWaiting(client: OrreryClient, id: string): Promise<void> {
  const why = await client.why(id).catch(() => undefined);
  const reason = why?.waiting[0];
  if (reason) process.stderr.write(`it waits: ${neutralise(reason.text)}\n`);
}

/** A task that was waited for: its result, or how it failed. */
async function printEnd(task: TaskAnswer, json: boolean): Promise<void> {
  if (json) await printSafeJson(task);
  else if (task.status === "completed") await printLines([safeJson(task.result, 2)]);
  if (task.status === "completed") return;
  const why = task.error_code === null ? "" : `: ${errorOf(task)}`;
  throw new CheckFailed(
    task.status === "failed" || task.status === "cancelled"
      ? `${task.task_type} ${task.id} ${task.status === "failed" ? "failed" : "was cancelled"}${why}`
      : `${task.task_type} ${task.id} is still ${task.status}; see: orrery why ${task.id}`,
  );
}

/** Undefined: as long as it takes. */
export function waitMsOf(wait: string | true): number | undefined {
  return wait === true ? undefined : durationMs("--wait", wait);
}

/** A number of seconds, or a text such as 1h30m. */
function durationMs(option: string, text: string): number {
  const value = parseDurationMs(numberOrText(text));
  if (typeof value === "number") return value;
  throw new UsageError(`${option} ${value.refusal}`);
}

/** A time as it is given, or one that is so far from now. */
export function instantOf(option: string, text: string): string {
  if (text.includes("-")) return text;
  const fromNowMs = parseDurationMs(numberOrText(text));
  if (typeof fromNowMs === "number") return new Date(Date.now() + fromNowMs).toISOString();
  throw new UsageError(
    `${option} is a time such as 2030-01-31T12:00:00Z, or so far from now; it ${fromNowMs.refusal}`,
  );
}

/** `orrery submit --batch FILE`. What the options say holds for every line that does not say otherwise. */
export async function submitLines(
  file: string,
  type: string | undefined,
  options: SubmitOptions,
): Promise<void> {
  const shared = await submissionOf(type ?? "", options);
  const lines = (await readText("--batch", file)).split("\n");
  const tasks = lines.flatMap((line, at): { readonly task: Submission; readonly line: number }[] =>
    line.trim() === "" ? [] : [{ task: lineTask(line, `${file}:${at + 1}`, shared), line: at + 1 }],
  );
  if (tasks.length === 0) throw new UsageError(`${file} has no tasks`);
  const results = await atService(options, (client) => client.submitBatch(tasks.map(({ task }) => task)));
  await (options.json ? printSafeJson({ results }) : printIds(results));
  const refused = results.flatMap(({ problem }, at) =>
    problem ? [`${file}:${tasks[at]?.line}: ${shown(problem.detail)}`] : [],
  );
  if (refused.length > 0) throw new CheckFailed(refused.join("\n"));
}

async function printIds(results: readonly BatchResult[]): Promise<void> {
  const ids = results.flatMap(({ task }) => (task ? [task.id] : []));
  if (ids.length > 0) await printLines(ids);
}

function lineTask(line: string, where: string, shared: Submission): Submission {
  const task = { ...shared, ...(parseObject(where, line) as Partial<Submission>) };
  if (task.task_type === "") throw new UsageError(`${where}: has no task_type, and no type was given`);
  return task;
}

async function submissionOf(type: string, options: SubmitOptions): Promise<Submission> {
  const { deadline, runAt, idempotencyKey } = options;
  return {
    ...(await taskOf(type, options)),
    ...(deadline !== undefined && { deadline: instantOf("--deadline", deadline) }),
    ...(runAt !== undefined && { run_at: instantOf("--run-at", runAt) }),
    ...(idempotencyKey !== undefined && { idempotency_key: idempotencyKey }),
  };
}

/** What a task is, whenever it is submitted. */
export async function taskOf(type: string, options: TaskFlags): Promise<NewSchedule["task"]> {
  const { executor, payload, priority, estimate, boost } = options;
  const { limit, capability, cpu, memory, maxAttempts, timeout } = options;
  const resources = {
    ...(cpu !== undefined && { cpu: numberOrText(cpu) }),
    ...(memory !== undefined && { memory: numberOrText(memory) }),
  };
  return {
    task_type: type,
    ...(executor !== undefined && { executor }),
    ...(payload !== undefined && { payload: await readPayload(payload) }),
    ...(priority !== undefined && { priority }),
    ...(estimate !== undefined && { estimated_service_time: durationMs("--estimate", estimate) / 1000 }),
    ...(boost !== undefined && { boost }),
    ...(Object.keys(resources).length > 0 && { resources }),
    ...(capability !== undefined && { capabilities: [...capability] }),
    ...(limit !== undefined && { limits: limitsOf(limit) }),
    ...(maxAttempts !== undefined && { max_attempts: maxAttempts }),
    ...(timeout !== undefined && { timeout: durationMs("--timeout", timeout) / 1000 }),
  };
}

/** Names, of which each may say how much of it counts: gpu=2. */
function limitsOf(given: readonly string[]): NonNullable<NewSchedule["task"]["limits"]> {
  if (!given.some((one) => one.includes("="))) return [...given];
  return Object.fromEntries(
    given.map((one) => {
      const [, name = one, amount = "1"] = /^(.*)=(.*)$/s.exec(one) ?? [];
      if (name !== "" && /^\d{1,15}$/.test(amount)) return [name, Number(amount)];
      throw new UsageError(`--limit takes a name, or a name and a whole number such as gpu=2; got ${one}`);
    }),
  );
}

async function readPayload(given: string): Promise<Record<string, unknown>> {
  const isFile = given.startsWith("@");
  const text = isFile || given === "-" ? await readText("--payload", isFile ? given.slice(1) : given) : given;
  return parseObject("--payload", text);
}

function parseObject(where: string, text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${where}: is no JSON: ${(error as Error).message}`);
  }
  const rounded = roundedInteger(text);
  if (rounded !== undefined)
    throw new UsageError(
      `${where}: has ${rounded}, which has more digits than a number can; write it as a text`,
    );
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new UsageError(`${where}: must be a JSON object such as {"a": 1}`);
}

async function readText(option: string, file: string): Promise<string> {
  if (file === "-") return await textOf(process.stdin);
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") throw new NotFoundError(`${option}: ${file}: no such file`);
    if (code === "EISDIR") throw new UsageError(`${option}: ${file} is a directory; name a file`);
    throw new UsageError(`${option}: ${message}`);
  }
}

/** A plain number has a unit by itself; with one it is a text. */
function numberOrText(text: string): number | string {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}
