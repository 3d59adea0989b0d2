import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { API, bearer, type Served, serve } from "../../../tests/http-app.ts";
import { testDatabase } from "../../../tests/postgres.ts";
import { MemoryStore, type ServiceStore } from "../../store/index.ts";
import { PostgresStore } from "../../store/postgres/store.ts";

const STORES: Readonly<Record<string, () => Promise<ServiceStore>>> = {
  memory: async () => new MemoryStore(),
  PostgreSQL: async () => PostgresStore.open(await testDatabase()),
};

const registration = {
  protocol: 1,
  id: "w",
  session: "session-of-w",
  zone: "default",
  zones: ["elsewhere"],
  executors: ["crunch"],
  types: ["t"],
  cpu_millicores: 1000,
  memory_bytes: 0,
  slots: 2,
};
const { session } = registration;

describe.each(Object.entries(STORES))("the past on %s", (_name, open) => {
  let served: Served;
  let elsewhere: Record<string, string>;
  let [first, other]: string[] = [];
  /** Events by what had just happened. */
  const at: Record<string, number> = {};

  const get = (path: string, headers?: Record<string, string>) =>
    served.call("GET", API + path, undefined, headers);
  const note = async (name: string) => {
    at[name] = (await get("/ledger/head")).body.seq;
  };
  const then = async (path: string, name: string, headers?: Record<string, string>) =>
    (await get(`${path}${path.includes("?") ? "&" : "?"}at=${at[name]}`, headers)).body;
  const submit = async (body: object, headers?: Record<string, string>) =>
    (await served.call("POST", `${API}/submit`, { executor: "crunch", task_type: "t", ...body }, headers))
      .body.id as string;

  beforeAll(async () => {
    served = await serve([], { store: await open() });
    elsewhere = bearer(
      await served.secretOf({ scopes: ["admin", "operator"], zones: ["elsewhere"], agents: ["*"] }),
    );
    await note("nothing");
    first = await submit({ payload: { secret: "of default" }, budget: { ops: 100 } });
    await note("queued");
    await served.call("POST", "/worker/register", { registration, heartbeat: { attempts: [] } });
    await note("running");
    other = await submit({ payload: { secret: "of elsewhere" } }, elsewhere);
    const report = { type: "finished", task: first, attempt: 1, started_at: 0, result: { made: 42 } };
    await served.call("POST", "/worker/w/report", { session, report });
    await note("ended");
  });
  afterAll(async () => {
    await served.close();
  });

  test("[P-15] a task is told as it was, with the payload and result that it had", async () => {
    expect((await get(`/task/${first}?at=${at["nothing"]}`)).status).toBe(404);
    const queued = await then(`/task/${first}`, "queued");
    expect([queued.status, queued.worker_id, queued.payload, queued.result]).toEqual([
      "queued",
      null,
      { secret: "of default" },
      null,
    ]);
    expect(queued.budget.given).toMatchObject({ ops: 100 });
    const running = await then(`/task/${first}`, "running");
    expect([running.status, running.worker_id, running.result]).toEqual(["running", "w", null]);
    const ended = await then(`/task/${first}`, "ended");
    expect([ended.status, ended.result]).toEqual(["completed", { made: 42 }]);
  });

  test("[P-15] lists, reasons, events, workers and the overview are those of then", async () => {
    expect((await then("/tasks?status=queued", "queued")).tasks).toHaveLength(1);
    expect((await then("/tasks?status=queued", "running")).tasks).toHaveLength(0);
    const why = await then(`/task/${first}/why`, "queued");
    expect(why.waiting[0].code).toBe("Unsatisfiable");
    expect((await then(`/task/${first}/why`, "ended")).placed.worker_id).toBe("w");
    const kinds = async (name: string) =>
      (await then(`/task/${first}/events`, name)).events.map(({ kind }: { kind: string }) => kind);
    expect(await kinds("running")).toEqual(["TaskSubmitted", "TaskAssigned"]);
    expect((await then("/workers", "queued")).workers).toEqual([]);
    expect((await then("/workers", "running")).workers[0].held).toBe(1);
    expect((await then("/overview", "running")).classes[1].running).toBe(1);
    expect((await then("/overview", "ended")).ended).toEqual({ completed: 1, failed: 0, cancelled: 0 });
    expect((await then("/attempts", "ended")).attempts.task).toContain(first);
    expect((await then("/metrics", "ended")).totals.completed).toBe(1);
    for (const path of ["/runs", "/queues", "/agents", "/limits", `/task/${first}/log`])
      expect((await get(`${path}?at=${at["ended"]}`)).status, path).toBe(200);
  });

  test("a zone sees nothing of another, now or then", async () => {
    const paths = ["/tasks", "/overview", "/workers", "/attempts", "/agents", "/queues", "/metrics", "/runs"];
    for (const path of paths) {
      const text = JSON.stringify(await then(path, "ended", elsewhere));
      for (const secret of [first ?? "", "of default"]) expect(text, path).not.toContain(secret);
    }
    expect(JSON.stringify(await then("/tasks", "ended", elsewhere))).toContain(other);
    for (const path of ["", "/why", "/events", "/log", "/placement"])
      expect((await get(`/task/${first}${path}?at=${at["ended"]}`, elsewhere)).status, path).toBe(404);
  });

  test("without the scope operator the past is refused, and says so", async () => {
    const reader = bearer(await served.secretOf({ scopes: ["read", "admin"], zones: ["default"] }));
    for (const path of ["/overview", "/tasks", `/task/${first}`, `/task/${first}/why`]) {
      const { status, body } = await get(`${path}?at=1`, reader);
      expect([status, body.code, body.detail]).toEqual([
        403,
        "scope",
        "to look at the past needs the scope operator: the ledger spans all zones",
      ]);
    }
  });

  test("what lies ahead, what is no event, and what is only told of now are refused", async () => {
    const { status, body } = await get("/overview?at=1000000");
    expect([status, body.errors[0].pointer]).toEqual([422, "/at"]);
    expect(body.detail).toContain("the ledger ends at event");
    for (const bad of ["-1", "1.5", "x", ""]) expect((await get(`/overview?at=${bad}`)).status).toBe(422);
    expect((await get("/whoami?at=1")).status).toBe(422);
    expect((await get("/ledger/head?at=1")).status).toBe(422);
  });

  test("the past cannot be changed", async () => {
    for (const path of [`/task/${other}/cancel`, "/submit", "/pause"]) {
      const { status, body } = await served.call("POST", `${API}${path}?at=1`, {});
      expect([status, body.code]).toEqual([409, "past-fixed"]);
    }
    expect((await get(`/task/${other}`, elsewhere)).body.status).toBe("running");
  });

  test("[P-11] every worker that a task could have gone to is told, by attempt", async () => {
    const { body } = await get(`/task/${first}/placement`);
    expect(body).toMatchObject({ attempt: 1, worker_id: "w", decided_by: "there was no other candidate" });
    expect(body.candidates).toMatchObject([{ worker_id: "w", rank: 1, rejection: null, held: 0 }]);
    expect((await get(`/task/${first}/placement?attempt=2`)).status).toBe(404);
    expect((await get(`/task/${first}/placement?at=${at["queued"]}`)).status).toBe(404);
  });

  test("the ledger is paged in both directions, by kind, by task and by time", async () => {
    const { body: all } = await get("/ledger/events?limit=1000");
    const seqs = all.events.map(({ seq }: { seq: number }) => seq);
    expect(seqs).toEqual(seqs.map((_: number, place: number) => place + 1));
    expect(all.last_seq).toBe(at["ended"]);
    const { body: back } = await get(`/ledger/events?before=${all.last_seq}&limit=2`);
    expect(back.events.map(({ seq }: { seq: number }) => seq)).toEqual([all.last_seq - 1, all.last_seq - 2]);
    const { body: placed } = await get("/ledger/events?kind=TaskAssigned");
    expect(placed.events).toMatchObject([
      { kind: "TaskAssigned", task_id: first, worker_id: "w", zone: "default", data: { attempt: 1 } },
      { kind: "TaskAssigned", task_id: other, zone: "elsewhere" },
    ]);
    const { body: ofTask } = await get(`/ledger/events?task=${other}`);
    expect(ofTask.events).toHaveLength(2);
    const last = all.events.at(-1);
    expect((await get(`/ledger/at?time=${last.at}`)).body).toEqual({ seq: last.seq, at: last.at });
    expect((await get("/ledger/at?time=1970-01-02T00:00:00Z")).body.seq).toBe(0);
    expect((await get("/ledger/at?time=yesterday")).status).toBe(422);
    const { body: moments } = await get("/ledger/moments?buckets=3");
    expect([moments.first.seq, moments.last.seq, moments.buckets.length]).toEqual([1, last.seq, 3]);
    const counted = moments.buckets.flatMap(({ kinds }: { kinds: object }) => Object.values(kinds));
    expect(counted.reduce((sum: number, count: number) => sum + count, 0)).toBe(last.seq);
  });

  test("[P-15] the state by replay is the one that the scheduler has", async () => {
    expect((await get("/ledger/replay")).body.replay).toEqual({ seq: at["ended"], equal: true });
    expect((await get("/ledger/head")).body.replay).toEqual({ seq: at["ended"], equal: true });
  });
});
