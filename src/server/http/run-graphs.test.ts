import { afterAll, beforeAll, expect, test } from "vitest";
import { API, bearer, type Served, serve } from "../../../tests/http-app.ts";
import { startLocalWorker } from "../../embedded/index.ts";
import { task } from "../../worker/index.ts";

let served: Served;
beforeAll(async () => {
  served = await serve();
});
afterAll(async () => {
  await served.close();
});

const get = (path: string, headers = {}) => served.call("GET", `${API}${path}`, undefined, headers);
const submit = async (nodes: object): Promise<string> =>
  (await served.call("POST", `${API}/runs`, { graph: { nodes } })).body.id;

/** A run that was traced while the scheduler remembered it. */
const traced = { id: "", events: [] as unknown[], history: "" };

/** By node: its status, and whether it has a start and an end. */
// biome-ignore lint/suspicious/noExplicitAny: an answer of the API
function told({ nodes, statuses, status, started, ended }: any): unknown[] {
  return status.map((at: number, place: number) => [
    nodes?.[place] ?? place,
    statuses[at],
    started[place] >= 0,
    ended[place] >= 0,
  ]);
}

test("a graph is told by columns, and then only of the nodes that changed", async () => {
  const gates = new Map<string, () => void>();
  const gated = task<{ name: string }>(
    ({ name }) => new Promise((resolve) => gates.set(name, () => resolve(name))),
  );
  await using _worker = startLocalWorker(served.service.gateway, {
    handlers: { gated },
    executors: ["default"],
    zone: "default",
    slots: 2,
  });
  const node = (name: string, needs: string[] = []) => ({
    task: "gated",
    executor: "default",
    payload: { name },
    needs,
    estimate: "7s",
  });
  // So that it is not the first run, whose number others could have by mistake.
  await submit({ x: { task: "nobody" } });
  const id = await submit({ a: node("a"), b: node("b", ["a"]), c: node("c", ["a", "b"]) });
  const { body: graph } = await get(`/runs/${id}/graph`);
  expect(graph).toEqual({
    run_id: id,
    nodes: ["a", "b", "c"],
    kinds: [{ task_type: "gated", executor: "default", estimate: 7 }],
    kind: [0, 0, 0],
    edges: [0, 1, 0, 2, 1, 2],
    handed: null,
    parent: null,
  });
  await expect.poll(() => gates.has("a")).toBe(true);
  const { body: first } = await get(`/runs/${id}/graph/nodes`);
  expect(told(first)).toEqual([
    [0, "running", true, false],
    [1, "waiting", false, false],
    [2, "waiting", false, false],
  ]);
  expect(first.workers).toHaveLength(1);
  const after = (next: string) => get(`/runs/${id}/graph/nodes?cursor=${next}`);
  expect((await after(first.next)).body).toMatchObject({ nodes: [], status: [] });
  const { body: forecast } = await get(`/runs/${id}/graph/forecast`);
  expect(forecast).toMatchObject({ nodes: [0, 1, 2], critical: [0, 1, 2], skipped: [] });
  expect(forecast.end[2] - forecast.start[0]).toBeGreaterThanOrEqual(20_000);

  gates.get("a")?.();
  await expect.poll(() => gates.has("b")).toBe(true);
  const { body: second } = await after(first.next);
  expect(told(second)).toEqual([
    [0, "completed", true, true],
    [1, "running", true, false],
  ]);
  gates.get("b")?.();
  await expect.poll(() => gates.has("c")).toBe(true);
  gates.get("c")?.();
  await get(`/runs/${id}?wait=20`);
  const { body: last } = await after(second.next);
  expect(told(last)).toEqual([
    [1, "completed", true, true],
    [2, "completed", true, true],
  ]);
  expect(last.next).toBeNull();
  const { traceEvents } = (await get(`/runs/${id}/trace`)).body;
  const { text: history } = await get(`/runs/${id}/history`);
  Object.assign(traced, { id, events: traceEvents, history });
  const happened = history
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  // What takes over a second is told of while it runs.
  const ends = happened.filter(({ kind }) => kind !== "AttemptStarted");
  expect(ends.map(({ kind, data }) => [kind, data.node])).toEqual([
    ["RunSubmitted", undefined],
    ...["a", "b", "c"].flatMap((name) => [
      ["TaskAssigned", name],
      ["AttemptFinished", name],
    ]),
    ["RunEnded", undefined],
  ]);
  expect(happened[1]).toMatchObject({ run_id: id, data: { worker: first.workers[0], attempt: 1 } });
  expect(traceEvents.filter(({ ph }: { ph: string }) => ph === "X")).toMatchObject([
    { name: "a", cat: "finished", args: { attempt: 1, worker: first.workers[0] } },
    { name: "b", cat: "finished" },
    { name: "c", cat: "finished" },
  ]);
  expect((await get(`/runs/${id}/nodes/b`)).body).toMatchObject({ node: "b", status: "completed" });
  expect((await get(`/runs/${id}/nodes/z`)).status).toBe(404);
});

test("runs that the scheduler has forgotten are told from the ledger and from their tasks", async () => {
  const id = await submit({ a: { task: "nobody" }, b: { task: "nobody", needs: ["a"] } });
  const { body: before } = await get(`/runs/${id}/graph`);
  await served.call("POST", `${API}/runs/${id}/cancel`);
  const { body: known } = await get(`/runs/${id}/graph/nodes`);
  for (let n = 0; n <= 100; n++)
    await served.call("POST", `${API}/runs/${await submit({ x: { task: "nobody" } })}/cancel`);
  expect(served.service.driver.state.runById(id)).toBeUndefined();
  expect((await get(`/runs/${id}/graph`)).body).toEqual(before);
  const { body: forgotten } = await get(`/runs/${id}/graph/nodes`);
  expect(told(forgotten)).toEqual(told(known));
  expect(forgotten.next).toBeNull();
  expect((await get(`/runs/${id}/graph/forecast`)).body).toMatchObject({ nodes: [], expected_end: null });
  expect(served.service.driver.state.runById(traced.id)).toBeUndefined();
  expect((await get(`/runs/${traced.id}/trace`)).body.traceEvents).toEqual(traced.events);
  expect((await get(`/runs/${traced.id}/history`)).text).toBe(traced.history);
});

test("[Q-15] of runs of another zone, or of another agent, nothing is told", async () => {
  const id = await submit({ a: { task: "nobody" } });
  const elsewhere = bearer(await served.secretOf({ zones: ["elsewhere"] }));
  const another = bearer(await served.secretOf({ zones: ["default"], agents: ["bob"] }));
  for (const headers of [elsewhere, another])
    for (const path of ["graph", "graph/nodes", "graph/forecast", "nodes/a", "trace", "history"])
      expect((await get(`/runs/${id}/${path}`, headers)).status, path).toBe(404);
  // A place in the ledger, of which a caller may know nothing, is no place that it could read.
  const { body } = await get(`/runs/${id}/graph/nodes`);
  expect(body.next).not.toMatch(/^\d+$/);
  expect((await get(`/runs/${id}/graph/nodes?cursor=nonsense`)).status).toBe(422);
});

test("lists of runs say how many of their nodes stand where", async () => {
  const id = await submit({ a: { task: "nobody" }, b: { task: "nobody", needs: ["a"] } });
  const [first] = (await get("/runs?limit=1")).body.runs;
  expect(first).toMatchObject({ id, counts: { queued: 2, running: 0 } });
});
