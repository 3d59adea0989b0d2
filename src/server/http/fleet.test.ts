import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { API, bearer, type Served, serve } from "../../../tests/http-app.ts";

const registration = {
  protocol: 1,
  id: "w",
  session: "session-of-w",
  zone: "default",
  zones: ["elsewhere"],
  executors: ["crunch"],
  types: ["t", "u"],
  cpu_millicores: 1000,
  memory_bytes: 0,
  slots: 3,
};
const { session } = registration;
type Headers = Record<string, string>;

let served: Served;
let ann: Headers;
let elsewhere: Headers;
let ids: Record<"ann" | "bob" | "elsewhere", string>;

const get = async (path: string, headers?: Headers) =>
  (await served.call("GET", API + path, undefined, headers)).body;

beforeAll(async () => {
  served = await serve();
  const scopes = ["submit", "read"] as const;
  ann = bearer(await served.secretOf({ scopes, agents: ["ann"], zones: ["default"] }));
  const bob = bearer(await served.secretOf({ scopes, agents: ["bob"], zones: ["default"] }));
  elsewhere = bearer(await served.secretOf({ scopes: ["admin"], zones: ["elsewhere"] }));
  await served.call("POST", "/worker/register", { registration, heartbeat: { attempts: [] } });
  const submit = async (headers: Headers, type = "t") =>
    (await served.call("POST", `${API}/submit`, { executor: "crunch", task_type: type }, headers)).body.id;
  ids = { ann: await submit(ann), bob: await submit(bob, "u"), elsewhere: await submit(elsewhere) };
  // A third of the slots each; two more wait.
  await submit(ann);
  await submit(bob);
});
afterAll(async () => {
  await served.close();
});

describe("what workers do", () => {
  const rows = async (headers?: Headers) => {
    const { attempts, types, workers } = await get("/attempts", headers);
    return attempts.task.map((task: string | null, at: number) => {
      const type = types[attempts.type[at]];
      return [workers[attempts.worker[at]], attempts.lane[at], task, type, attempts.outcome[at]];
    });
  };

  test("is told to an admin whole, to an agent without what others do, and to no other zone", async () => {
    expect(await rows()).toEqual([
      ["w", 0, ids.ann, "t", "running"],
      ["w", 1, ids.bob, "u", "running"],
    ]);
    expect(await rows(ann)).toEqual([
      ["w", 0, ids.ann, "t", "running"],
      ["w", 1, null, undefined, "other work"],
    ]);
    expect(await rows(elsewhere)).toEqual([["w", 2, ids.elsewhere, "t", "running"]]);
    const text = JSON.stringify(await get("/attempts", elsewhere));
    for (const secret of [ids.ann, ids.bob, '"u"']) expect(text).not.toContain(secret);
  });

  test("goes on from where it was asked last, and says how it ended", async () => {
    const { now_ms } = await get("/attempts");
    const report = { type: "finished", task: ids.ann, attempt: 1, started_at: now_ms, result: 1 };
    const { body } = await served.call("POST", "/worker/w/report", { session, report });
    expect(body).toEqual({ accepted: true });
    const { attempts } = await get(`/attempts?since=${now_ms}`);
    const at = attempts.task.indexOf(ids.ann);
    expect([attempts.outcome[at], attempts.lane[at]]).toEqual(["finished", 0]);
    expect(attempts.ended_ms[at]).toBeGreaterThanOrEqual(attempts.started_ms[at]);
    // What waited has its slot now.
    expect(attempts.lane.filter((lane: number) => lane === 0)).toHaveLength(2);
    const later = await get(`/attempts?since=${Number(now_ms) + 1e9}&limit=1`);
    expect(later.attempts.outcome).toEqual(["running"]);
  });

  test("is asked for with numbers", async () => {
    for (const query of ["since=-1", "since=yesterday", "limit=0", "limit=5001", "until=3"]) {
      const { status, body } = await served.call("GET", `${API}/attempts?${query}`);
      expect([status, body.errors[0].pointer], query).toEqual([422, `/${query.split("=")[0]}`]);
    }
  });
});

test("a worker says what it runs, as far as that is visible, and what it cannot take", async () => {
  const [worker] = (await get("/workers")).workers;
  expect(worker.running).toContainEqual(expect.objectContaining({ id: ids.bob, task_type: "u", attempt: 1 }));
  expect(worker.rejects).toEqual({ queue: 1 });
  const [seen] = (await get("/workers", elsewhere)).workers;
  expect(seen).toMatchObject({ zone: "", running: [{ id: ids.elsewhere }], rejects: {} });
  const [own] = (await get("/workers", ann)).workers;
  expect(own.running.map(({ id }: { id: string }) => id)).not.toContain(ids.bob);
});

test("queues say what waits, runs and is paused, to whom it concerns", async () => {
  await served.call("POST", `${API}/pause`, { executor: "held" });
  const { queues, ...zone } = await get("/queues");
  expect(zone).toEqual({ zone: "default", paused: false, max_concurrent: 10, own_max_concurrent: false });
  expect(queues).toMatchObject([
    { executor: "crunch", paused: false, ready: 1, running: 2, workers: 1 },
    { executor: "held", paused: true, ready: 0, running: 0, workers: 0 },
  ]);
  expect((await get("/queues", ann)).queues[0]).toMatchObject({ ready: 0, running: 1 });
  const other = await get("/queues", elsewhere);
  expect(other.queues).toMatchObject([{ executor: "crunch", ready: 0, running: 1, workers: 1 }]);
  await served.call("POST", `${API}/pause`, {});
  expect((await get("/queues")).paused).toBe(true);
  expect((await get("/queues", elsewhere)).paused).toBe(false);
  await served.call("POST", `${API}/resume`, {});
  await served.call("POST", `${API}/resume`, { executor: "held" });
  expect((await get("/queues")).queues).toHaveLength(1);
});

test("a worker says how many tasks that mostly wait it takes beside its slots, and has", async () => {
  const waiting = {
    id: "x",
    session: "session-of-x",
    executors: ["waits"],
    io_slots: 5,
    data_url: "http://x",
  };
  const body = { registration: { ...registration, ...waiting }, heartbeat: { attempts: [] } };
  expect(await served.call("POST", "/worker/register", body)).toMatchObject({ status: 200 });
  const graph = { nodes: { a: { task: "t", args: [], executor: "waits", io: true } } };
  expect(await served.call("POST", `${API}/runs`, { graph })).toMatchObject({ status: 201 });
  expect((await get("/workers")).workers).toMatchObject([
    { id: "w", slots: 3, io_slots: 0, io_held: 0 },
    { id: "x", slots: 3, io_slots: 5, held: 1, io_held: 1 },
  ]);
});
