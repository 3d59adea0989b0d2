// Nodes that are tried in several alternatives, as users of a service meet them.

import { describe, expect, test, vi } from "vitest";
import { DEFAULT_SPECULATION } from "../src/graph/index.ts";
import { type TaskContext, task } from "../src/worker/index.ts";
import { directoryWith, orrery, startOrrery } from "./cli.ts";
import { ADMIN_KEY, BACKENDS, TestService } from "./service.ts";

const SETTINGS = { config: { speculation: { ...DEFAULT_SPECULATION, defaultParallelism: 3 } } };

const GRAPH = {
  name: "fix",
  nodes: {
    patch: {
      task: "patch",
      executor: "default",
      resources: { cpu: 0.1 },
      payload: { issue: 7 },
      speculate: true,
    },
    ship: { task: "ship", executor: "default", needs: ["patch"] },
  },
};

/** The second alternative is the best; the third never ends by itself. */
async function patch(payload: { issue: number }, { alternative, assess, signal }: TaskContext) {
  if (alternative === "speculate:alt2") {
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    throw signal.reason;
  }
  const isBest = alternative === "speculate:alt1";
  assess({ verified: true, confidence: isBest ? 1 : 0.1, lines: isBest ? 3 : 40, risk: "low" });
  return { issue: payload.issue, by: alternative };
}

async function nodesOf(service: TestService, runId: string) {
  const { body } = await service.get(`tasks?run=${runId}&limit=50`);
  return Object.fromEntries(
    body.tasks.map((task: { node: string; id: string; status: string }) => [task.node, task]),
  );
}

describe.each(BACKENDS)("[G-08] on %s", (backend) => {
  test("the best alternative of a node becomes its result, and each alternative can be looked at", async () => {
    await using service = await TestService.start(backend, SETTINGS);
    await using _worker = service.worker(
      { patch: task(stubborn), ship: task(async () => null) },
      { slots: 6 },
    );
    const { status, body: run } = await service.post("runs", { graph: GRAPH });
    expect(status).toBe(201);
    const known = await nodesOf(service, run.id);
    const { body: found } = await service.get(`task/${known["patch"].id}?wait=30`);
    expect(found).toMatchObject({
      status: "completed",
      result: { issue: 7, by: "speculate:alt1" },
      speculation: { because: "asked", winner: "speculate:alt1", decided_by: "score" },
    });
    expect(found.speculation.alternatives.map(({ tag }: { tag: string }) => tag)).toEqual([
      "speculate:primary",
      "speculate:alt1",
      "speculate:alt2",
    ]);
    for (const { task_id, score } of found.speculation.alternatives) {
      const { body } = await service.get(`task/${task_id}?wait=30`);
      expect(body).toMatchObject({
        run_id: run.id,
        payload: { issue: 7 },
        status: expect.stringMatching(/completed|failed/),
      });
      expect(score.total).toBe(score.verification + score.confidence + score.size + score.risk + score.speed);
    }
    const all = await nodesOf(service, run.id);
    expect(Object.keys(all).sort()).toEqual([
      "patch",
      "patch speculate:alt1",
      "patch speculate:alt2",
      "patch speculate:primary",
      "ship",
    ]);
    expect((await service.get(`task/${all["ship"].id}?wait=30`)).body.status).toBe("completed");
    expect((await service.get(`runs/${run.id}`)).body).toMatchObject({
      status: "completed",
      nodes: 2,
      counts: { completed: 2, failed: 0, cancelled: 0 },
    });
    const env = { ORRERY_URL: service.server.url, ORRERY_API_KEY: ADMIN_KEY };
    const shown = await startOrrery("/", ["task", all["patch"].id], env).finished;
    expect(shown.stdout).toMatch(/vote +speculate:alt1 by score/);
  });

  test("where two agree, the third is stopped", async () => {
    await using service = await TestService.start(backend, SETTINGS);
    const same = async (payload: { issue: number }, context: TaskContext) => {
      const { by: _, ...result } = await patch(payload, context);
      return result;
    };
    await using _worker = service.worker({ patch: task(same), ship: task(async () => null) }, { slots: 6 });
    const { body: run } = await service.post("runs", { graph: GRAPH });
    const { patch: node } = await nodesOf(service, run.id);
    const { body: found } = await service.get(`task/${node.id}?wait=30`);
    expect(found).toMatchObject({ result: { issue: 7 }, speculation: { decided_by: "majority" } });
    const last = found.speculation.alternatives[2];
    expect((await service.get(`task/${last.task_id}?wait=30`)).body.status).toBe("cancelled");
  });
});

