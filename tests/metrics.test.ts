// Every metric of the server: named as it should be, and moving when that happens which it counts.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { PermanentError, task } from "../src/worker/index.ts";
import { type Family, lintExposition, parseExposition } from "./exposition.ts";
import { TestService } from "./service.ts";

const SOON = { timeout: 20_000, interval: 50 };

/** What dashboards and alerts may count on. */
const PROMISED = [
  "orrery_block_events",
  "orrery_build_info",
  "orrery_clock_offset_seconds",
  "orrery_commit_seconds",
  "orrery_decision_seconds",
  "orrery_decisions_total",
  "orrery_event_loop_lag_seconds",
  "orrery_fenced_completions_total",
  "orrery_http_request_seconds",
  "orrery_leader",
  "orrery_lease_expired_total",
  "orrery_ledger_events_total",
  "orrery_oldest_task_age_seconds",
  "orrery_process_cpu_seconds_total",
  "orrery_process_resident_memory_bytes",
  "orrery_process_heap_used_bytes",
  "orrery_process_heap_total_bytes",
  "orrery_process_external_memory_bytes",
  "orrery_process_start_time_seconds",
  "orrery_rejections_total",
  "orrery_run_seconds",
  "orrery_schedule_to_start_seconds",
  "orrery_submissions_refused_total",
  "orrery_tasks_ended_total",
  "orrery_tasks_queued",
  "orrery_tasks_running",
  "orrery_tasks_submitted_total",
  "orrery_unscheduled_tasks",
  "orrery_worker_slots",
  "orrery_workers",
  "orrery_workers_lost_total",
];

let service: TestService;

beforeAll(async () => {
  service = await TestService.start("memory", { leaseMs: 1_000, config: { backlogLimit: 20 } });
});
afterAll(() => service[Symbol.asyncDispose]());

async function families(): Promise<Map<string, Family>> {
  const { status, body } = await service.get("/metrics");
  expect(status).toBe(200);
  return parseExposition(body);
}

/** The value of one sample; a histogram's is how often it was observed. */
async function value(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
  const family = (await families()).get(`orrery_${name}`);
  const full = family?.type === "histogram" ? `orrery_${name}_count` : `orrery_${name}`;
  const matching = family?.samples.filter(
    (sample) =>
      sample.name === full && Object.entries(labels).every(([key, text]) => sample.labels[key] === text),
  );
  return matching?.reduce((sum, sample) => sum + sample.value, 0) ?? Number.NaN;
}

async function growsBy(
  amount: number,
  name: string,
  labels: Readonly<Record<string, string>>,
  act: () => Promise<unknown>,
): Promise<void> {
  const before = await value(name, labels);
  await act();
  await expect.poll(() => value(name, labels), SOON).toBe((before || 0) + amount);
}

const done = { done: task(() => 1), fail: task(() => Promise.reject(new PermanentError("no"))) };
const submitted = (more: object = {}) => service.submit({ executor: "default", task_type: "done", ...more });

test("the text is what Prometheus reads, and names are as it wants them", async () => {
  const found = await families();
  expect(lintExposition(found.values())).toEqual([]);
  expect([...found.keys()].every((name) => name.startsWith("orrery_"))).toBe(true);
  expect([...found.keys()]).toEqual(expect.arrayContaining(PROMISED));
});

test("the example alerts name metrics that there are, and say what to do", async () => {
  interface Rule {
    readonly alert: string;
    readonly expr: string;
    readonly annotations: Readonly<Record<string, string>>;
  }
  const file = readFileSync(new URL("../docs/alerts.yaml", import.meta.url), "utf8");
  const { groups } = parse(file) as { groups: { rules: Rule[] }[] };
  const rules = groups.flatMap((group) => group.rules);
  expect(rules.length).toBeGreaterThanOrEqual(4);
  const known = await families();
  for (const { alert, expr, annotations } of rules) {
    for (const [name] of expr.matchAll(/\borrery_\w+/g))
      expect(known.has(name.replace(/_bucket$/, "")), `${alert} asks for ${name}`).toBe(true);
    expect(expr.split("(").length, `${alert}: ${expr}`).toBe(expr.split(")").length);
    expect(Object.keys(annotations)).toEqual(["summary", "fix"]);
  }
});

test.runIf(hasPromtool())("[S-26.alerts] the example alerts are raised by a sick service alone", () => {
  const file = fileURLToPath(new URL("alerts.rules-test.yaml", import.meta.url));
  const { status, stdout, stderr } = spawnSync("promtool", ["test", "rules", file], { encoding: "utf8" });
  expect([status, stdout + stderr]).toEqual([0, expect.stringContaining("SUCCESS")]);
});

/** Debian has it in the package prometheus. */
function hasPromtool(): boolean {
  const isThere = spawnSync("promtool", ["--version"]).status === 0;
  if (!isThere)
    process.stderr.write("SKIPPED: the alerts are not tested, because promtool is not installed\n");
  return isThere;
}

