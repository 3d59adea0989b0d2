// What the specification's own list lacks: order, shares, limits, prices, times, ends and restarts, on both backends.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { PermanentError, task } from "../src/worker/index.ts";
import { type Answer, BACKENDS, recordingHandler, TestService } from "./service.ts";

/** One task at a time, so that the order in which they begin is the order in which they are chosen. */
const ONE_BY_ONE = { config: { maxQueuePerWorker: 0 } };
const ONE_SLOT = { slots: 1 };

async function until<Seen>(look: () => Promise<Seen>, holds: (seen: Seen) => boolean): Promise<Seen> {
  for (const deadline = Date.now() + 20_000; ; ) {
    const seen = await look();
    if (holds(seen)) return seen;
    if (Date.now() > deadline) throw new Error(`it does not come: ${JSON.stringify(seen)}`);
    await sleep(20);
  }
}

function ended(service: TestService, id: string): Promise<Answer> {
  return until(
    () => service.get(`task/${id}?wait=10`),
    ({ body }) => body.status !== "queued" && body.status !== "running",
  );
}

const note = (name: string, more: Record<string, unknown> = {}) => ({
  executor: "default",
  task_type: "note",
  payload: { name },
  ...more,
});

describe.each(BACKENDS)("on %s", (backend) => {
  test("[Q-09] by class, then by how long it waits against how long it takes", async () => {
    await using service = await TestService.start(backend, ONE_BY_ONE);
    const { handlers, begun, release } = recordingHandler();
    for (const [name, priority, estimate] of [
      ["long", "normal", 1000],
      ["background", "low", 1],
      ["short", "normal", 1],
      ["urgent", "critical", 1000],
      ["middle", "normal", 30],
    ] as const) {
      await service.post("submit", note(name, { priority, estimated_service_time: estimate }));
      await sleep(30);
    }
    await using _worker = service.worker(handlers, ONE_SLOT);
    await until(
      async () => begun.length,
      (count) => count === 5,
    );
    release();
    expect(begun).toEqual(["urgent", "short", "middle", "long", "background"]);
  });

  test("[Q-10] in classic mode by tier, then by age", async () => {
    await using service = await TestService.start(backend, {
      config: { ...ONE_BY_ONE.config, order: "classic" },
    });
    const { handlers, begun } = recordingHandler();
    for (const [name, priority, estimate] of [
      ["low", "low", 1],
      ["first", "normal", 1000],
      ["second", "normal", 1],
      ["high", "high", 1000],
    ] as const) {
      await service.post("submit", note(name, { priority, estimated_service_time: estimate }));
    }
    await using _worker = service.worker(handlers, ONE_SLOT);
    await until(
      async () => begun.length,
      (count) => count === 4,
    );
    expect(begun).toEqual(["high", "first", "second", "low"]);
    expect((await service.get("metrics")).body.use_hrrn).toBe(false);
  });

  test("[Q-07] [Q-13] waiting lifts by tiers, and above the longest wait to high", async () => {
    const aged = { ...ONE_BY_ONE.config, order: "classic", ageEveryMs: 100, ageStepMs: 50 } as const;
    await using ageing = await TestService.start(backend, { config: aged });
    const old = await ageing.post("submit", note("old", { priority: "best_effort" }));
    expect(old.body.effective_tier).toBe(4);
    const risen = await until(
      () => ageing.get(`task/${old.body.id}`),
      ({ body }) => body.effective_tier === 0,
    );
    expect(risen.body.priority_tier).toBe("best_effort");
    const { handlers, begun } = recordingHandler();
    await ageing.post("submit", note("new", { priority: "high" }));
    await using _worker = ageing.worker(handlers, ONE_SLOT);
    await until(
      async () => begun.length,
      (count) => count === 2,
    );
    expect(begun).toEqual(["old", "new"]);
    const slow = { ...aged, ageEveryMs: 3_600_000, maxWaitMs: 150 } as const;
    await using longest = await TestService.start(backend, { config: slow });
    const waited = await longest.post("submit", note("waited", { priority: "best_effort" }));
    await until(
      () => longest.get(`task/${waited.body.id}`),
      ({ body }) => body.effective_tier === 1,
    );
  });

  test("[Q-13] background that starves goes with batch, and batch with interactive where that is on", async () => {
    const config = { ...ONE_BY_ONE.config, starveBackgroundMs: 150, starveBatchMs: 3000 };
    await using service = await TestService.start(backend, { config });
    const { handlers, begun } = recordingHandler();
    await service.post("submit", note("starved", { priority: "low", estimated_service_time: 1 }));
    const classes = async () => (await service.get("metrics")).body.queue_by_class;
    const counts = (seen: { cnt: number }[]) => seen.map(({ cnt }) => cnt).join();
    await until(classes, (seen) => counts(seen) === "0,1,0");
    await until(classes, (seen) => counts(seen) === "1,0,0");
    await service.post("submit", note("normal", { estimated_service_time: 1 }));
    await using _worker = service.worker(handlers, ONE_SLOT);
    await until(
      async () => begun.length,
      (count) => count === 2,
    );
    expect(begun).toEqual(["starved", "normal"]);
  });

  test("[Q-07] a boost lifts by tiers, is paid from credits at the end, and given back when cancelled", async () => {
    await using service = await TestService.start(backend, {
      config: { ...ONE_BY_ONE.config, credits: true },
    });
    const { handlers, begun } = recordingHandler();
    const ann = { agent: "ann" };
    const poor = await service.post("submit", note("poor", { boost: "0.02" }), ann);
    expect([poor.status, poor.body.code]).toEqual([402, "credits"]);
    await service.post("agents/ann/credits", { amount: "0.05" });
    const cancelled = await service.post("submit", note("never", { boost: "0.02", executor: "nobody" }), ann);
    const boosted = await service.post("submit", note("boosted", { boost: "0.01", priority: "normal" }), ann);
    expect(boosted.body).toMatchObject({
      priority_tier: "normal",
      effective_tier: 1,
      priority_class: "interactive",
      boost_amount: "0.01",
    });
    await service.post("submit", note("plain"), ann);
    const credits = async () => (await service.get("agents")).body.agents.find(isAnn);
    expect(await credits()).toMatchObject({ credits: "0.05", reserved_credits: "0.03" });
    await service.post(`task/${cancelled.body.id}/cancel`, undefined, ann);
    expect(await credits()).toMatchObject({ credits: "0.05", reserved_credits: "0.01" });
    await using _worker = service.worker(handlers, ONE_SLOT);
    await ended(service, boosted.body.id);
    expect(await until(credits, ({ reserved_credits }) => reserved_credits === "0")).toMatchObject({
      credits: "0.04",
    });
    await until(
      async () => begun.length,
      (count) => count === 2,
    );
    expect(begun).toEqual(["boosted", "plain"]);
  });

  test("[Q-12] an agent at its share waits, others go on, and why says so", async () => {
    await using service = await TestService.start(backend, { config: { fairShare: 2 } });
    const { handlers, begun, release } = recordingHandler();
    await using _worker = service.worker(handlers, { slots: 10 });
    const waiting = (name: string, agent: string) =>
      service.post("submit", note(name, { payload: { name, wait: true } }), { agent });
    const ids: string[] = [];
    for (const name of ["a1", "a2", "a3"]) ids.push((await waiting(name, "ann")).body.id);
    await waiting("b1", "bob");
    await until(
      async () => begun.length,
      (count) => count === 3,
    );
    expect([...begun].sort()).toEqual(["a1", "a2", "b1"]);
    const why = await service.get(`task/${ids[2]}/why`, { agent: "ann" });
    expect(why.body.waiting[0]).toMatchObject({ code: "Admission" });
    expect(why.body.waiting[0].text).toBe("Its agent already runs 2 of 2 tasks.");
    const { fair_share } = (await service.get("metrics")).body;
    expect(fair_share["ann"]).toEqual({ running_count: 2, max_concurrent: 2, available_slots: 0 });
    await service.put("agents/ann", { max_concurrent: 3 });
    await until(
      async () => begun.length,
      (count) => count === 4,
    );
    release();
  });

  test("[Q-12] with over_limit reject, an agent at its share is told to come later", async () => {
    await using service = await TestService.start(backend, { config: { fairShare: 1, overLimit: "reject" } });
    const { handlers, begun, release } = recordingHandler();
    await using _worker = service.worker(handlers);
    await service.post("submit", note("one", { payload: { name: "one", wait: true } }));
    await until(
      async () => begun.length,
      (count) => count === 1,
    );
    const refused = await service.post("submit", note("two"));
    expect([refused.status, refused.body.code]).toEqual([429, "fair-share"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    release();
  });

  test("tasks that name a limit share its concurrency and its rate", async () => {
    await using service = await TestService.start(backend);
    const { handlers, begun, release } = recordingHandler();
    await using _worker = service.worker(handlers, { slots: 10 });
    await service.put("limits/openai", { concurrency: 1, rate: null });
    await service.put("limits/tenant-7", { concurrency: null, rate: { count: 1, per_seconds: 3600 } });
    const limited = (name: string, limits: string[], agent: string) =>
      service.post("submit", note(name, { payload: { name, wait: true }, limits }), { agent });
    await limited("first", ["openai"], "ann");
    const second = await limited("second", ["openai"], "bob");
    await limited("other", [], "bob");
    await until(
      async () => begun.length,
      (count) => count === 2,
    );
    expect([...begun].sort()).toEqual(["first", "other"]);
    const why = await service.get(`task/${second.body.id}/why`);
    expect(why.body.waiting[0].text).toContain("The limit openai is reached");
    await service.put("limits/openai", { concurrency: null, rate: null });
    await until(
      async () => begun.length,
      (count) => count === 3,
    );
    await limited("rated", ["tenant-7"], "ann");
    const late = await limited("too soon", ["tenant-7"], "ann");
    await until(
      async () => begun.length,
      (count) => count === 4,
    );
    const rate = await service.get(`task/${late.body.id}/why`);
    expect(rate.body.waiting[0].text).toContain("The rate of tenant-7 is used up");
    release();
  });

  test("[Q-08] what an agent spent makes its interactive work wait with the rest", async () => {
    await using service = await TestService.start(backend, {
      config: { ...ONE_BY_ONE.config, costThresholdMicros: 1_000_000 },
    });
    const { handlers, begun } = recordingHandler();
    const spend = task(async (_, { cost }) => {
      cost(5);
    });
    await using _worker = service.worker({ ...handlers, spend }, ONE_SLOT);
    const spent = await service.post("submit", { executor: "default", task_type: "spend" }, { agent: "ann" });
    expect((await ended(service, spent.body.id)).body).toMatchObject({ status: "completed", cost: "5" });
    await service.post("pause", {});
    await service.post("submit", note("dear", { priority: "critical" }), { agent: "ann" });
    await service.post("submit", note("cheap", { priority: "high" }), { agent: "bob" });
    await service.post("resume", {});
    await until(
      async () => begun.length,
      (count) => count === 2,
    );
    expect(begun).toEqual(["cheap", "dear"]);
  });

  test("[Q-20] not before run_at; and what has not begun by its deadline fails as expired", async () => {
    await using service = await TestService.start(backend);
    const { handlers, begun } = recordingHandler();
    await using _worker = service.worker(handlers);
    const later = await service.post("submit", note("later", { run_at: inMs(400) }));
    const expired = await service.submit({ deadline: inMs(200) });
    expect(later.body.status).toBe("queued");
    expect((await service.get(`task/${later.body.id}/why`)).body.waiting[0].code).toBe("NotDue");
    const dead = await ended(service, expired.body.id);
    expect(dead.body).toMatchObject({ status: "failed", error_code: "expired" });
    const done = await ended(service, later.body.id);
    expect(done.body.status).toBe("completed");
    expect(Date.parse(done.body.started_at)).toBeGreaterThanOrEqual(Date.parse(done.body.run_at));
    expect(begun).toEqual(["later"]);
  });

  test("[Q-20] a deadline that nears lifts a task", async () => {
    await using service = await TestService.start(backend, ONE_BY_ONE);
    const { handlers, begun } = recordingHandler();
    await service.post("submit", note("high", { priority: "high", estimated_service_time: 1 }));
    await sleep(20);
    await service.post(
      "submit",
      note("near", { priority: "low", estimated_service_time: 60, deadline: inMs(90_000) }),
    );
    await service.post("submit", note("normal"));
    await using _worker = service.worker(handlers, ONE_SLOT);
    await until(
      async () => begun.length,
      (count) => count === 3,
    );
    expect(begun).toEqual(["high", "near", "normal"]);
  });

  test("[Q-19] failures are tried again, in the end dead, can be looked at and put back", async () => {
    await using service = await TestService.start(backend);
    let healed = false;
    const flaky = task(async (_, { log }) => {
      log("trying");
      if (!healed) throw new Error("not today");
      return "fine";
    });
    const fatal = task(async () => {
      throw new PermanentError("never", { code: "bad-input" });
    });
    await using _worker = service.worker({ flaky, fatal });
    const { body } = await service.post("submit", {
      executor: "default",
      task_type: "flaky",
      max_attempts: 3,
      retry_backoff: 0.01,
    });
    const dead = await ended(service, body.id);
    expect(dead.body).toMatchObject({ status: "failed", attempt: 3, error_message: "not today" });
    const tries = await until(
      async () => (await service.get(`task/${body.id}/log`)).body.lines.filter(isTry),
      (lines) => lines.length === 3,
    );
    expect(tries.map(({ attempt }: { attempt: number }) => attempt)).toEqual([1, 2, 3]);
    expect((await service.get("tasks?status=failed")).body.tasks).toHaveLength(1);
    healed = true;
    const again = await service.post(`task/${body.id}/retry`);
    expect(again.status).toBe(200);
    expect((await ended(service, body.id)).body).toMatchObject({
      status: "completed",
      attempt: 4,
      result: "fine",
      error_message: null,
    });
    const refused = await service.post(`task/${body.id}/retry`);
    expect(refused.status).toBe(409);
    const once = await service.post("submit", { executor: "default", task_type: "fatal", max_attempts: 5 });
    expect((await ended(service, once.body.id)).body).toMatchObject({ attempt: 1, error_code: "bad-input" });
  });

  test("[Q-03] a task goes from queued to running to its end, and one that completed never changes again", async () => {
    await using service = await TestService.start(backend);
    const { handlers, begun, release } = recordingHandler();
    const { body } = await service.post("submit", note("one", { payload: { name: "one", wait: true } }));
    const read = async () => (await service.get(`task/${body.id}`)).body;
    expect(body.status).toBe("queued");
    await using _worker = service.worker(handlers);
    await until(
      async () => begun.length,
      (count) => count === 1,
    );
    expect((await read()).status).toBe("running");
    expect((await service.post(`task/${body.id}/retry`)).status).toBe(409);
    release();
    await ended(service, body.id);
    const completed = await read();
    expect(completed.status).toBe("completed");
    expect((await service.post(`task/${body.id}/cancel`)).body.cancelled).toBe(false);
    expect((await service.post(`task/${body.id}/retry`)).status).toBe(409);
    expect(await read()).toEqual(completed);
  });

  test("[Q-04] a running task is told to stop, and a time limit ends one", async () => {
    await using service = await TestService.start(backend);
    const hang = task(
      (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new Error("stopped")));
        }),
    );
    await using _worker = service.worker({ hang });
    const submit = (more: Record<string, unknown>) =>
      service.post("submit", { executor: "default", task_type: "hang", max_attempts: 1, ...more });
    const running = await submit({});
    await until(
      () => service.get(`task/${running.body.id}`),
      ({ body }) => body.status === "running",
    );
    expect((await service.post(`task/${running.body.id}/cancel`)).body.cancelled).toBe(true);
    expect((await service.post(`task/${running.body.id}/cancel`)).body.cancelled).toBe(false);
    expect((await ended(service, running.body.id)).body.status).toBe("cancelled");
    const timed = await submit({ timeout: 0.1 });
    expect((await ended(service, timed.body.id)).body).toMatchObject({
      status: "failed",
      error_code: "timeout",
    });
  });

  test("a task of an executor that nobody serves waits and says so; a paused one too", async () => {
    await using service = await TestService.start(backend);
    const { handlers, begun } = recordingHandler();
    await using _worker = service.worker(handlers);
    const { body } = await service.submit();
    const why = await service.get(`task/${body.id}/why`);
    expect(why.body.waiting[0].code).toBe("Unsatisfiable");
    await service.post("pause", { executor: "default" });
    const paused = await service.post("submit", note("paused"));
    expect((await service.get(`task/${paused.body.id}/why`)).body.waiting[0].text).toBe(
      "Its queue is paused.",
    );
    await service.post("resume", { executor: "default" });
    await ended(service, paused.body.id);
    expect(begun).toEqual(["paused"]);
  });

  test("[Q-15] a worker runs tasks of its zone only", async () => {
    await using service = await TestService.start(backend);
    const { handlers, begun } = recordingHandler();
    await using _worker = service.worker(handlers, { zone: "here" });
    await service.post("submit", note("there"), { zone: "there" });
    const mine = await service.post("submit", note("here"), { zone: "here" });
    await until(
      () => service.get(`task/${mine.body.id}`, { zone: "here" }),
      ({ body }) => body.status === "completed",
    );
    expect(begun).toEqual(["here"]);
    expect((await service.get("workers", { zone: "there" })).body.workers).toEqual([]);
  });

  test("runs go through the same queue, and their events can be followed", async () => {
    await using service = await TestService.start(backend);
    const { handlers, begun } = recordingHandler();
    await using _worker = service.worker(handlers, { executors: ["default"] });
    const graph = {
      name: "three",
      nodes: {
        a: { task: "note", payload: { name: "a" }, executor: "default" },
        b: { task: "note", payload: { name: "b" }, executor: "default", needs: ["a"] },
        c: { task: "note", payload: { name: "c" }, executor: "default", needs: ["b"] },
      },
    };
    const submitted = await service.post("runs", { graph });
    expect(submitted.status).toBe(201);
    const run = await until(
      () => service.get(`runs/${submitted.body.id}`),
      ({ body }) => body.status === "completed",
    );
    expect(run.body).toMatchObject({ name: "three", nodes: 3, counts: { completed: 3 } });
    expect(begun).toEqual(["a", "b", "c"]);
    const nodes = await service.get(`tasks?run=${submitted.body.id}`);
    expect(nodes.body.tasks.map(({ node }: { node: string }) => node).sort()).toEqual(["a", "b", "c"]);
    const cyclic = await service.post("runs", { graph: { nodes: { a: { task: "note", needs: ["a"] } } } });
    expect(cyclic.status).toBe(422);
  });

  test("[Q-01] bad input names its field, and nothing of a batch is taken if one is wrong", async () => {
    await using service = await TestService.start(backend);
    const bad = await service.submit({ priority: "urgent", estimated_service_time: 0, nope: 1 });
    expect(bad.status).toBe(422);
    const pointers = bad.body.errors.map(({ pointer }: { pointer: string }) => pointer).sort();
    expect(pointers).toEqual(["/estimated_service_time", "/nope", "/priority"]);
    const tasks = [{ executor: "x", task_type: "y" }, { executor: "x" }];
    expect((await service.post("submit/batch", { tasks })).status).toBe(422);
    expect((await service.get("metrics")).body.totals.queued).toBe(0);
    const good = Array.from({ length: 500 }, (_, n) => ({ executor: "x", task_type: "y", payload: { n } }));
    const batch = await service.post("submit/batch", { tasks: good });
    expect(batch.body.results).toHaveLength(500);
    expect((await service.get("metrics")).body.totals.queued).toBe(500);
  });
});

