import type { AgentAnswer, LimitAnswer } from "../client/index.ts";
import { UsageError } from "./errors.ts";
import { type Column, tableLines } from "./layout.ts";
import { printLines, stdoutPalette } from "./output.ts";
import type { AgentsOptions, LimitOptions } from "./queue.ts";
import { atService } from "./service.ts";
import type { ServiceOptions } from "./service-options.ts";
import { printSafeJson, shown } from "./service-text.ts";

const LIMITS: readonly Column[] = [
  { title: "LIMIT" },
  { title: "RUNNING", align: "right" },
  { title: "AT ONCE", align: "right" },
  { title: "RATE" },
];
const AGENTS: readonly Column[] = [
  { title: "AGENT" },
  { title: "RUNNING", align: "right" },
  { title: "AT ONCE", align: "right" },
  { title: "RATE" },
  { title: "CREDITS", align: "right" },
  { title: "RESERVED", align: "right" },
  { title: "COST", align: "right" },
];

export async function setPaused(
  executor: string | undefined,
  paused: boolean,
  options: ServiceOptions,
): Promise<void> {
  const answer = await atService(options, (client) =>
    paused ? client.pause(executor) : client.resume(executor),
  );
  const what = executor === undefined ? "the zone" : shown(executor);
  await (options.json ? printSafeJson(answer) : printLines([`${what} ${paused ? "paused" : "resumed"}`]));
}

export async function listLimits(options: LimitOptions): Promise<void> {
  if (options.concurrency !== undefined || options.rate !== undefined)
    throw new UsageError("say which limit to set: orrery limits NAME --concurrency …");
  const limits = await atService(options, (client) => client.limits());
  if (options.json) await printSafeJson({ limits });
  else if (limits.length === 0)
    process.stderr.write("no limits; set one with: orrery limits NAME --concurrency N\n");
  else await printLines(tableLines(LIMITS, limits.map(limitRow), stdoutPalette()));
}

export async function setLimit(name: string, options: LimitOptions): Promise<void> {
  const { concurrency, rate } = options;
  if (concurrency === undefined && rate === undefined)
    throw new UsageError("say what to limit: --concurrency N, --rate N/SECONDS, or none for either");
  const body = { concurrency: orNull(concurrency), rate: orNull(rate) };
  const limit = await atService(options, (client) => client.setLimit(name, body));
  await (options.json
    ? printSafeJson(limit)
    : printLines(tableLines(LIMITS, [limitRow(limit)], stdoutPalette())));
}

export async function listAgents(options: AgentsOptions): Promise<void> {
  if (options.max !== undefined || options.rate !== undefined || options.grant !== undefined)
    throw new UsageError("say which agent to change: orrery agents NAME --max …");
  const agents = await atService(options, (client) => client.agents());
  if (options.json) await printSafeJson({ agents });
  else if (agents.length === 0) process.stderr.write("no agents\n");
  else await printLines(tableLines(AGENTS, agents.map(agentRow), stdoutPalette()));
}

export async function changeAgent(name: string, options: AgentsOptions): Promise<void> {
  const { max, rate, grant } = options;
  const limit = {
    ...(max !== undefined && { max_concurrent: orNull(max) }),
    ...(rate !== undefined && { rate: orNull(rate) }),
  };
  const isLimited = max !== undefined || rate !== undefined;
  if (!isLimited && grant === undefined)
    throw new UsageError(
      "say what to change: --max N, --rate N/SECONDS (or none for either), --grant AMOUNT",
    );
  const agent = await atService(options, async (client) => {
    const limited = isLimited ? await client.setAgentLimit(name, limit) : undefined;
    return grant === undefined ? (limited as AgentAnswer) : await client.grantCredits(name, grant);
  });
  await (options.json
    ? printSafeJson(agent)
    : printLines(tableLines(AGENTS, [agentRow(agent)], stdoutPalette())));
}

/** What is not limited is null to the server. */
function orNull<Value>(value: Value | "none" | undefined): Value | null {
  return value === undefined || value === "none" ? null : (value as Value);
}

function limitRow({ name, running_count, concurrency, rate }: LimitAnswer): string[] {
  return [shown(name), String(running_count), concurrency === null ? "any" : String(concurrency), pace(rate)];
}

function agentRow(agent: AgentAnswer): string[] {
  const most = agent.max_concurrent === null ? "any" : String(agent.max_concurrent);
  const amounts = [agent.credits, agent.reserved_credits, agent.cost].map(shown);
  return [shown(agent.agent), String(agent.running_count), most, pace(agent.rate), ...amounts];
}

function pace(rate: LimitAnswer["rate"]): string {
  return rate === null ? "" : `${rate.count} in ${rate.per_seconds} s`;
}
