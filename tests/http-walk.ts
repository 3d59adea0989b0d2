// Random walks over the API: who comes is somebody of one of two zones, and the ids are those of earlier answers, also
// of the other zone. Everything that a zone's people name holds the zone's name, so that it can be told where it shows.

import fc from "fast-check";
import type { BulkAnswer, BulkBody } from "../src/protocol/api-schemas.ts";
import type { JsonSchema } from "../src/server/http/openapi.ts";
import type { NewKey } from "../src/server/keys.ts";
import type { Random } from "../src/simulator/random.ts";
import { cpuMsSince } from "./cpu-time.ts";
import { type Answer, API, bearer, type Served } from "./http-app.ts";
import type { Contract, Described } from "./http-document.ts";
import { anyBody, anyOfSchema } from "./http-values.ts";
import { bodyFor, idsIn, type Kind, type Known, kindOf } from "./http-walk-bodies.ts";

export const ZONES = ["north", "south"] as const;
export type Zone = (typeof ZONES)[number];

interface Player {
  readonly zone: Zone;
  readonly headers: Record<string, string>;
}

interface Bodies {
  readonly right: fc.Arbitrary<unknown>;
  readonly broken: fc.Arbitrary<string | undefined>;
}

/** An answer takes some milliseconds. */
const MAX_CPU_MS = 1500;
const STEPS = 10;
/** Of each kind; older ones are forgotten. */
const MAX_KNOWN = 100;

export class Walks {
  readonly faults: string[] = [];
  readonly statuses = new Map<number, number>();
  readonly #served: Served;
  readonly #contract: Contract;
  readonly #players: readonly Player[];
  readonly #targets: readonly Described[];
  readonly #known: Known = new Map();
  readonly #made = new Map<string, Bodies>();
  /** A task that ended, was put back and ended again is counted twice. */
  readonly #retried = new Map<Zone, number>();

  static async begin(served: Served, contract: Contract): Promise<Walks> {
    const players: Player[] = [];
    for (const zone of ZONES) {
      const keys = [
        { scopes: ["admin", "work"], name: `${zone}-admin` },
        { scopes: ["submit", "read"], agents: [`${zone}-alice`] },
        { scopes: ["submit", "read", "work"], agents: [`${zone}-bob`, `${zone}-carol`] },
      ];
      for (const key of keys) {
        const secret = await served.secretOf({ zones: [zone], ...key } as Partial<NewKey>);
        players.push({ zone, headers: bearer(secret) });
      }
    }
    return new Walks(served, contract, players);
  }

  private constructor(served: Served, contract: Contract, players: readonly Player[]) {
    this.#served = served;
    this.#contract = contract;
    this.#players = players;
    // A stream does not end by itself.
    const steps = contract.operations().filter(({ path }) => !path.endsWith("/events"));
    // Without work to begin with, nothing else happens.
    const often = steps.filter(({ path }) => /\/(submit|runs|register|poll|report)$/.test(path));
    this.#targets = [...steps, ...often, ...often, ...often];
  }