test("[Q-12] [Q-18] a restart brings everything back: what waits, in its order, what runs, shares, limits, pauses", async () => {
  let service = await TestService.start("postgresql", { config: { fairShare: 1 } });
  try {
    const hold = recordingHandler();
    const first = service.worker(hold.handlers);
    await service.put("limits/openai", { concurrency: 3, rate: null });
    await service.put("agents/ann", { max_concurrent: 7 });
    await service.post("agents/ann/credits", { amount: 1 });
    const running = await service.post("submit", note("held", { payload: { name: "held", wait: true } }));
    await until(
      async () => hold.begun.length,
      (count) => count === 1,
    );
    const waiting = await service.post("submit", note("later", { idempotency_key: "once" }));
    await service.post("pause", { executor: "elsewhere" });
    const before = await service.get("metrics");
    hold.release();
    await ended(service, running.body.id);
    await ended(service, waiting.body.id);
    await first[Symbol.asyncDispose]();
    const queued = await service.submit({ priority: "low", limits: ["openai"] });
    service = await service.restart({ config: { fairShare: 1 } });
    expect(before.body.fair_share["admin"]).toMatchObject({ running_count: 1, max_concurrent: 1 });
    expect((await service.get("limits")).body.limits).toMatchObject([{ name: "openai", concurrency: 3 }]);
    expect((await service.get("agents")).body.agents.find(isAnn)).toMatchObject({
      max_concurrent: 7,
      credits: "1",
    });
    expect((await service.get(`task/${queued.body.id}`)).body).toMatchObject({ status: "queued" });
    expect((await service.get(`task/${running.body.id}`)).body).toMatchObject({
      status: "completed",
      result: "held",
    });
    const again = await service.post("submit", note("later", { idempotency_key: "once" }));
    expect([again.status, again.body.id]).toEqual([200, waiting.body.id]);
    expect((await service.get("metrics")).body.totals).toMatchObject({ queued: 1, completed: 2 });
  } finally {
    await service[Symbol.asyncDispose]();
  }
});