test("[G-08] no run can be called so that a task of it has the id of an alternative", async () => {
  await using service = await TestService.start("memory", SETTINGS);
  await using _worker = service.worker({ patch: task(stubborn), ship: task(async () => null) }, { slots: 6 });
  const { body: run } = await service.post("runs", { graph: GRAPH });
  const { patch: node } = await nodesOf(service, run.id);
  const nodes = { "speculate:primary": { task: "ship", executor: "default" } };
  const { status } = await service.post("runs", { id: node.id, graph: { name: "x", nodes } });
  expect(status).toBe(201);
  expect((await service.get(`task/${node.id}?wait=30`)).body.status).toBe("completed");
});

test("[G-08] an alternative that has ended is no other node, whatever that is called", async () => {
  await using service = await TestService.start("memory", SETTINGS);
  await using _worker = service.worker({ patch: task(stubborn), ship: task(async () => null) }, { slots: 6 });
  const held = { task: "nobody", executor: "nobody" };
  const nodes = { ...GRAPH.nodes, "patch speculate:alt2": held };
  const { body: run } = await service.post("runs", { graph: { name: "x", nodes } });
  const { body: list } = await service.get(`tasks?run=${run.id}`);
  const id = list.tasks.find(({ node }: { node: string }) => node === "patch").id;
  const { body: found } = await service.get(`task/${id}?wait=30`);
  const { body: cancelled } = await service.post(`task/${found.speculation.alternatives[2].task_id}/cancel`);
  expect(cancelled.cancelled).toBe(false);
  expect((await service.get(`runs/${run.id}`)).body.counts).toMatchObject({ queued: 1, cancelled: 0 });
});

const ALL_FAIL = "all 3 alternatives failed: no idea";

test("[G-08] where all alternatives fail, the node says so with their words, and so do those who ask why", async () => {
  await using service = await TestService.start("memory", SETTINGS);
  const clueless = async () => {
    throw Object.assign(new Error("no idea"), { retry: false });
  };
  await using _worker = service.worker({ patch: task(clueless), ship: task(async () => null) }, { slots: 6 });
  const cwd = await directoryWith({ "g.json": JSON.stringify(GRAPH) });
  const env = { ORRERY_URL: service.server.url, ORRERY_API_KEY: ADMIN_KEY };
  const say = async (...args: readonly string[]) => await startOrrery(cwd, args, env).finished;
  const ran = await say("run", "g.json", "--server", service.server.url);
  expect(ran.code).toBe(1);
  expect(ran.stdout).toContain(`failed: patch: ${ALL_FAIL} (task`);
  expect(ran.stdout).not.toContain("failed: patch speculate");
  const runId = /^run: (.+)$/m.exec(ran.stdout)?.[1] as string;
  const { patch: node } = await nodesOf(service, runId);
  const told = { error_code: "escalated", error_message: ALL_FAIL };
  expect(node).toMatchObject(told);
  expect((await service.get(`task/${node.id}`)).body).toMatchObject(told);
  const failed = (await say("why", runId, "patch")).stdout;
  expect(failed).toContain(`patch is failed: ${ALL_FAIL} (escalated).`);
  expect(failed).toMatch(/vote +nobody won/);
  const skipped = (await say("why", runId, "ship")).stdout;
  expect(skipped).toBe(`ship is skipped.\npatch, which it needs, failed: ${ALL_FAIL} (escalated).\n`);
  expect((await say("why", runId, "patch speculate:alt1")).stdout).toContain("no idea");
  expect((await say("why", runId, "patch speculate:alt9")).code).toBe(3);
  expect((await say("task", node.id, "--log")).stderr).toContain("it was tried in several alternatives");
  expect((await say("runs", runId)).stdout).toContain("2: 1 failed, 1 skipped");
  const cancelled = await say("cancel", runId);
  expect([cancelled.code, cancelled.stderr]).toEqual([
    2,
    `orrery: ${runId} is a run; cancel it with: orrery runs ${runId} --cancel\n`,
  ]);
  expect((await say("gantt", runId)).stderr).toContain("orrery ledger server.jsonl");
});

