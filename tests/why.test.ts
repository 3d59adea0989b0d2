import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { decodeEvent } from "../src/ledger/index.ts";
import { takeFact } from "../src/simulator/facts.ts";
import { Model } from "../src/simulator/model.ts";
import { isWaiting, type ModelTask } from "../src/simulator/model-tasks.ts";
import { obstaclesFor } from "../src/simulator/oracle.ts";
import { trueLine, trueReasons } from "../src/simulator/true-reasons.ts";
import { task, WebSocketTransport, Worker } from "../src/worker/index.ts";
import { ADMIN_KEY, TestService } from "./service.ts";

let service: TestService;
const workers: { readonly worker: Worker; readonly ended: Promise<void> }[] = [];
let endAll = () => {};
const ending = new Promise<void>((resolve) => {
  endAll = resolve;
});

const handlers = {
  quick: task(() => "done"),
  long: task((_, { signal }) => Promise.race([ending, once(signal, "abort")])),
};

function join(id: string, executor: string, slots: number): void {
  const worker = new Worker({
    transport: new WebSocketTransport({ url: service.server.url, key: ADMIN_KEY }),
    handlers,
    registration: {
      id,
      zone: "default",
      executors: [executor],
      capabilities: [],
      cpu_millicores: 1_000 * slots,
      memory_bytes: 2 ** 30,
      slots,
    },
  });
  workers.push({ worker, ended: worker.run() });
}

const submit = async (
  executor: string,
  body: object = {},
  agent = "ann",
  zone = "default",
): Promise<string> => {
  const asked = { executor, task_type: "long", estimated_service_time: 60, ...body };
  const { status, body: made } = await service.submit(asked, { agent, zone });
  expect(status, JSON.stringify(made)).toBeLessThan(300);
  return made.id;
};

const runs = (id: string) =>
  expect.poll(async () => (await service.get(`task/${id}`)).body.status, { timeout: 20_000 }).toBe("running");

/** What must be true, built from the ledger as the server gives it, with no code of the scheduler. */
async function modelOfLedger(): Promise<Model> {
  const model = new Model();
  for (const line of (await service.get("ledger")).body.trim().split("\n") as string[]) {
    const { events, now } = JSON.parse(line) as { events: unknown[]; now: number };
    for (const event of events) takeFact(model, decodeEvent(event), now);
  }
  return model;
}

beforeAll(async () => {
  service = await TestService.start("memory");
  join("busy-1", "busy", 1);
  join("idle-1", "idle", 8);
  join("leaving-1", "leaving", 1);
});

afterAll(async () => {
  endAll();
  for (const { worker } of workers) worker.drain();
  await Promise.all(workers.map(({ ended }) => ended));
  await service[Symbol.asyncDispose]();
});

test("every reason that a server gives for a wait, with real workers, is what its ledger shows to be true", {
  timeout: 120_000,
}, async () => {
  join("paused-1", "paused", 1);
  const joined = async () => (await service.get("workers")).body.workers.length;
  await expect.poll(joined, { timeout: 20_000 }).toBe(4);
  // One that has nothing leaves when it is to drain.
  const last = await submit("leaving");
  await runs(last);
  await service.post("workers/leaving-1/drain");
  await service.post("pause", { executor: "paused" });
  await service.put("agents/zed", { max_concurrent: 0 });
  await service.put("limits/shut", { concurrency: 0 });
  await service.put("limits/gpu", { concurrency: 2 });
  await service.put("limits/mail", { rate: { count: 1, per_seconds: 3600 } });
  const running = await submit("busy");
  const named = {
    outranked: await submit("busy", { priority: "low" }),
    first: await submit("busy", { priority: "critical" }, "bob"),
    typeless: await submit("idle", { task_type: "nobody_knows_it" }),
    nowhere: await submit("nowhere"),
    large: await submit("idle", { resources: { cpu: 64 } }),
    exceeding: await submit("idle", { limits: { gpu: 3 } }),
    paused: await submit("paused"),
    draining: await submit("leaving"),
    share: await submit("idle", {}, "zed"),
    shut: await submit("idle", { limits: ["shut"] }),
    later: await submit("idle", { run_at: new Date(Date.now() + 3_600_000).toISOString() }),
  };
  const mailed = await submit("idle", { task_type: "quick", limits: ["mail"] });
  const rated = await submit("idle", { task_type: "quick", limits: ["mail"] });
  const other = await submit("busy", { priority: "critical" }, "eve", "elsewhere");
  const graph = {
    name: "chain",
    nodes: [
      { id: "a", task: "long", executor: "idle" },
      { id: "b", task: "long", executor: "idle", needs: ["a"] },
    ],
  };
  const run = await service.post("runs", graph, { agent: "ann" });
  expect(run.status, JSON.stringify(run.body)).toBeLessThan(300);
  await runs(running);
  expect((await service.get(`task/${mailed}?wait=20`)).body.status).toBe("completed");

  const model = await modelOfLedger();
  const waiting = [...model.tasks()].filter((one) => isWaiting(one) && one.zone === "default");
  const codes = new Set<string>();
  for (const one of waiting) codes.add(await compare(model, one));
  expect([...codes].sort()).toEqual([
    "Admission",
    "Capacity",
    "Dependencies",
    "Held",
    "NotDue",
    "Unsatisfiable",
  ]);
  expect(waiting.length).toBe(Object.keys(named).length + 2);

  const kinds = async (id: string) => {
    const { sooner } = (await service.get(`task/${id}/why`)).body as {
      sooner: { change: { kind: string } }[];
    };
    return sooner.map(({ change }) => change.kind);
  };
  expect(await kinds(named.outranked)).toEqual(["worker", "cancel"]);
  for (const id of [named.typeless, named.nowhere, named.large, named.draining])
    expect(await kinds(id)).toEqual(["worker"]);
  expect(await kinds(named.exceeding)).toEqual(["limit"]);
  expect(await kinds(named.paused)).toEqual(["resume"]);
  expect(await kinds(named.share)).toEqual(["agent-limit"]);
  expect(await kinds(named.shut)).toEqual(["limit"]);
  expect(await kinds(named.later)).toEqual(["at-once"]);
  expect(await kinds(rated)).toEqual(["rate"]);
  const answers = await Promise.all(waiting.map(({ publicId }) => service.get(`task/${publicId}/why`)));
  expect(JSON.stringify(answers.map(({ body }) => body))).not.toContain(other);
});

