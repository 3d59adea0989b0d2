import { hash } from "node:crypto";
import type { ApiKeyRow, ScheduleRow, WebhookRow } from "../../store/index.ts";
import type { Identity } from "./auth.ts";
import { endingOf, handedToSuccessor, madeIds } from "./key-ending.ts";
import { isWithin } from "./key-rights.ts";
import { type Edge, isName, notFound } from "./route.ts";

/** A request that is about to change something. */
interface Asked extends Identity {
  readonly edge: Edge;
  readonly params: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  /** The id that a new key gets. */
  readonly newId: string;
}

/** An entry of the audit, as far as its action knows it. */
interface Noted {
  /** Where the route alone does not tell it. */
  readonly action?: string;
  readonly target: string;
  readonly before?: object | undefined;
  /** What was asked for. */
  readonly detail?: object;
  readonly concernsAll?: boolean;
}

export type Describe = (asked: Asked) => Noted | undefined | Promise<Noted | undefined>;

/**
 * What is kept of each action. `undefined` if the request changes nothing, or is an agent's own work on its tasks, which the
 * ledger tells. Nothing that holds a secret is kept as it is: each entry names the fields that it keeps.
 */
export const AUDITED = {
  "worker.drain": async ({ edge, caller, params }) => {
    const worker = (await edge.api.workers(caller)).find(({ id }) => id === params["id"]);
    if (!worker) throw notFound("worker");
    return { target: worker.id, before: { status: worker.status }, detail: { status: "Draining" } };
  },
  "queue.pause": (asked) => pausedOf(asked, true),
  "queue.resume": (asked) => pausedOf(asked, false),
  "zone.set": async ({ edge, caller, body }) => {
    const { maxConcurrent, hasOwnMax } = await edge.api.queues(caller);
    const before = { max_concurrent: maxConcurrent, own_max_concurrent: hasOwnMax };
    return { target: caller.zone, before, detail: body };
  },
  "agent.set": async (asked) => ({ ...(await agentOf(asked)), detail: asked.body }),
  "agent.credits": async (asked) => ({ ...(await agentOf(asked)), detail: asked.body }),
  "limit.set": async ({ edge, caller, params, body }) => {
    const limit = (await edge.api.limits(caller)).find(({ name }) => name === params["name"]);
    const before = limit && { concurrency: limit.concurrency, rate: limit.rate };
    return { target: params["name"] ?? "", before, detail: body };
  },
  "key.create": ({ newId, body }) => ({ target: newId, detail: body }),
  "key.revoke": (asked) =>
    keyOf(asked, (key) => {
      const to = asked.body["hand_over_to"];
      const { receiver, ended, handedOver } = endingOf(asked.edge, asked, key, to as string | undefined);
      const handed = receiver && { hand_over_to: receiver.id, handed_over: madeIds(handedOver) };
      return { revoked: true, ended: madeIds(ended), ...handed };
    }),
  "key.rotate": (asked) =>
    keyOf(asked, (key) => ({
      by: asked.newId,
      ...asked.body,
      handed_over: madeIds(handedToSuccessor(asked.edge, key)),
    })),
  "task.cancel": (asked) => taskOf(asked),
  "task.retry": (asked) => taskOf(asked),
  "task.recharge": (asked) => taskOf(asked),
  "tasks.bulk": ({ body }) =>
    body["dry_run"] === true
      ? undefined
      : {
          action: `tasks.${String(body["action"])}`,
          target: String(body["filter"] ?? ""),
          detail: { limit: body["limit"] ?? null, is_next_page: body["cursor"] !== undefined },
        },
  "run.cancel": (asked) => runOf(asked),
  "run.release": (asked) => runOf(asked),
  "schedule.create": ({ body }) => ({ target: String(body["name"]), detail: timingOf(body) }),
  "schedule.pause": (asked) => scheduleOf(asked, { paused: true }),
  "schedule.resume": (asked) => scheduleOf(asked, { paused: false }),
  "schedule.run": (asked) => scheduleOf(asked, {}),
  "schedule.delete": (asked) => scheduleOf(asked, { deleted: true }),
  "webhook.create": ({ body }) => ({ target: placeOf(String(body["url"])).url, detail: withPlace(body) }),
  "webhook.update": (asked) => webhookOf(asked, withPlace(asked.body)),
  "webhook.rotate": (asked) => webhookOf(asked, asked.body),
  "webhook.test": (asked) => webhookOf(asked, {}),
  "webhook.redeliver": (asked) => webhookOf(asked, { delivery: asked.params["delivery"] }),
  "webhook.delete": (asked) => webhookOf(asked, { deleted: true }),
  "leader.step-down": async ({ edge }) => {
    const { leadership } = await edge.cluster.status();
    const { holder, epoch } = leadership;
    return { target: holder.replace(/\/[^/]*$/, ""), before: { epoch }, concernsAll: true };
  },
} satisfies Readonly<Record<string, Describe>>;