function inMs(ms: number): string {
  return new Date(Date.now() + ms).toISOString();
}

function isAnn({ agent }: { agent: string }): boolean {
  return agent === "ann";
}

function isTry({ text }: { text: string }): boolean {
  return text === "trying";
}

test("[Q-19] two who put the same task back at once start one attempt, and each attempt has its own number", async () => {
  await using service = await TestService.start("postgresql");
  const fail = task(() => {
    throw new PermanentError("again");
  });
  await using _worker = service.worker({ fail });
  const { body } = await service.post("submit", { executor: "default", task_type: "fail" });
  await ended(service, body.id);
  for (let round = 2; round < 6; round++) {
    const answers = await Promise.all(Array.from({ length: 8 }, () => service.post(`task/${body.id}/retry`)));
    expect(answers.every(({ status }) => status === 200 || status === 409)).toBe(true);
    const { body: now } = await ended(service, body.id);
    expect(now.attempt).toBeGreaterThanOrEqual(round);
  }
  const attempts = new Set<number>();
  for (const line of (await service.get("ledger")).body.trim().split("\n") as string[]) {
    const { events } = JSON.parse(line) as { events: unknown[][] };
    for (const [kind, , , attempt] of events) {
      if (kind !== "TaskAssigned") continue;
      expect(attempts.has(attempt as number)).toBe(false);
      attempts.add(attempt as number);
    }
  }
});
