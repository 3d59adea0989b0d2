import type {
  AgentsAnswer,
  ChangeAnswer,
  LimitBody,
  LimitsAnswer,
} from "../../../src/protocol/api-schemas.ts";
import { setAgent, setLimit, setPaused } from "./queue-queries.ts";
import { get, post } from "./request.ts";
import { actOn } from "./task-actions.ts";

export type OneChange = Exclude<ChangeAnswer, { kind: "together" }>;

/** Whether a button can make the change for a key of these scopes; others are for whoever runs workers, or submits. */
export function canMake(change: ChangeAnswer, scopes: readonly string[]): boolean {
  switch (change.kind) {
    case "resume":
    case "agent-limit":
    case "limit":
    case "rate":
      return scopes.includes("admin");
    case "cancel":
    case "recharge":
      return scopes.includes("submit");
    case "together":
      return change.changes.every((one) => canMake(one, scopes));
    case "worker":
    case "priority":
    case "at-once":
      return false;
  }
}

export async function make(change: ChangeAnswer): Promise<void> {
  if (change.kind !== "together") return await makeOne(change);
  for (const one of change.changes) await makeOne(one);
}

async function makeOne(change: OneChange): Promise<void> {
  switch (change.kind) {
    case "resume":
      for (const executor of change.executors) await setPaused(executor === "" ? undefined : executor, false);
      return;
    case "agent-limit":
      return await changeAgent(change.agent, change.to);
    case "limit":
      return await changeLimit(change.limit, { concurrency: change.to });
    case "rate":
      return await changeLimit(change.limit, { rate: { count: change.to, per_seconds: change.per_seconds } });
    case "cancel":
      await actOn("cancel", change.task_id);
      return;
    case "recharge":
      await post(`/task/${encodeURIComponent(change.task_id)}/recharge`, {
        body: { [change.part]: change.amount },
      });
      return;
    case "worker":
    case "priority":
    case "at-once":
  }
}

/** What is set beside it stays as it is. */
async function changeAgent(agent: string, to: number): Promise<void> {
  const { agents } = await get<AgentsAnswer>("/agents");
  const rate = agents.find((one) => one.agent === agent)?.rate ?? null;
  await setAgent(agent, { max_concurrent: to, ...(rate && { rate }) });
}

async function changeLimit(name: string, change: Pick<LimitBody, "concurrency" | "rate">): Promise<void> {
  const { limits } = await get<LimitsAnswer>("/limits");
  const { concurrency = null, rate = null } = limits.find((one) => one.name === name) ?? {};
  await setLimit(name, { concurrency, rate, ...change });
}