test("[G-08] a run on a server is told with its alternatives and the vote, in the order in which it went", async () => {
  await using service = await TestService.start("memory", SETTINGS);
  let go: () => void = () => {};
  const isFollowed = new Promise<void>((resolve) => {
    go = resolve;
  });
  const first = task(async () => await isFollowed);
  const handlers = { first, patch: task(stubborn), ship: task(async () => null) };
  await using _worker = service.worker(handlers, { slots: 6 });
  const graph = { name: "late", nodes: { ...GRAPH.nodes, first: { task: "first", executor: "default" } } };
  graph.nodes.patch = { ...graph.nodes.patch, needs: ["first"] } as typeof graph.nodes.patch;
  const cwd = await directoryWith({ "g.json": JSON.stringify(graph) });
  const env = { ORRERY_API_KEY: ADMIN_KEY };
  const args = ["run", "g.json", "--server", service.server.url, "--json"];
  const started = startOrrery(cwd, args, env);
  started.child.stderr?.on("data", (text: string) => {
    if (text.includes("started first")) go();
  });
  const { stdout, stderr, code } = await started.finished;
  expect(code).toBe(0);
  const told = stderr.split("\n").map((line) => line.slice("00:00:00.000 ".length));
  const steps = ["finished first", "started patch in 3 alternatives (it asks for it)"];
  steps.push("finished patch speculate:alt1", "finished patch with the result of", "finished ship");
  const places = steps.map((text) => told.findIndex((line) => line.startsWith(text)));
  expect(stderr).not.toMatch(/ on $/m);
  expect(places, stderr).not.toContain(-1);
  expect(places, stderr).toEqual(places.toSorted((a, b) => a - b));
  const nodes: { id: string; attempts: number }[] = JSON.parse(stdout).nodes;
  expect(nodes.map(({ id, attempts }) => `${id} ${attempts}`)).toEqual(["patch 3", "ship 1", "first 1"]);
});

/** As `patch`, but the third gives up by itself. */
async function stubborn(payload: { issue: number }, context: TaskContext) {
  if (context.alternative === "speculate:alt2") throw Object.assign(new Error("no idea"), { retry: false });
  return await patch(payload, context);
}

test("[G-08] a vote goes on after a restart of the server", async () => {
  await using first = await TestService.start("postgresql", SETTINGS);
  let end: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    end = resolve;
  });
  const handlers = {
    patch: task(async (payload: { issue: number }, context: TaskContext) => {
      if (context.alternative !== "speculate:alt1") await held;
      return await stubborn(payload, context);
    }),
    ship: task(async () => null),
  };
  let run: { id: string };
  let id = "";
  {
    await using _worker = first.worker(handlers, { slots: 6 });
    run = (await first.post("runs", { graph: GRAPH })).body;
    id = (await nodesOf(first, run.id))["patch"].id;
    await vi.waitUntil(async () => (await first.get(`task/${id}`)).body.speculation !== null, {
      timeout: 30_000,
    });
    const { speculation } = (await first.get(`task/${id}`)).body;
    const { body: plan } = await first.get(`runs/${run.id}/plan`);
    const [planned] = plan.nodes.filter(({ node }: { node: string }) => node === "patch");
    expect(planned).toMatchObject({ alternatives: expect.arrayContaining(["speculate:primary"]) });
    await first.get(`task/${speculation.alternatives[1].task_id}?wait=30`);
    end();
  }
  await using second = await first.restart(SETTINGS);
  await using _again = second.worker(handlers, { slots: 6 });
  const { body } = await second.get(`task/${id}?wait=60`);
  expect(body).toMatchObject({ status: "completed", result: { by: "speculate:alt1" } });
  expect((await second.get(`runs/${run.id}`)).body.nodes).toBe(2);
});

test("[G-08] `orrery run` tells what it tries and why, and its ledger can be decided again", async () => {
  const cwd = await directoryWith({
    "g.yaml": `
nodes:
  code: {run: "test $ORRERY_ALTERNATIVE != speculate:primary && echo fixed", speculate: true}
  ship: {run: "exit 3", needs: [code], risk: critical}
  tell: {run: "echo shipped", needs: [ship]}
`,
  });
  const { code, stdout, stderr } = await orrery(cwd, "run", "g.yaml", "--json", "--workers", "4");
  expect(stderr).toContain("code in 2 alternatives (it asks for it)");
  const statuses = Object.fromEntries(
    JSON.parse(stdout).nodes.map(({ id, status }: { id: string; status: string }) => [id, status]),
  );
  expect(statuses).toEqual({ code: "completed", ship: "failed", tell: "skipped" });
  const { error, attempts } = JSON.parse(stdout).nodes[1];
  expect([error, attempts]).toEqual(["all 2 alternatives failed: exited with code 3", 2]);
  const times = stderr.match(/^\d\d:\d\d:\d\d\.\d{3}/gm) ?? [];
  expect(times).toEqual(times.toSorted());
  expect(code).toBe(1);
  expect(stderr).toContain("finished code with the result of speculate:alt1, by score");
  expect(stderr).toContain("ship in 2 alternatives (risky, and on the critical path)");
  const why = await orrery(cwd, "why", ".orrery/g.jsonl", "ship");
  expect(why.stdout).toContain("no alternative was good enough");
  expect(why.stdout).toContain("failed: all 2 alternatives failed: exited with code 3");
  expect((await orrery(cwd, "verify", ".orrery/g.jsonl", "--redecide")).code).toBe(0);
});
