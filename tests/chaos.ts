// A service under fire: real processes, killed with SIGKILL at random moments, while clients go on submitting.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openEmbedded } from "../src/store/embedded/cluster.ts";
import { MAIN } from "./cli.ts";
import { testDataDir } from "./postgres.ts";
import { runSiege, type Siege, seededRandom } from "./siege.ts";

const KEY = "sk-chaos-0123456789abcdef-and-0123456789";
const SECRET = "the secret that servers of tests share";
const PORT = 20_261;
const SERVER = `http://127.0.0.1:${PORT}`;
const API = `${SERVER}/api/v2/scheduler`;

/** Writes what it does where only a killed disk could lose it, so that a second completion would show. */
const TASKS = `
import { appendFileSync } from "node:fs";
import { task } from "orrery/worker";
export const work = task(async ({ n, ms, file }, { attempt }) => {
  await new Promise((done) => setTimeout(done, ms));
  appendFileSync(file, n + " " + attempt + "\\n");
  return { n };
});
`;

export interface ChaosPlan {
  readonly clients: number;
  readonly workers: number;
  readonly serverKills: number;
  readonly postgresKills: number;
  readonly workerKills: number;
  /** Of the moments and victims. */
  readonly seed: number;
}

export interface ChaosReport {
  /** Ids that the server acknowledged, with the number in their payload. */
  readonly acknowledged: ReadonlyMap<string, number>;
  readonly storeUrl: string;
  /** How often each number was completed by a worker, accepted or not. */
  readonly completions: ReadonlyMap<number, number>;
  /** Milliseconds from the return of PostgreSQL to the next accepted submission. */
  readonly recoveriesMs: readonly number[];
  readonly kills: { readonly server: number; readonly postgres: number; readonly worker: number };
  close(): Promise<void>;
}

export function runChaos(plan: ChaosPlan): Promise<ChaosReport> {
  return runSiege(new Fire(plan));
}

class Fire implements Siege<ChaosReport> {
  readonly #plan: ChaosPlan;
  readonly #random: () => number;
  readonly #acknowledged = new Map<string, number>();
  readonly #recoveriesMs: number[] = [];
  readonly #workers: ChildProcess[] = [];
  #server: ChildProcess | undefined;
  #directory = "";
  #dataDir = "";
  #storeUrl = "";
  #database: AsyncDisposable | undefined;
  #postgresBackAt = 0;
  #acknowledgedBefore = 0;
  #isOver = false;
  #closed = false;
  readonly #kills = { server: 0, postgres: 0, worker: 0 };

  constructor(plan: ChaosPlan) {
    this.#plan = plan;
    this.#random = seededRandom(plan.seed);
  }

