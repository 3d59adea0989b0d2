import { afterAll, beforeAll, expect, test } from "vitest";
import { API, type Served, serve } from "../../../tests/http-app.ts";

const TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const OTHER = "00-aaaabbbbccccddddeeeeffff00001111-00f067aa0ba902b7-00";

const session = "session-of-w1";
const attempts: { task: string; attempt: number; started_at: number }[] = [];
let served: Served;
beforeAll(async () => {
  served = await serve();
  const registration = {
    ...{ protocol: 1, id: "w1", session, executors: ["crunch", "local"], types: ["t"] },
    ...{ cpu_millicores: 100_000, memory_bytes: 2 ** 40, slots: 100 },
  };
  await served.call("POST", "/worker/register", { registration, heartbeat: { attempts } });
});
afterAll(async () => {
  await served.close();
});

function submit(headers: Record<string, string>, body: object = {}) {
  return served.call("POST", `${API}/submit`, { executor: "crunch", task_type: "t", ...body }, headers);
}

/** What the worker is given of a task. */
async function assigned(fits: (one: { task: string; node?: string }) => boolean) {
  for (;;) {
    const { body } = await served.call("POST", "/worker/w1/poll?wait=10", {
      session,
      heartbeat: { attempts },
    });
    for (const { task, attempt } of body.assignments) attempts.push({ task, attempt, started_at: -1 });
    const found = body.assignments.find(fits);
    if (found) return found;
  }
}

test("a submission's trace goes to its worker, again when it is put back, and never into an answer", async () => {
  const made = await submit({ traceparent: TRACE, tracestate: "shop=7" }, { max_attempts: 1 });
  const { id } = made.body;
  const first = await assigned(({ task }) => task === id);
  expect([first.traceparent, first.tracestate]).toEqual([TRACE, "shop=7"]);
  const report = { type: "failed", task: id, attempt: 1, started_at: 1, code: "no", message: "no" };
  await served.call("POST", "/worker/w1/report", { session, report });
  attempts.length = 0;
  expect((await served.call("POST", `${API}/task/${id}/retry`)).status).toBe(200);
  const second = await assigned(({ task }) => task === id);
  expect([second.attempt, second.traceparent]).toEqual([2, TRACE]);
  expect(made.text).not.toContain(TRACE);
});

test("one that has not the right form is as if it were not there", async () => {
  const { status, body } = await submit({ traceparent: `${TRACE}-more`, tracestate: "shop=7" });
  expect(status).toBe(201);
  const given = await assigned(({ task }) => task === body.id);
  expect(Object.keys(given)).not.toContain("traceparent");
  expect(Object.keys(given)).not.toContain("tracestate");
});

test("the same request in another trace is the same request, and keeps the first one's", async () => {
  const key = { "idempotency-key": "once" };
  const { body } = await submit({ ...key, traceparent: TRACE });
  const again = await submit({ ...key, traceparent: OTHER });
  expect([again.status, again.body.id]).toEqual([200, body.id]);
  expect((await assigned(({ task }) => task === body.id)).traceparent).toBe(TRACE);
});

test("each node of a run goes on in the run's trace", async () => {
  const graph = { nodes: { a: { task: "t" }, b: { task: "t" } } };
  await served.call("POST", `${API}/runs`, { graph }, { traceparent: OTHER });
  expect((await assigned(({ node }) => node === "a" || node === "b")).traceparent).toBe(OTHER);
});