/** Says why it waits, by the model and by the server alike. */
async function compare(model: Model, one: ModelTask): Promise<string> {
  const { body: why } = await service.get(`task/${one.publicId}/why`);
  const truth = trueReasons(model, one, model.now);
  const said = why.waiting.map(({ text: _, ...reason }: { text: string }) => reason);
  expect(said, one.publicId).toEqual(JSON.parse(JSON.stringify(truth)));
  const isInLine = truth[0]?.code === "Capacity";
  const line = isInLine ? trueLine(model, one, model.now).map(({ publicId }) => publicId) : [];
  expect(why.ahead.map(({ task_id }: { task_id: string }) => task_id)).toEqual(line.slice(0, 10));
  const obstacles = obstaclesFor(model, one);
  const rejections = model.sortedWorkers().map(({ number, spec }) => [spec.id, obstacles[number] ?? null]);
  const candidates = why.candidates.map(
    ({ worker_id, rejection }: { worker_id: string; rejection: string }) => {
      return [worker_id, rejection];
    },
  );
  expect(candidates.toSorted(byName)).toEqual(rejections);
  return truth[0]?.code ?? "";
}

function byName(a: readonly string[], b: readonly string[]): number {
  return (a[0] ?? "") < (b[0] ?? "") ? -1 : 1;
}

test("an agent is told nothing of what others have, neither who goes first nor what is in the way", async () => {
  const theirs = [await submit("busy", { priority: "critical" }, "bob"), await submit("busy", {}, "bob")];
  const id = await submit("busy", { priority: "low" }, "carl");
  const asked = { name: "carl", scopes: ["read"], zones: ["default"], agents: ["carl"] };
  const { secret } = (await service.post("keys", asked)).body;
  const admin = (await service.get(`task/${id}/why`)).body;
  const agent = (await service.get(`task/${id}/why`, { key: secret, agent: "carl" })).body;
  const kinds = ({ sooner }: { sooner: { change: { kind: string } }[] }) =>
    sooner.map(({ change }) => change.kind);
  expect(kinds(admin)).toContain("cancel");
  expect(kinds(agent)).toEqual(kinds(admin).filter((kind) => kind !== "cancel"));
  expect(agent.ahead).toEqual([]);
  expect(agent.forecast.tasks_ahead).toBe(admin.forecast.tasks_ahead);
  const { body } = await service.get("tasks?limit=100");
  const others = body.tasks.filter((one: { agent_id: string }) => one.agent_id !== "carl");
  expect(others.length).toBeGreaterThan(theirs.length);
  for (const other of others) expect(JSON.stringify(agent)).not.toContain(other.id);
});

test("what would help is done, and helps", { timeout: 60_000 }, async () => {
  await service.put("agents/yan", { max_concurrent: 0 });
  const id = await submit("idle", { task_type: "quick" }, "yan");
  const { change } = (await service.get(`task/${id}/why`)).body.sooner[0];
  expect(change).toEqual({ kind: "agent-limit", agent: "yan", from: 0, to: 1 });
  await service.put("agents/yan", { max_concurrent: change.to });
  expect((await service.get(`task/${id}?wait=20`)).body.status).toBe("completed");
});