export type AuditAction = keyof typeof AUDITED;

async function pausedOf({ edge, caller, body }: Asked, paused: boolean): Promise<Noted> {
  const { queues, isPaused } = await edge.api.queues(caller);
  const { executor } = body;
  if (executor === undefined)
    return { target: caller.zone, before: { paused: isPaused }, detail: { whole_zone: true, paused } };
  const queue = queues.find((one) => one.executor === executor);
  return { target: String(executor), before: { paused: queue?.isPaused ?? false }, detail: { paused } };
}

async function agentOf({ edge, caller, params }: Asked): Promise<Noted> {
  const name = params["agent"] ?? "";
  const agent = (await edge.api.agents(caller)).find((one) => one.agent === name);
  const before = agent && {
    max_concurrent: agent.maxConcurrent,
    own_max_concurrent: agent.hasOwnMax,
    rate: agent.rate,
    own_rate: agent.hasOwnRate,
    credits_micros: agent.creditsMicros,
  };
  return { target: name, before };
}

function keyOf(asked: Asked, detailOf: (key: ApiKeyRow) => object): Noted {
  const key = asked.edge.keys.byId(asked.params["id"] ?? "");
  if (!key || !isWithin(asked, key)) throw notFound("key");
  const { id, name, scopes, zones, agents, expiresAt, revokedAt } = key;
  return { target: id, before: { name, scopes, zones, agents, expiresAt, revokedAt }, detail: detailOf(key) };
}

/** What agents do to their own tasks is not administrative. */
async function taskOf({ edge, caller, params, body }: Asked): Promise<Noted | undefined> {
  if (!caller.scopes.has("admin")) return undefined;
  const id = (params["id"] ?? "").toLowerCase();
  const task = UUID.test(id) ? await edge.api.task(caller, id) : undefined;
  if (!task) return undefined;
  const { agent, executor, type, status } = task;
  return { target: id, before: { agent, executor, task_type: type, status }, detail: body };
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

async function runOf({ edge, caller, params }: Asked): Promise<Noted | undefined> {
  const id = params["id"] ?? "";
  const run = isName(id) ? await edge.api.run(caller, id) : undefined;
  return run && { target: id, before: { agent: run.agent, name: run.name, outcome: run.outcome } };
}

function scheduleOf({ edge, caller, params }: Asked, detail: object): Noted {
  const row = edge.schedules.find(caller, params["id"] ?? "");
  if (!row) throw notFound("schedule");
  return { target: row.id, before: scheduleBefore(row), detail };
}

function scheduleBefore({ name, agent, cron, timeZone, paused }: ScheduleRow): object {
  return { name, agent, cron, time_zone: timeZone, paused };
}

/** Without the task's payload, which may hold secrets. */
function timingOf({ task, ...timing }: Asked["body"]): object {
  const { executor, task_type } = (task ?? {}) as Record<string, unknown>;
  return { ...timing, task: { executor, task_type } };
}

function webhookOf({ edge, caller, params }: Asked, detail: object): Noted {
  const row: WebhookRow | undefined = edge.webhooks.find(caller.zone, params["id"] ?? "");
  if (!row) throw notFound("webhook");
  const { id, events, agents, types, executors, includeResult, disabledAt } = row;
  const before = {
    ...placeOf(row.url),
    events,
    agents,
    types,
    executors,
    include_result: includeResult,
    enabled: disabledAt === -1,
  };
  return { target: id, before, detail };
}

function withPlace({ url, ...rest }: Asked["body"]): object {
  return url === undefined ? rest : { ...placeOf(String(url)), ...rest };
}

/** A path or a query may be a secret: its hash shows whether it was changed. */
function placeOf(url: string): { readonly url: string; readonly url_sha256: string } {
  const origin = URL.canParse(url) ? new URL(url).origin : "";
  return { url: origin, url_sha256: hash("sha256", url, "hex") };
}
