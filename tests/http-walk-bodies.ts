// What the people of a walk ask for, and what they remember of the answers.

import type { Random } from "../src/simulator/random.ts";
import { API } from "./http-app.ts";
import type { Described } from "./http-document.ts";
import type { Zone } from "./http-walk.ts";

export type Kind =
  | "task"
  | "run"
  | "schedule"
  | "webhook"
  | "key"
  | "delivery"
  | "worker"
  | "agent"
  | "limit";

export interface KnownOne {
  readonly zone: Zone;
  readonly id: string;
  /** Of a worker. */
  readonly session?: string;
  /** Of a task that somebody was given. */
  readonly attempt?: number;
}
export type Known = Map<Kind, readonly KnownOne[]>;

interface Asked {
  readonly random: Random;
  readonly zone: Zone;
  readonly url: string;
  readonly known: Known;
}

const PARTS: readonly (readonly [part: RegExp, kind: Kind])[] = [
  [/\/task\//, "task"],
  [/\/runs\//, "run"],
  [/\/schedules\//, "schedule"],
  [/\/webhooks\//, "webhook"],
  [/\/keys\//, "key"],
  [/\/agents\//, "agent"],
  [/\/limits\//, "limit"],
  [/\/workers?\//, "worker"],
];

/** What a parameter of a path names. */
export function kindOf(path: string, parameter: string): Kind {
  if (parameter === "delivery") return "delivery";
  return PARTS.find(([part]) => part.test(path))?.[1] ?? "task";
}

/** Undefined: what the document says will do. */
export function bodyFor({ method, path }: Described, asked: Asked): unknown {
  return BODIES[`${method} ${path.replace(API, "")}`]?.(asked);
}

const BODIES: Readonly<Record<string, (asked: Asked) => unknown>> = {
  "POST /submit": task,
  "POST /submit/batch": (asked) => ({
    tasks: Array.from({ length: asked.random.int(1, 4) }, () => task(asked)),
  }),
  "POST /runs": run,
  "POST /schedules": (asked) => ({
    name: `${asked.zone} nightly`,
    cron: asked.random.pick(["30 6 * * 1-5", "0 0 29 2 *", "* * * * * *"]),
    task: { executor: `${asked.zone}-executor`, task_type: "work" },
    overlap: "skip",
  }),
  "POST /webhooks": ({ zone }) => ({ url: `https://${zone}.example.com/hook` }),
  "POST /keys": ({ zone, random }) => ({
    name: `${zone}-key`,
    scopes: random.pick([["read"], ["submit", "read"], ["admin"]]),
    zones: [random.chance(0.8) ? zone : "*"],
    agents: [random.chance(0.5) ? `${zone}-alice` : "*"],
  }),
  "POST /pause": paused,
  "POST /resume": paused,
  "PUT /agents/{agent}": ({ random }) => ({ max_concurrent: random.pick([null, 0, 1, 10]) }),
  "PUT /limits/{name}": ({ random }) => ({
    concurrency: random.pick([null, 0, 1, 10]),
    rate: random.pick([null, { count: 100, per_seconds: 1 }]),
  }),
  "POST /agents/{agent}/credits": ({ random }) => ({ amount: random.pick(["1", "0.000001", 5]) }),
  "POST /worker/register": ({ zone, random }) => {
    const id = `${zone}-worker-${random.int(1, 3)}`;
    const session = `${id}-${random.int(1, 2)}`;
    const sizes = { cpu_millicores: 8000, memory_bytes: 2 ** 30, slots: 5 };
    const serves = { executors: [`${zone}-executor`], types: ["work"] };
    return { registration: { protocol: 1, id, session, ...serves, ...sizes }, heartbeat: { attempts: [] } };
  },
  "POST /worker/{id}/poll": (asked) => ({ session: sessionOf(asked), heartbeat: { attempts: [] } }),
  "POST /worker/{id}/report": (asked) => ({ session: sessionOf(asked), report: report(asked) }),
  "POST /worker/{id}/log": (asked) => {
    const entry = { ...attemptOf(asked), at: 1, stream: "stdout", text: `${asked.zone} printed` };
    return { session: sessionOf(asked), entries: [entry] };
  },
  "POST /worker/{id}/progress": (asked) => ({
    session: sessionOf(asked),
    progress: { ...attemptOf(asked), fraction: 0.5, message: `${asked.zone} goes on` },
  }),
  "POST /worker/{id}/drain": (asked) => ({ session: sessionOf(asked) }),
  "POST /worker/{id}/leave": (asked) => ({ session: sessionOf(asked) }),
};

function task({ zone, random }: Asked): Record<string, unknown> {
  return {
    executor: `${zone}-executor`,
    task_type: random.chance(0.9) ? "work" : `${zone}-other`,
    payload: { of: zone },
    ...(random.chance(0.1) && { idempotency_key: `${zone}-${random.int(1, 20)}` }),
    ...(random.chance(0.2) && { limits: [`${zone}-${random.int(1, 3)}`] }),
    ...(random.chance(0.1) && { boost: "0.000001" }),
    ...(random.chance(0.1) && { deadline: "2030-01-01T00:00:00Z" }),
    ...(random.chance(0.1) && { max_attempts: 1 }),
    ...(random.chance(0.2) && { retry_backoff: 0 }),
    ...(random.chance(0.2) && { priority: random.pick(["critical", "low", "best_effort"]) }),
  };
}

function run({ zone, random }: Asked): Record<string, unknown> {
  const node = { task: "work", executor: `${zone}-executor` };
  const nodes = { [`${zone}-a`]: node, b: { ...node, needs: [`${zone}-a`] }, c: { ...node, retries: 1 } };
  return { graph: { name: `${zone} graph`, nodes }, fail_fast: random.chance(0.5) };
}

function paused({ zone, random }: Asked): Record<string, unknown> {
  return random.chance(0.8) ? { executor: `${zone}-executor` } : {};
}

/** Mostly that of the worker in the path. */
function sessionOf({ url, known, random, zone }: Asked): string {
  const id = decodeURIComponent(url.split("/")[2] ?? "");
  const worker = (known.get("worker") ?? []).find((one) => one.id === id);
  return random.chance(0.9) ? (worker?.session ?? `${zone}-session`) : `${zone}-session`;
}

function attemptOf({ known, random }: Asked): { readonly task: string; readonly attempt: number } {
  const tasks = known.get("task") ?? [];
  const given = tasks.filter(({ attempt }) => attempt !== undefined);
  const from = given.length > 0 && random.chance(0.8) ? given : tasks;
  const one = from.length > 0 ? random.pick(from) : undefined;
  const attempt = random.chance(0.9) ? (one?.attempt ?? 1) : random.int(1, 4);
  return { task: one?.id ?? "0195a6c2-6f0e-7c3a-9d1b-2f4e5a6b7c8d", attempt };
}

function report(asked: Asked): Record<string, unknown> {
  const attempt = { ...attemptOf(asked), started_at: 1 };
  const { random, zone } = asked;
  return random.pick([
    { type: "finished", ...attempt, result: { of: zone } },
    { type: "failed", ...attempt, code: "exit", message: `${zone} failed`, retry: random.chance(0.5) },
    { type: "timed_out", ...attempt },
    { type: "cancelled", ...attempt },
  ]);
}

interface Named {
  readonly id?: unknown;
}

/** As much of any answer as holds ids. */
interface Body extends Named {
  readonly results?: readonly { readonly task?: Named }[];
  readonly tasks?: readonly Named[];
  readonly deliveries?: readonly Named[];
  readonly assignments?: readonly { readonly task: string; readonly attempt: number }[];
}

const MADE: readonly (readonly [path: RegExp, kind: Kind])[] = [
  [/\/(submit|run)$/, "task"],
  [/\/runs$/, "run"],
  [/\/schedules$/, "schedule"],
  [/\/webhooks$/, "webhook"],
  [/\/keys$/, "key"],
];

/** What there is since an answer. */
export function* idsIn(
  { path }: Described,
  url: string,
  asked: string | undefined,
  answered: unknown,
): Generator<[Kind, Omit<KnownOne, "zone">]> {
  const body = (answered ?? {}) as Body;
  const { results = [], tasks = [], deliveries = [], assignments = [] } = body;
  const made = MADE.find(([part]) => part.test(path))?.[1];
  if (made) yield* named(made, [body]);
  yield* named("task", [...results.map(({ task: one = {} }) => one), ...tasks.slice(0, 3)]);
  yield* named("delivery", deliveries);
  for (const { task: id, attempt } of assignments) yield ["task", { id, attempt }];
  if (path.endsWith("/register")) {
    const { registration } = JSON.parse(asked ?? "") as { registration: { id: string; session: string } };
    yield ["worker", { id: registration.id, session: registration.session }];
  }
  const put = /\/(agents|limits)\/([^/?]+)$/.exec(url);
  if (put) yield [put[1] === "agents" ? "agent" : "limit", { id: decodeURIComponent(put[2] ?? "") }];
}

function* named(kind: Kind, all: readonly Named[]): Generator<[Kind, Omit<KnownOne, "zone">]> {
  for (const { id } of all) if (typeof id === "string") yield [kind, { id }];
}
