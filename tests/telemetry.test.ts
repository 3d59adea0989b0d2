// Traces from a submission to the handler that runs it, through real processes and a collector on loopback.

import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { directoryWith, type Started, startOrrery } from "./cli.ts";
import { freshDatabase } from "./service.ts";
import { TraceCollector } from "./trace-collector.ts";

const KEY = "sk-telemetry-0123456789a-and-0123456789";
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER = "00f067aa0ba902b7";

/** Says which span is active in it. */
const TASKS = `
import { createRequire } from "node:module";
import { task } from "orrery/worker";
const { trace } = createRequire(${JSON.stringify(fileURLToPath(new URL("../package.json", import.meta.url)))})("@opentelemetry/api");
export const traced = task(() => {
  const { traceId, spanId, traceState } = trace.getActiveSpan().spanContext();
  return { traceId, spanId, state: traceState?.serialize() };
});
export const broken = task(() => {
  throw Object.assign(new Error("no way"), { code: "no-way", retry: false });
});
`;

class Processes implements AsyncDisposable {
  readonly #cwd: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #started: Started[] = [];

  constructor(cwd: string, env: Readonly<Record<string, string>>) {
    this.#cwd = cwd;
    this.#env = env;
  }

  start(...args: readonly string[]): Started {
    const started = startOrrery(this.#cwd, args, { ORRERY_API_KEY: KEY, ...this.#env });
    this.#started.push(started);
    return started;
  }

  async serve(store: string): Promise<Started & { readonly url: string }> {
    const started = this.start("serve", "--store", store, "--port", "0", "--json");
    const url = await new Promise<string>((resolve, reject) => {
      let said = "";
      started.child.stdout?.on("data", (chunk: string) => {
        said += chunk;
        const [, found] = /"url": "(.+?)"/.exec(said) ?? [];
        if (found !== undefined) resolve(found);
      });
      started.finished.then(({ stderr }) => reject(new Error(stderr)), reject);
    });
    return { ...started, url };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { child, finished } of this.#started.reverse()) {
      child.kill("SIGTERM");
      await finished;
    }
  }
}

async function submit(url: string, type: string, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(`${url}/api/v2/scheduler/submit`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ executor: "default", task_type: type }),
  });
  expect(response.status).toBe(201);
  return ((await response.json()) as { id: string }).id;
}

// biome-ignore lint/suspicious/noExplicitAny: the result is what the handler made it
async function ended(url: string, id: string): Promise<any> {
  const headers = { authorization: `Bearer ${KEY}` };
  for (;;) {
    const response = await fetch(`${url}/api/v2/scheduler/task/${id}?wait=20`, { headers });
    const task = (await response.json()) as { status: string };
    if (task.status === "completed" || task.status === "failed") return task;
  }
}

test("one trace leads from the caller by way of two servers, a kill and a take-over to the handler", {
  timeout: 120_000,
}, async () => {
  await using collector = await TraceCollector.open();
  const cwd = await directoryWith({ "tasks.mjs": TASKS });
  await using processes = new Processes(cwd, collector.env);
  const store = await freshDatabase();
  const leader = await processes.serve(store);
  const standby = await processes.serve(store);
  const traceparent = `00-${TRACE}-${CALLER}-01`;
  const id = await submit(standby.url, "traced", { traceparent, tracestate: "shop=7" });
  const untraced = await submit(standby.url, "traced", { traceparent: `${traceparent}x` });
  const broken = await submit(standby.url, "broken", { traceparent });
  const forward = await collector.span("forward", (span) => span.traceId === TRACE);
  const sent = await collector.span("submit traced", (span) => span.traceId === TRACE);
  // Spans are sent some at a time, and those that were not are lost with the process.
  await collector.span("submit traced", (span) => span.traceId !== TRACE);
  leader.child.kill("SIGKILL");
  await leader.finished;
  processes.start("worker", "--server", standby.url, "--tasks", "tasks.mjs", "--quiet");
  const { result } = await ended(standby.url, id);
  const processed = await collector.span("process traced", (span) => span.traceId === TRACE);

  expect(forward).toMatchObject({ service: "orrery-server", parentSpanId: CALLER });
  expect(sent).toMatchObject({ service: "orrery-server", parentSpanId: forward.spanId });
  expect(sent.attributes).toMatchObject({
    "messaging.system": "orrery",
    "messaging.operation.name": "submit",
    "messaging.operation.type": "send",
    "messaging.destination.name": "default",
    "orrery.task.type": "traced",
  });
  expect(processed).toMatchObject({ service: "orrery-worker", parentSpanId: sent.spanId });
  expect(processed.links).toMatchObject([{ traceId: TRACE, spanId: sent.spanId }]);
  expect(processed.attributes).toMatchObject({
    "messaging.operation.type": "process",
    "messaging.message.id": id,
    "orrery.attempt": expect.anything(),
  });
  expect(result).toEqual({ traceId: TRACE, spanId: processed.spanId, state: "shop=7" });
  const commit = await collector.span("commit");
  expect(Number(commit.attributes["orrery.commit.events"])).toBeGreaterThan(0);

  const other = (await ended(standby.url, untraced)).result.traceId as string;
  expect(other).not.toBe(TRACE);
  await collector.span("submit traced", (span) => span.traceId === other);
  await ended(standby.url, broken);
  const failed = await collector.span("process broken");
  expect(failed).toMatchObject({ traceId: TRACE, status: { code: 2, message: "no way" } });
  expect(failed.attributes["error.type"]).toBe("no-way");
});

test("without its package --otel says what to install", { timeout: 60_000 }, async () => {
  const cwd = await directoryWith({
    "hooks.mjs": `export async function resolve(name, context, next) {
      if (!name.startsWith("@opentelemetry/sdk-node")) return next(name, context);
      throw Object.assign(new Error("not there"), { code: "ERR_MODULE_NOT_FOUND" });
    }`,
    "register.mjs": 'import { register } from "node:module"; register("./hooks.mjs", import.meta.url);',
  });
  const NODE_OPTIONS = `--import=${cwd}/register.mjs`;
  for (const args of [
    ["serve", "--store", "memory", "--otel"],
    ["worker", "--otel", "--key", "k"],
  ]) {
    const { child, finished } = startOrrery(cwd, args, { NODE_OPTIONS });
    await once(child, "close");
    const { code, stderr } = await finished;
    expect([code, stderr]).toEqual([2, expect.stringContaining("npm install @opentelemetry/sdk-node@0.223")]);
  }
});
