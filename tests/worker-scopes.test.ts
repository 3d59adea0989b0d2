// What one worker can do to the work of others, over real HTTP connections.

import { afterEach, beforeEach, expect, test } from "vitest";
import { graph, OrreryClient } from "../src/client/index.ts";
import { ADMIN_KEY, type Answer, type RequestOptions, TestService } from "./service.ts";

const SHA = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const IDLE = { attempts: [] };

let service: TestService;
let client: OrreryClient;
beforeEach(async () => {
  service = await TestService.start("memory");
  client = new OrreryClient({ url: service.server.url, key: ADMIN_KEY });
});
afterEach(async () => {
  await service[Symbol.asyncDispose]();
});

/** A worker by HTTP, whose every word is ours. */
class Hand {
  readonly id: string;
  readonly session: string;
  readonly options: RequestOptions;

  constructor(id: string, options: RequestOptions = {}, session = `session of ${id}`) {
    this.id = id;
    this.options = options;
    this.session = session;
  }

  register(fields: Readonly<Record<string, unknown>> = {}): Promise<Answer> {
    const registration = {
      protocol: 1,
      id: this.id,
      session: this.session,
      executors: ["default"],
      types: ["t"],
      cpu_millicores: 1_000_000,
      memory_bytes: 2 ** 40,
      slots: 1,
      ...fields,
    };
    return service.post("/worker/register", { registration, heartbeat: IDLE }, this.options);
  }

  say(what: string, body: object = {}): Promise<Answer> {
    return service.post(`/worker/${this.id}/${what}`, { session: this.session, ...body }, this.options);
  }

  /** The next assignment. */
  async next(attempts: readonly object[] = []) {
    const { body } = await this.say("poll?wait=10", { heartbeat: { attempts } });
    return body.assignments[0];
  }

  report(given: { task: string; attempt: number }, rest: object): Promise<Answer> {
    const { task, attempt } = given;
    return this.say("report", { report: { task, attempt, started_at: 1, ...rest } });
  }
}

async function eventsOf(kind: string): Promise<unknown[][]> {
  const { body } = await service.get("ledger");
  const blocks = String(body).trimEnd().split("\n");
  return blocks.flatMap((line) => JSON.parse(line).events).filter(([name]) => name === kind);
}

test("[F22] a stale report that an input is missing changes nothing", async () => {
  const [holder, reader] = [new Hand("holder"), new Hand("reader")];
  await holder.register({ types: ["make"], data_url: "http://127.0.0.1:1" });
  await reader.register({ types: ["use"], data_url: "http://127.0.0.1:2" });
  const g = graph();
  await client.start(g, g.with({ retries: 3 }).task("use", g.task("make")));
  const made = await holder.next();
  const chunk = { kind: "bytes", bytes: 100_000, sha256: SHA };
  expect((await holder.report(made, { type: "finished", chunk })).body).toEqual({ accepted: true });
  const first = await reader.next();
  const missing = [{ chunk: first.data.inputs[0].chunk, worker: "holder" }];
  const failed = { type: "failed", code: "x", message: "x" };
  expect((await reader.report(first, failed)).body).toEqual({ accepted: true });
  const second = await reader.next();
  expect(second).toMatchObject({ task: first.task, attempt: 2 });
  const stale = await reader.report(first, { ...failed, code: "input-missing", missing });
  expect(stale.body).toEqual({ accepted: false, code: "stale" });
  expect(await eventsOf("ChunkLost")).toEqual([]);
  expect((await reader.report(second, { ...failed, code: "input-missing", missing })).body.accepted).toBe(
    true,
  );
  expect(await eventsOf("ChunkLost"), "that of the current attempt counts").toHaveLength(1);
});

test("[S-26.records] a refused report names task, attempt, worker and reason in the ledger", async () => {
  const worker = new Hand("w1");
  await worker.register();
  const { body } = await service.submit({ executor: "default", task_type: "t" });
  const given = await worker.next();
  const finished = { type: "finished", result: 1 };
  expect((await worker.report(given, finished)).body).toEqual({ accepted: true });
  // The scheduler has forgotten the task by now.
  expect((await worker.report(given, finished)).body.accepted).toBe(false);
  expect(await eventsOf("ReportRefused")).toEqual([
    ["ReportRefused", -1, 0, 1, "AttemptFinished", "unknown", body.id, 0],
  ]);
  const { body: past } = await service.get("ledger/events?kind=ReportRefused");
  expect(past.events).toMatchObject([{ task_id: body.id, worker_id: "w1", data: { attempt: 1 } }]);
});
