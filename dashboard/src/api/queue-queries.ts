import type { UseQueryResult } from "@tanstack/react-query";
import type {
  AgentBody,
  AgentsAnswer,
  ConcurrencyBody,
  LimitBody,
  LimitsAnswer,
  QueuesAnswer,
} from "../../../src/protocol/api-schemas.ts";
import { useLook } from "./queries.ts";
import { post, put } from "./request.ts";

/** What is paused or set is told by no event. */
const QUIET_MS = 1000;

export function useQueues(): UseQueryResult<QueuesAnswer> {
  return useLook<QueuesAnswer>("queues", "/queues", {}, { everyMs: QUIET_MS });
}

export function useAgents(): UseQueryResult<AgentsAnswer> {
  return useLook<AgentsAnswer>("agents", "/agents", {}, { everyMs: QUIET_MS });
}

export function useLimits(): UseQueryResult<LimitsAnswer> {
  return useLook<LimitsAnswer>("limits", "/limits", {}, { everyMs: QUIET_MS });
}

/** An executor, or with undefined the whole zone. */
export function setPaused(executor: string | undefined, isPaused: boolean): Promise<unknown> {
  return post(isPaused ? "/pause" : "/resume", { body: executor === undefined ? {} : { executor } });
}

/** What was typed is sent as it is, so that it is the server who says what is wrong with it. */
type Typed<Body> = { readonly [Key in keyof Body]?: unknown };

export function setZone(body: Typed<ConcurrencyBody>): Promise<unknown> {
  return put("/zone", { body });
}

export function setAgent(agent: string, body: Typed<AgentBody>): Promise<unknown> {
  return put(`/agents/${encodeURIComponent(agent)}`, { body });
}

export function grantCredits(agent: string, amount: string): Promise<unknown> {
  return post(`/agents/${encodeURIComponent(agent)}/credits`, { body: { amount } });
}

export function setLimit(name: string, body: Typed<LimitBody>): Promise<unknown> {
  return put(`/limits/${encodeURIComponent(name)}`, { body });
}
