// The attacks of the security review on a server with a heap of 512 MiB, while another key submits 100 tasks a second. With
// ATTACK=long each of them takes five minutes on PostgreSQL and one on memory; ATTACK_SECONDS makes them shorter. They
// measure, so nothing else should run meanwhile. Every attack gets a server of its own, and prints its figures.

import { once } from "node:events";
import { chmod } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { compileAttacks, runAttack } from "./attack-process.ts";
import { submitSteadily } from "./attacks/honest.ts";
import type { AttackName } from "./attacks/main.ts";
import { directoryWith } from "./cli.ts";
import { SERVER_KEY, type ServerProcess, startServerProcess } from "./server-process.ts";
import { BACKENDS, type Backend } from "./service.ts";

const SECONDS_ON = {
  memory: Number(process.env["ATTACK_SECONDS"] ?? 60),
  postgresql: Number(process.env["ATTACK_SECONDS"] ?? 300),
};
const ATTACKED_ZONE = "attacked";
const MIB = 2 ** 20;
const ATTACKS: readonly AttackName[] = [
  "F2 heavy tasks",
  "F5 bodies under Upgrade",
  "F6 registrations",
  "F7 YAML",
  "F7 bodies of 64 MiB",
  "F7 histories",
  "F8 slow readers",
  "F17 idle connections",
];

/** A server with a heap of 512 MiB on a PostgreSQL of its own. */
class AttackedServer implements AsyncDisposable {
  readonly #folder: string;
  #server: ServerProcess;
  readonly #isInMemory: boolean;

  static async start(store: Backend): Promise<AttackedServer> {
    const folder = await directoryWith({});
    // PostgreSQL runs as another user where the tests run as root.
    await chmod(folder, 0o711);
    return new AttackedServer(folder, store === "memory", await open(folder, store === "memory"));
  }

  private constructor(folder: string, isInMemory: boolean, server: ServerProcess) {
    this.#folder = folder;
    this.#isInMemory = isInMemory;
    this.#server = server;
  }

  get url(): string {
    return this.#server.url;
  }

  get hasEnded(): boolean {
    return this.#server.child.exitCode !== null || this.#server.child.signalCode !== null;
  }

  get said(): string {
    return this.#server.said();
  }

  async newKey(scopes: readonly string[], zone: string): Promise<string> {
    const body = JSON.stringify({ name: zone, scopes, zones: [zone], agents: ["*"] });
    const headers = { ...authorization, "content-type": "application/json" };
    const answer = await fetch(`${this.url}/api/v2/scheduler/keys`, { method: "POST", headers, body });
    return ((await answer.json()) as { readonly secret: string }).secret;
  }

  /** Collects garbage. Returns the memory that is left, in MiB. */
  async held(): Promise<Record<"heap" | "external" | "rss" | "cpuSeconds", number>> {
    this.#server.child.kill("SIGUSR2");
    await new Promise((resolve) => setTimeout(resolve, 500));
    const answer = await fetch(`${this.url}/metrics`, { headers: authorization });
    const text = await answer.text();
    const gauge = (name: string): number => {
      const found = new RegExp(`^orrery_process_${name}_bytes (\\S+)$`, "m").exec(text)?.[1];
      return Math.round(Number(found) / MIB);
    };
    return {
      heap: gauge("heap_used"),
      external: gauge("external_memory"),
      rss: gauge("resident_memory"),
      cpuSeconds: Number(/^orrery_process_cpu_seconds_total (\S+)$/m.exec(text)?.[1]),
    };
  }

  /** Returns the time from the start of the process until it is ready, in ms. */
  async restart(): Promise<number> {
    await this.#end("SIGTERM");
    const startedMs = performance.now();
    this.#server = await open(this.#folder, this.#isInMemory);
    return performance.now() - startedMs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end("SIGTERM");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.hasEnded) return;
    const ended = once(this.#server.child, "exit");
    this.#server.child.kill(signal);
    await ended;
  }
}

const authorization = { authorization: `Bearer ${SERVER_KEY}` };

async function open(folder: string, isInMemory: boolean): Promise<ServerProcess> {
  const collect = new URL("collect-on-signal.mjs", import.meta.url);
  const server = await startServerProcess(
    folder,
    [...(isInMemory ? ["--store", "memory"] : ["--data", "data"]), "--log-level", "warn"],
    { NODE_OPTIONS: `--max-old-space-size=512 --import ${collect}` },
  );
  await expect.poll(async () => (await fetch(`${server.url}/readyz`)).status).toBe(200);
  return server;
}

let main: string;
beforeAll(async () => {
  main = await compileAttacks();
});

describe.skipIf(process.env["ATTACK"] !== "long").each(BACKENDS)("on %s", (store) => {
  const seconds = SECONDS_ON[store];
  test.each(["none" as const, ...ATTACKS])(
    "[S-26.siege] %s: others keep submitting within 100 ms, memory stays flat, and a restart takes its usual time",
    async (attack) => {
      await using server = await AttackedServer.start(store);
      await submitFor({ url: server.url, key: SERVER_KEY }, Math.min(10, seconds / 4));
      const before = await server.restart();
      const target = { url: server.url, key: await server.newKey(["submit"], "honest") };
      const key = await server.newKey(["submit", "read", "work"], ATTACKED_ZONE);
      const attacked = runAttack(main, {
        attack,
        url: server.url,
        key,
        zone: ATTACKED_ZONE,
        ms: (seconds + 5) * 1000,
      });
      const first = await submitFor(target, seconds / 2);
      const middle = await server.held();
      const second = await submitFor(target, seconds / 2);
      const end = await server.held();
      const outcome = await attacked;
      expect(server.hasEnded, server.said).toBe(false);
      const after = await server.restart();
      const figures = {
        attack,
        store,
        p50: [first.quantile(0.5), second.quantile(0.5)].map(Math.round),
        p99: [first.quantile(0.99), second.quantile(0.99)].map(Math.round),
        worst: [first.quantile(1), second.quantile(1)].map(Math.round),
        failed: [first.failed, second.failed],
        middle,
        end,
        restart: [before, after].map(Math.round),
        outcome,
      };
      process.stdout.write(`${JSON.stringify(figures)}\n`);
      expect([first.failed, second.failed]).toEqual([{}, {}]);
      expect(first.quantile(0.99)).toBeLessThanOrEqual(100);
      expect(second.quantile(0.99)).toBeLessThanOrEqual(100);
      expect(end.heap).toBeLessThan(1.2 * middle.heap + 8);
      expect(after).toBeLessThan(1.5 * before + 500);
    },
    (seconds + 120) * 1000,
  );
});

async function submitFor(target: { readonly url: string; readonly key: string }, seconds: number) {
  return await submitSteadily(target, { perSecond: 100 }, AbortSignal.timeout(seconds * 1000));
}