test("labels have closed sets of values, whatever callers name things", async () => {
  const secret = "visible-in-a-label";
  await service.submit({ executor: secret, task_type: secret, payload: { secret } }, { agent: secret });
  await service.submit({ executor: "x" }, { zone: secret });
  await service.get(`task/${secret}?q=${secret}`);
  await service.get(`/${secret}`);
  expect((await service.get("/metrics")).body).not.toContain(secret);
});

describe("it moves when that happens which it counts:", () => {
  test("what is submitted, waits, runs and ends", async () => {
    await growsBy(1, "tasks_submitted_total", {}, () => submitted({ priority: "critical" }));
    expect(await value("tasks_queued", { class: "interactive" })).toBe(1);
    expect(await value("unscheduled_tasks", { reason: "Unsatisfiable" })).toBeGreaterThanOrEqual(1);
    await expect
      .poll(() => value("oldest_task_age_seconds", { class: "interactive" }), SOON)
      .toBeGreaterThan(0.1);
    const waits = await value("schedule_to_start_seconds", { class: "interactive" });
    await growsBy(1, "tasks_ended_total", { status: "completed" }, async () => {
      const worker = service.worker(done);
      await expect.poll(() => value("tasks_queued", { class: "interactive" }), SOON).toBe(0);
      await expect.poll(() => value("worker_slots", { state: "free" }), SOON).toBeGreaterThan(0);
      await worker[Symbol.asyncDispose]();
    });
    expect(await value("schedule_to_start_seconds", { class: "interactive" })).toBe(waits + 1);
    expect(await value("run_seconds", { result: "completed" })).toBeGreaterThanOrEqual(1);
    expect(await value("decisions_total")).toBeGreaterThanOrEqual(1);
    expect(await value("oldest_task_age_seconds", { class: "interactive" })).toBe(0);
  });

  test("what runs, and on how many slots", async () => {
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    await using _worker = service.worker({ hold: task(() => gate) }, { slots: 2 });
    await growsBy(1, "tasks_running", { class: "batch" }, () => submitted({ task_type: "hold" }));
    expect(await value("worker_slots", { state: "busy" })).toBe(1);
    expect(await value("workers", { status: "Busy" })).toBe(1);
    release();
    await expect.poll(() => value("tasks_running", { class: "batch" }), SOON).toBe(0);
  });

  test("failures, cancellations and refusals", async () => {
    await using _worker = service.worker(done, { slots: 1 });
    await growsBy(1, "run_seconds", { result: "failed" }, () => submitted({ task_type: "fail" }));
    await growsBy(1, "tasks_ended_total", { status: "cancelled" }, async () => {
      const { body } = await service.submit();
      await service.post(`task/${body.id}/cancel`);
    });
    await service.post("submit/batch", {
      tasks: Array.from({ length: 30 }, () => ({ executor: "nobody", task_type: "t" })),
    });
    await growsBy(1, "submissions_refused_total", { code: "backlog" }, async () =>
      expect((await service.submit()).status).toBe(503),
    );
  });

  test("decisions, commits, blocks and the ledger", async () => {
    const names = ["decision_seconds", "commit_seconds", "block_events", "ledger_events_total"];
    const before = await Promise.all(names.map((name) => value(name)));
    await service.post("pause", { executor: "x" });
    await service.post("resume", { executor: "x" });
    const after = await Promise.all(names.map((name) => value(name)));
    for (const [at, name] of names.entries()) expect(after[at], name).toBeGreaterThan(before[at] as number);
    expect(await value("leader")).toBe(1);
  });

  test("a worker that falls silent, and what it reports when it is too late", async () => {
    const { gateway } = service.leading;
    const caller = { keyId: "k", zone: "default", agent: "a", scopes: new Set<never>(), isZoneAdmin: true };
    const registration = {
      protocol: 1 as const,
      id: "silent",
      session: "s1",
      executors: ["silent"],
      types: ["t"],
      cpu_millicores: 1000,
      memory_bytes: 1000,
      slots: 1,
    };
    const session = await gateway.register(caller, registration, { attempts: [] }, undefined);
    if ("refused" in session) throw new Error(session.message);
    await growsBy(1, "lease_expired_total", {}, async () => {});
    expect(await value("workers_lost_total", { code: "lease" })).toBe(1);
    expect(await value("workers", { status: "Unreachable" })).toBe(1);
    await growsBy(1, "fenced_completions_total", {}, () =>
      session.report([{ type: "finished", task: "gone", attempt: 1, started_at: 0, result: 1 }]),
    );
  });

  test("requests by route, and the process itself", async () => {
    const labels = { method: "GET", route: "/api/v2/scheduler/limits", status: "200" };
    await growsBy(1, "http_request_seconds", labels, () => service.get("limits"));
    for (const name of ["process_cpu_seconds_total", "process_resident_memory_bytes"])
      expect(await value(name), name).toBeGreaterThan(0);
    expect(await value("event_loop_lag_seconds", { percentile: "99" })).toBeGreaterThanOrEqual(0);
  });
});
