// One attack as a process of its own: `node main.js '{"attack": …, "url": …, "key": …, "zone": …, "ms": …}'`. It ends by
// itself after `ms`, or with its parent, and then prints what came of it as JSON.

import { flood, largeBatch, yamlGraph } from "./floods.ts";
import { hoard, type Send } from "./hoard.ts";
import { holdIdleConnections } from "./idle-connections.ts";
import { registerAndVanish } from "./registrations.ts";
import { readSlowly } from "./slow-readers.ts";
import type { Target } from "./target.ts";
import { sendUpgradeBodies } from "./upgrade-bodies.ts";

const MIB = 2 ** 20;
const API = "/api/v2/scheduler";

export interface AttackOrder {
  readonly attack: AttackName;
  readonly url: string;
  /** A key for the zone `zone` and all of its agents. */
  readonly key: string;
  readonly zone: string;
  readonly ms: number;
}

type Attack = (target: Target, order: AttackOrder, signal: AbortSignal) => Promise<unknown>;

/** The attacks of the security review, by finding. F7 has three. */
const ATTACKS = {
  /** Nothing: what the others are compared with. */
  none: (_target, _order, signal) =>
    new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve())),
  "F2 heavy tasks": (target, { zone }, signal) =>
    hoard(sendFor(target), [zone], { most: 1_000_000, signal, pauseMs: 20 }),
  "F5 bodies under Upgrade": async (target, _order, signal) =>
    await sendUpgradeBodies(
      target,
      { connections: 100, length: 60 * MIB, request: `GET ${await largeTask(target)}?wait=60` },
      signal,
    ),
  "F6 registrations": (target, _order, signal) => registerAndVanish(target, { parallel: 8 }, signal),
  "F7 YAML": (target, _order, signal) =>
    flood(
      target,
      { method: "POST", path: `${API}/runs`, type: "application/yaml", body: yamlGraph(), parallel: 16 },
      signal,
    ),
  "F7 bodies of 64 MiB": (target, _order, signal) =>
    flood(
      target,
      { method: "POST", path: `${API}/submit/batch`, body: largeBatch(63 * MIB), parallel: 6 },
      signal,
    ),
  "F7 histories": async (target, _order, signal) => {
    const run = await send(target, `${API}/runs`, { nodes: { a: { task: "t", executor: "nobody" } } });
    const { id } = run as { readonly id: string };
    return await flood(target, { method: "GET", path: `${API}/runs/${id}/history`, parallel: 32 }, signal);
  },
  "F8 slow readers": async (target, _order, signal) =>
    await readSlowly(target, { connections: 500, path: await largeTask(target), requests: 8 }, signal),
  "F17 idle connections": (target, _order, signal) =>
    Promise.all([
      holdIdleConnections({ ...target, key: "" }, { connections: 3000, path: "/livez" }, signal),
      holdIdleConnections(target, { connections: 3000, path: `${API}/overview` }, signal),
    ]),
} satisfies Readonly<Record<string, Attack>>;

export type AttackName = keyof typeof ATTACKS;

async function send({ url, key }: Target, path: string, body: unknown, headers = {}): Promise<unknown> {
  const answer = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  return await answer.json();
}

/** The zone's agents take turns. */
function sendFor(target: Target): Send {
  let sent = 0;
  return async (path, body) => {
    const agent = { "x-agent-id": `agent-${sent++ % 4}` };
    return { status: 0, headers: new Headers(), body: await send(target, `${API}/${path}`, body, agent) };
  };
}

/** The path of a task whose answer has nearly 1 MiB. */
async function largeTask(target: Target): Promise<string> {
  const task = { executor: "nobody", task_type: "t", payload: { text: "x".repeat(900_000) } };
  const { id } = (await send(target, `${API}/submit`, task)) as { readonly id: string };
  return `${API}/task/${id}`;
}

const order = JSON.parse(process.argv[2] ?? "") as AttackOrder;
const stop = new AbortController();
setTimeout(() => stop.abort(), order.ms);
process.on("disconnect", () => process.exit());
const outcome = await ATTACKS[order.attack]({ url: order.url, key: order.key }, order, stop.signal);
process.stdout.write(`${JSON.stringify({ ...order, key: undefined, outcome, cpu: process.cpuUsage() })}\n`);
process.exit();
