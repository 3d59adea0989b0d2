// Two servers on one PostgreSQL, whose leader is killed or stopped again and again while clients go on submitting.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, writeFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Embedded, openEmbedded } from "../src/store/embedded/cluster.ts";
import { PostgresStore } from "../src/store/postgres/store.ts";
import { MAIN } from "./cli.ts";
import { testDataDir } from "./postgres.ts";
import { runSiege, type Siege, seededRandom } from "./siege.ts";

const KEY = "sk-cluster-0123456789abcdef-and-0123456789";
const SECRET = "the secret that servers of tests share";
const TASKS = `
import { task } from "orrery/worker";
export const work = task(({ n }) => ({ n }));
`;

export interface FaultPlan {
  readonly kills: number;
  readonly stops: number;
  readonly submitsPerS: number;
  /** After so much silence a leader counts as dead. */
  readonly leaseMs: number;
  /** The longest time between two faults. */
  readonly pauseMs: number;
  /** Tasks that nobody serves, submitted before all else. */
  readonly waiting: number;
  /** Of the moments and the order of faults. */
  readonly seed: number;
}

export interface FaultReport {
  readonly storeUrl: string;
  /** Ids that were acknowledged, with how often each was. */
  readonly acknowledged: ReadonlyMap<string, number>;
  /** From the fault to the head of the next epoch, and to the next acknowledged submission. */
  readonly faults: readonly {
    readonly kind: "kill" | "stop";
    readonly ledMs: number;
    readonly servedMs: number;
  }[];
  readonly submitsPerS: number;
  close(): Promise<void>;
}

export function runFaults(plan: FaultPlan): Promise<FaultReport> {
  return runSiege(new Pair(plan));
}

interface Server {
  readonly url: string;
  readonly port: number;
  process: ChildProcess;
}

class Pair implements Siege<FaultReport> {
  readonly #plan: FaultPlan;
  readonly #random: () => number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 256 });
  readonly #acknowledged = new Map<string, number>();
  readonly #faults: { kind: "kill" | "stop"; ledMs: number; servedMs: number }[] = [];
  readonly #servers: Server[] = [];
  readonly #workers: ChildProcess[] = [];
  #database: Embedded | undefined;
  #store: PostgresStore | undefined;
  #directory = "";
  #lastAckMs = 0;
  #beganMs = 0;
  #endedMs = 0;
  #isOver = false;
  #closed = false;

  constructor(plan: FaultPlan) {
    this.#plan = plan;
    this.#random = seededRandom(plan.seed);
  }