  /** One sequence, mostly by one of them. */
  async walk(random: Random, name: string): Promise<void> {
    const main = random.pick(this.#players);
    for (let step = 0; step < STEPS; step++) {
      const player = random.chance(0.7) ? main : random.pick(this.#players);
      await this.#step(random, player, `${name}, step ${step}`);
    }
  }

  async #step(random: Random, player: Player, name: string): Promise<void> {
    const target = random.pick(this.#targets);
    const { zone, headers } = player;
    const url = this.#url(random, target, zone);
    const body = this.#body(random, target, zone, url);
    const before = process.cpuUsage();
    const answer = await this.#served.call(target.method, url, body, headers);
    const cpuMs = cpuMsSince(before);
    this.statuses.set(answer.status, (this.statuses.get(answer.status) ?? 0) + 1);
    const fault = this.#faultOf(target, answer, zone, `${url} ${body}`) ?? slowness(cpuMs);
    if (fault !== undefined)
      this.faults.push(`${name}: ${target.method} ${url} as ${zone} ${body?.slice(0, 500)}: ${fault}`);
    this.#retried.set(zone, (this.#retried.get(zone) ?? 0) + retriedBy(target, body, answer));
    if (answer.status < 300)
      for (const [kind, id] of idsIn(target, url, body, answer.body)) this.#remember(kind, { zone, ...id });
  }

  #faultOf(target: Described, answer: Answer, zone: Zone, asked: string): string | undefined {
    if (answer.status >= 500) return `${answer.status} ${answer.text.slice(0, 300)}`;
    const other = zone === "north" ? "south" : "north";
    if (answer.text.includes(other) && !asked.includes(other))
      return `shows something of ${other}: ${answer.text.slice(0, 500)}`;
    return this.#contract.fault(target, answer);
  }

  #url(random: Random, { path }: Described, zone: Zone): string {
    return path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const kind = kindOf(path, name);
      const known = this.#known.get(kind) ?? [];
      const own = known.filter((one) => one.zone === zone);
      // Agents and limits are whatever one calls them: under a name of the other zone they would be one's own.
      const isName = kind === "agent" || kind === "limit";
      const from = isName || (random.chance(0.85) && own.length > 0) ? own : known;
      const id = from.length > 0 ? random.pick(from).id : `${zone}-${random.int(1, 3)}`;
      return encodeURIComponent(id);
    });
  }

  #body(random: Random, target: Described, zone: Zone, url: string): string | undefined {
    const schema = Object.values(target.operation.requestBody?.content ?? {})[0]?.schema;
    if (!schema) return undefined;
    const made = bodyFor(target, { random, zone, url, known: this.#known });
    if (made !== undefined && random.chance(0.85)) return JSON.stringify(made);
    const seed = random.int(0, 2 ** 30);
    const { right, broken } = this.#arbitraries(target, schema);
    if (random.chance(0.5)) return fc.sample(broken, { numRuns: 1, seed })[0];
    return JSON.stringify(fc.sample(right, { numRuns: 1, seed })[0]);
  }

  /** Made once: that takes longer than everything else does. */
  #arbitraries({ method, path }: Described, schema: JsonSchema): Bodies {
    const known = this.#made.get(`${method} ${path}`);
    if (known) return known;
    const whole = this.#contract.whole(schema);
    const [{ id } = { id: "0195a6c2-6f0e-7c3a-9d1b-2f4e5a6b7c8d" }] = this.#known.get("task") ?? [];
    const made = { right: anyOfSchema(whole, [id]), broken: anyBody(whole, [id]) };
    this.#made.set(`${method} ${path}`, made);
    return made;
  }

  #remember(kind: Kind, one: { readonly zone: Zone; readonly id: string }): void {
    const known = this.#known.get(kind) ?? [];
    const others = known.filter(({ id }) => id !== one.id);
    this.#known.set(kind, [...others, one].slice(-MAX_KNOWN));
  }

  /** Ends whatever is open, and returns what does not add up then. */
  async settle(): Promise<string[]> {
    const wrong: string[] = [];
    for (const { id, session, zone } of this.#known.get("worker") ?? []) {
      for (const { headers } of this.#players.filter((one) => one.zone === zone))
        await this.#served.call("POST", `/worker/${encodeURIComponent(id)}/leave`, { session }, headers);
    }
    for (const zone of ZONES) {
      const call = (method: string, path: string) =>
        this.#served.call(method, `${API}${path}`, undefined, { "x-zone-id": zone });
      for (const { id } of await listed(call, "/schedules", "schedules"))
        await call("DELETE", `/schedules/${id}`);
      for (const { id } of await listed(call, "/webhooks", "webhooks"))
        await call("DELETE", `/webhooks/${id}`);
      for (const { id, status } of await allOf(call, "/runs", "runs"))
        if (status === "running") await call("POST", `/runs/${id}/cancel`);
      const open = await allOf(call, "/tasks?status=queued,running", "tasks");
      for (const { id } of open) await call("POST", `/task/${id}/cancel`);
      const counts = { queued: 0, running: 0, completed: 0, failed: 0, cancelled: 0 };
      for (const { status } of await allOf(call, "/tasks", "tasks")) counts[status as "queued"] += 1;
      const { totals } = (await call("GET", "/metrics")).body as { totals: typeof counts };
      const said = `${zone} counts ${JSON.stringify(totals)} and lists ${JSON.stringify(counts)}`;
      if (totals.queued + totals.running + counts.queued + counts.running > 0)
        wrong.push(`${said}, but should be idle`);
      const retried = this.#retried.get(zone) ?? 0;
      if (sum(totals) !== sum(counts) + retried) wrong.push(`${said}, where ${retried} were tried again`);
    }
    return wrong;
  }
}

/** How many tasks a request has put back. */
function retriedBy({ path }: Described, body: string | undefined, answer: Answer): number {
  if (answer.status >= 300) return 0;
  if (path.endsWith("/retry")) return 1;
  if (!path.endsWith("/tasks/bulk")) return 0;
  const { action } = JSON.parse(body as string) as BulkBody;
  return action === "retry" ? (answer.body as BulkAnswer).done : 0;
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((all, one) => all + one, 0);
}

function slowness(cpuMs: number): string | undefined {
  return cpuMs > MAX_CPU_MS ? `took ${cpuMs} ms` : undefined;
}

type Call = (method: string, path: string) => Promise<Answer>;
interface Listed {
  readonly id: string;
  readonly status: string;
}

async function listed(call: Call, path: string, name: string): Promise<readonly Listed[]> {
  const { body } = (await call("GET", path)) as { body: Readonly<Record<string, readonly Listed[]>> };
  return body[name] ?? [];
}

/** Page by page. */
async function allOf(call: Call, path: string, name: string): Promise<Listed[]> {
  const all: Listed[] = [];
  const first = `${path}${path.includes("?") ? "&" : "?"}limit=1000`;
  for (let url = first; ; ) {
    const { body } = (await call("GET", url)) as { body: Readonly<Record<string, unknown>> };
    all.push(...(body[name] as readonly Listed[]));
    if (typeof body["next"] !== "string") return all;
    url = `${first}&cursor=${encodeURIComponent(body["next"])}`;
  }
}
