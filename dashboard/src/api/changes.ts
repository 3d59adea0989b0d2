import type { AgentsAnswer, ChangeAnswer, LimitsAnswer } from "../../../src/protocol/api-schemas.ts";
import { get, post, put } from "./request.ts";
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
      for (const executor of change.executors)
        await post("/resume", { body: executor === "" ? {} : { executor } });
      return;
    case "agent-limit":
      return await setAgentLimit(change.agent, change.to);
    case "limit":
      return await setLimit(change.limit, { concurrency: change.to });
    case "rate":
      return await setLimit(change.limit, { rate: { count: change.to, per_seconds: change.per_seconds } });
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
async function setAgentLimit(agent: string, to: number): Promise<void> {
  const { agents } = await get<AgentsAnswer>("/agents");
  const known = agents.find((one) => one.agent === agent);
  await put(`/agents/${encodeURIComponent(agent)}`, {
    body: { max_concurrent: to, ...(known?.own_rate && { rate: known.rate }) },
  });
}

async function setLimit(
  name: string,
  change: { readonly concurrency: number } | { readonly rate: { count: number; per_seconds: number } },
): Promise<void> {
  const { limits } = await get<LimitsAnswer>("/limits");
  const { concurrency = null, rate = null } = limits.find((one) => one.name === name) ?? {};
  await put(`/limits/${encodeURIComponent(name)}`, { body: { concurrency, rate, ...change } });
}