  async begin(): Promise<void> {
    this.#directory = await mkdtemp(join(tmpdir(), "orrery-cluster-"));
    await writeFile(join(this.#directory, "tasks.mjs"), TASKS);
    this.#database = await openEmbedded({ dataDir: await testDataDir() });
    for (let at = 0; at < 2; at++) {
      const port = await freePort();
      this.#servers.push({ url: `http://127.0.0.1:${port}`, port, process: this.#startServer(port) });
      await this.#untilRole(at, ["leader", "follower"]);
    }
    this.#store = await PostgresStore.open({ url: this.#database.url });
    for (const { url } of this.#servers) this.#startWorker(url);
    await this.#fill();
  }

  /** Each client goes on until the faults are over, and insists on an answer, asking one server and then the other. */
  async submitAll(): Promise<void> {
    const clients = 48;
    const pauseMs = (clients * 1000) / this.#plan.submitsPerS;
    this.#beganMs = performance.now();
    const client = async (of: number) => {
      for (let n = of, dueMs = performance.now(); !this.#isOver; n += clients) {
        dueMs = Math.max(dueMs + pauseMs, performance.now() - 1000);
        await sleep(Math.max(0, dueMs - performance.now()));
        const id = await this.#insist(n);
        this.#acknowledged.set(id, (this.#acknowledged.get(id) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: clients }, (_, of) => client(of)));
    this.#endedMs = performance.now();
  }

  stopSubmitting(): void {
    this.#isOver = true;
  }

  async failAll(): Promise<void> {
    const kinds = [
      ...Array.from({ length: this.#plan.kills }, () => "kill" as const),
      ...Array.from({ length: this.#plan.stops }, () => "stop" as const),
    ];
    for (let at = kinds.length - 1; at > 0; at--) {
      const other = Math.floor(this.#random() * (at + 1));
      [kinds[at], kinds[other]] = [kinds[other] as "kill", kinds[at] as "kill"];
    }
    for (const kind of kinds) {
      await sleep(100 + this.#random() * this.#plan.pauseMs);
      await this.#fail(kind);
    }
  }

  async untilDone(): Promise<void> {
    for (const deadline = Date.now() + 180_000; ; ) {
      const answer = await this.#ask(0, "GET", "/metrics").catch(() => undefined);
      const { totals } = JSON.parse(answer?.text ?? "{}") as { totals?: { queued: number; running: number } };
      if (answer?.status === 200 && totals && totals.queued + totals.running === this.#plan.waiting) return;
      if (Date.now() > deadline) throw new Error(`not done in time: ${answer?.status} ${answer?.text}`);
      await sleep(200);
    }
  }

  report(): FaultReport {
    return {
      storeUrl: this.#database?.url ?? "",
      acknowledged: this.#acknowledged,
      faults: this.#faults,
      submitsPerS: (this.#acknowledged.size * 1000) / (this.#endedMs - this.#beganMs),
      close: () => this.close(),
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#isOver = true;
    for (const child of [...this.#servers.map(({ process: server }) => server), ...this.#workers]) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    this.#agent.destroy();
    await this.#store?.[Symbol.asyncDispose]();
    await this.#database?.[Symbol.asyncDispose]();
  }

  async #fail(kind: "kill" | "stop"): Promise<void> {
    const at = await this.#leader();
    const server = this.#servers[at] as Server;
    const { epoch } = await this.#head();
    const startedMs = performance.now();
    server.process.kill(kind === "kill" ? "SIGKILL" : "SIGSTOP");
    while ((await this.#head()).epoch === epoch) {
      if (performance.now() - startedMs > 60_000) throw new Error("nobody takes over");
      await sleep(10);
    }
    const ledMs = performance.now() - startedMs;
    this.#lastAckMs = 0;
    while (this.#lastAckMs === 0) {
      if (performance.now() - startedMs > 60_000) throw new Error("nobody serves");
      await sleep(5);
    }
    this.#faults.push({ kind, ledMs, servedMs: this.#lastAckMs - startedMs });
    if (kind === "stop") {
      await sleep(this.#random() * this.#plan.pauseMs);
      server.process.kill("SIGCONT");
    } else {
      if (server.process.exitCode === null && server.process.signalCode === null)
        await once(server.process, "exit");
      server.process = this.#startServer(server.port);
    }
    await this.#untilRole(at, ["follower"]);
  }

  async #head(): Promise<{ epoch: number; url: string }> {
    return await (this.#store as PostgresStore).leadership();
  }

  async #leader(): Promise<number> {
    const { url } = await this.#head();
    return this.#servers.findIndex((server) => server.url === url);
  }

  async #untilRole(at: number, roles: readonly string[]): Promise<void> {
    const { url } = this.#servers[at] as Server;
    for (let tries = 0; tries < 600; tries++) {
      const answer = await fetch(`${url}/readyz`, {
        headers: { authorization: `Bearer ${KEY}` },
        signal: AbortSignal.timeout(5000),
      }).catch(() => undefined);
      const { role } = ((await answer?.json().catch(() => ({}))) ?? {}) as { role?: string };
      if (answer?.ok && roles.includes(role ?? "")) return;
      await sleep(100);
    }
    throw new Error(`${url} is not ${roles.join(" or ")} in time`);
  }

  async #fill(): Promise<void> {
    for (let at = 0; at < this.#plan.waiting; at += 10_000) {
      const count = Math.min(10_000, this.#plan.waiting - at);
      const tasks = Array.from({ length: count }, (_, of) => ({
        executor: "nobody",
        task_type: "wait",
        idempotency_key: `waiting-${at + of}`,
      }));
      const answer = await this.#ask(0, "POST", "/submit/batch", JSON.stringify({ tasks }));
      if (answer.status >= 300) throw new Error(`unexpected answer ${answer.status}: ${answer.text}`);
    }
  }

  async #insist(n: number): Promise<string> {
    const body = JSON.stringify({
      executor: "default",
      task_type: "work",
      payload: { n },
      idempotency_key: `cluster-${n}`,
      max_attempts: 100,
      retry_backoff: 0.05,
    });
    for (let at = n % 2; ; ) {
      const answer = await this.#ask(at, "POST", "/submit", body).catch(() => undefined);
      // Whoever answers that nobody leads is alive, and the one to ask again.
      if (!answer) at = 1 - at;
      if (answer?.status === 201 || answer?.status === 200) {
        this.#lastAckMs = performance.now();
        return (JSON.parse(answer.text) as { id: string }).id;
      }
      if (answer && answer.status !== 503 && answer.status !== 429)
        throw new Error(`unexpected answer ${answer.status}: ${answer.text}`);
      if (this.#closed) throw new Error("closed");
      await sleep(50);
    }
  }

  #ask(at: number, method: string, path: string, body = ""): Promise<{ status: number; text: string }> {
    const { port } = this.#servers[at] as Server;
    return new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${KEY}`,
        ...(body !== "" && { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
      };
      const to = { port, method, path: `/api/v2/scheduler${path}`, headers, agent: this.#agent };
      const outgoing = request({
        ...to,
        host: "127.0.0.1",
        signal: AbortSignal.timeout(path === "/submit" ? 2_000 : 60_000),
      });
      outgoing.on("error", reject);
      outgoing.on("response", (answer) => {
        let text = "";
        answer.setEncoding("utf8");
        answer.on("data", (part: string) => {
          text += part;
        });
        answer.on("error", reject);
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text }));
      });
      outgoing.end(body);
    });
  }

  #startServer(port: number): ChildProcess {
    const { leaseMs } = this.#plan;
    const where = ["--port", String(port), "--strict-port", "--store", this.#database?.url ?? ""];
    const more = ["--takeover", String(leaseMs / 1000), "--fair-share", "100000", "--prefetch", "64"];
    return this.#start(["serve", ...where, ...more]);
  }

  #startWorker(url: string): void {
    const args = ["worker", "--server", url, "--tasks", join(this.#directory, "tasks.mjs")];
    this.#workers.push(this.#start([...args, "--slots", "32", "--quiet"]));
  }

  #start(args: readonly string[]): ChildProcess {
    const child = spawn(process.execPath, [MAIN, ...args], {
      env: { ...process.env, ORRERY_API_KEY: KEY, ORRERY_SECRET: SECRET },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      said = (said + chunk).slice(-4000);
    });
    child.on("exit", (code, signal) => {
      if (!this.#closed && signal !== "SIGKILL")
        process.stderr.write(`${args[0]} ended by itself (${code ?? signal}): ${said}\n`);
    });
    return child;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