  async begin(): Promise<void> {
    this.#directory = await mkdtemp(join(tmpdir(), "orrery-chaos-"));
    await writeFile(join(this.#directory, "tasks.mjs"), TASKS);
    await writeFile(this.#file, "");
    this.#dataDir = await testDataDir();
    await this.#startPostgres();
    this.#startServer();
    await this.#ready();
    for (let at = 0; at < this.#plan.workers; at++) this.#startWorker(at);
  }

  /** Each client goes on until the killing is over, and insists on an answer for each task, whatever happens. */
  async submitAll(): Promise<void> {
    const client = async (of: number) => {
      for (let n = of; !this.#isOver; n += this.#plan.clients) {
        this.#acknowledged.set(await this.#submit(n), n);
        await sleep(this.#random() * 30);
      }
    };
    await Promise.all(Array.from({ length: this.#plan.clients }, (_, of) => client(of)));
  }

  stopSubmitting(): void {
    this.#isOver = true;
  }

  async failAll(): Promise<void> {
    const { serverKills, postgresKills, workerKills } = this.#plan;
    const victims = [
      ...Array.from({ length: serverKills }, () => "server" as const),
      ...Array.from({ length: postgresKills }, () => "postgres" as const),
      ...Array.from({ length: workerKills }, () => "worker" as const),
    ];
    for (let at = victims.length - 1; at > 0; at--) {
      const other = Math.floor(this.#random() * (at + 1));
      [victims[at], victims[other]] = [victims[other] as "server", victims[at] as "server"];
    }
    for (const victim of victims) {
      await sleep(50 + this.#random() * 600);
      // Nothing is learnt from killing what has not yet come back.
      if (victim !== "worker") await this.#untilAcknowledged();
      await this.#kill(victim);
      this.#acknowledgedBefore = this.#acknowledged.size;
    }
  }

  async untilDone(): Promise<void> {
    for (const deadline = Date.now() + 120_000; ; ) {
      const counts = await this.#metrics();
      if (counts && counts.queued + counts.running === 0) return;
      if (Date.now() > deadline) throw new Error(`not done in time: ${JSON.stringify(counts)}`);
      await sleep(200);
    }
  }

  report(): ChaosReport {
    const completions = new Map<number, number>();
    for (const line of readFileSync(this.#file, "utf8").split("\n").filter(Boolean)) {
      const n = Number(line.split(" ")[0]);
      completions.set(n, (completions.get(n) ?? 0) + 1);
    }
    return {
      acknowledged: this.#acknowledged,
      storeUrl: this.#storeUrl,
      completions,
      recoveriesMs: this.#recoveriesMs,
      kills: this.#kills,
      close: () => this.close(),
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const child of [this.#server, ...this.#workers]) {
      if (child && child.exitCode === null && child.signalCode === null) {
        child.kill("SIGKILL");
        await once(child, "exit");
      }
    }
    await this.#database?.[Symbol.asyncDispose]();
  }

  get #file(): string {
    return join(this.#directory, "done.txt");
  }

  async #kill(victim: "server" | "postgres" | "worker"): Promise<void> {
    this.#kills[victim]++;
    if (victim === "server") {
      await this.#end(this.#server as ChildProcess);
      this.#startServer();
    } else if (victim === "worker") {
      const at = Math.floor(this.#random() * this.#workers.length);
      await this.#end(this.#workers[at] as ChildProcess);
      this.#startWorker(at);
    } else {
      const pid = readFileSync(join(this.#dataDir, "postgres", "postmaster.pid"), "utf8").split("\n")[0];
      process.kill(Number(pid), "SIGKILL");
      await sleep(100 + this.#random() * 400);
      await this.#stopPostgres();
      await this.#startPostgres();
      this.#postgresBackAt = performance.now();
    }
  }

  async #untilAcknowledged(): Promise<void> {
    for (let tries = 0; tries < 200 && this.#acknowledged.size === this.#acknowledgedBefore; tries++)
      await sleep(50);
  }

  async #end(child: ChildProcess): Promise<void> {
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  async #startPostgres(): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        const database = await openEmbedded({ dataDir: this.#dataDir });
        this.#database = database;
        this.#storeUrl = database.url;
        return;
      } catch (error) {
        if (tries === 20) throw error;
        await sleep(250);
      }
    }
  }

  async #stopPostgres(): Promise<void> {
    try {
      await this.#database?.[Symbol.asyncDispose]();
    } catch {
      // It is dead already.
    }
  }

  #startServer(): void {
    const args = [
      "serve",
      "--port",
      String(PORT),
      "--strict-port",
      "--store",
      this.#storeUrl,
      "--lease",
      "3",
      // Its successor waits for so long, because it might be alive.
      "--takeover",
      "0.2",
    ];
    this.#server = this.#start("server", [...args, "--fair-share", "1000"]);
  }

  #startWorker(at: number): void {
    const args = ["worker", "--server", SERVER, "--tasks", join(this.#directory, "tasks.mjs")];
    this.#workers[at] = this.#start(`worker ${at}`, [...args, "--slots", "8", "--quiet"]);
  }

  #start(name: string, args: readonly string[]): ChildProcess {
    const child = spawn(process.execPath, [MAIN, ...args], {
      env: { ...process.env, ORRERY_API_KEY: KEY, ORRERY_SECRET: SECRET },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      said = (said + chunk).slice(-4000);
    });
    child.on("exit", (code, signal) => {
      if (!this.#closed && signal !== "SIGKILL") {
        process.stderr.write(`${name} ended by itself (${code ?? signal}): ${said}\n`);
      }
    });
    return child;
  }

  async #ready(): Promise<void> {
    for (let tries = 0; tries < 200; tries++) {
      const answer = await fetch(`${SERVER}/readyz`).catch(() => undefined);
      if (answer?.ok) return;
      await sleep(50);
    }
    throw new Error("the server does not become ready");
  }

  async #submit(n: number): Promise<string> {
    const body = JSON.stringify({
      executor: "default",
      task_type: "work",
      payload: { n, ms: Math.floor(this.#random() * 40), file: this.#file },
      estimated_service_time: 1 + (n % 7),
      priority: ["critical", "high", "normal", "low", "best_effort"][n % 5],
      idempotency_key: `chaos-${n}`,
      max_attempts: 100,
      retry_backoff: 0.05,
    });
    for (;;) {
      const answer = await fetch(`${API}/submit`, {
        method: "POST",
        body,
        headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
        signal: AbortSignal.timeout(5000),
      }).catch(() => undefined);
      if (answer?.status === 201 || answer?.status === 200) {
        const task = (await answer.json().catch(() => undefined)) as { id: string } | undefined;
        if (task) {
          this.#noteRecovery();
          return task.id;
        }
      } else if (answer && answer.status !== 503 && answer.status !== 429) {
        throw new Error(`unexpected answer ${answer.status}: ${await answer.text()}`);
      }
      await sleep(50);
    }
  }

  #noteRecovery(): void {
    if (this.#postgresBackAt === 0) return;
    this.#recoveriesMs.push(performance.now() - this.#postgresBackAt);
    this.#postgresBackAt = 0;
  }

  async #metrics(): Promise<{ queued: number; running: number } | undefined> {
    const answer = await fetch(`${API}/metrics`, {
      headers: { authorization: `Bearer ${KEY}` },
      signal: AbortSignal.timeout(5000),
    }).catch(() => undefined);
    if (!answer?.ok) return undefined;
    const { totals } = (await answer.json()) as { totals: { queued: number; running: number } };
    return totals;
  }
}
