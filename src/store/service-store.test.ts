import { describe, expect, test } from "vitest";
import { blockOn, endedAt, runOf, submitted, taskOf } from "../../tests/any-rows.ts";
import { testDatabase } from "../../tests/postgres.ts";
import { BlockWriter } from "../ledger/index.ts";
import type { ServiceStore } from "./contract.ts";
import { MemoryStore } from "./memory.ts";
import { PostgresStore } from "./postgres/store.ts";
import {
  type ApiKeyRow,
  type LogLine,
  NO_CHANGES,
  QUEUED,
  type Retention,
  type RowChanges,
  type ScheduleRow,
  type TaskFilter,
} from "./rows.ts";

const STORES: Readonly<Record<string, () => Promise<ServiceStore>>> = {
  memory: async () => new MemoryStore(),
  postgres: async () => PostgresStore.open(await testDatabase()),
};

const FOR_EVER: Retention = { endedTasksMs: null, logsMs: null, idempotencyMs: Number.MAX_SAFE_INTEGER };

function scheduleOf(id: string, changed: Partial<ScheduleRow>): ScheduleRow {
  return {
    id,
    zone: "main",
    agent: "ada",
    name: "nightly",
    cron: "0 6 * * *",
    timeZone: "Europe/Berlin",
    task: '{"task_type":"a"}',
    catchUp: "all",
    catchUpLimit: 7,
    overlap: "skip",
    startAt: -1,
    endAt: 9,
    paused: false,
    createdAt: 1,
    seenTo: 1,
    lastFiredAt: -1,
    lastTaskId: "",
    lastError: "",
    keyId: "the key",
    ...changed,
  };
}

async function commit(store: ServiceStore, changes: Partial<RowChanges>): Promise<void> {
  expect(await store.commit(blockOn(store.head), { ...NO_CHANGES, ...changes })).toBe(true);
}

/** What is listed, page by page. */
async function listed(store: ServiceStore, filter: TaskFilter, pageSize = 2): Promise<string[]> {
  const ids: string[] = [];
  for (let after: { id: string; submittedSeq: number } | undefined; ; ) {
    const page = await store.tasks(filter, after, pageSize);
    ids.push(...page.map(({ id }) => id));
    after = page.at(-1);
    if (page.length < pageSize || !after) return ids;
  }
}

describe.each(Object.entries(STORES))("the %s service store", (_, open) => {
  test("the block of an event is found by the event's sequence", async () => {
    await using store = await open();
    const blocks = [3, 1, 2].map((count) => {
      const writer = new BlockWriter();
      for (let n = 0; n < count; n++) writer.add({ kind: "CancelRequested", run: n, node: -1 });
      return writer;
    });
    let seq = 0;
    for (const writer of blocks) {
      const block = writer.seal(store.head, 1, 1000);
      await store.commit(block, NO_CHANGES);
      for (let n = 0; n < writer.count; n++) expect(await store.blockAt(++seq)).toEqual(block);
    }
    expect(await store.blockAt(0)).toBeUndefined();
    expect(await store.blockAt(store.head.seq + 1)).toBeUndefined();
  });

  test("a task can be read as it was submitted, and as it ended", async () => {
    await using store = await open();
    const task = taskOf("t1", {
      run: undefined,
      deadline: 7,
      runAt: 9,
      boostMicros: 20_000,
      submittedSeq: 3,
    });
    await commit(store, submitted(task));
    expect(await store.task("t1")).toEqual({ ...task, ...QUEUED });
    await commit(store, { progressed: [{ id: "t1", progress: endedAt(100) }] });
    expect(await store.task("t1")).toEqual({ ...task, ...endedAt(100) });
    expect(await store.task("t2")).toBeUndefined();
  });

  test("what is first written of a task needs no look at it, and what is written later does", async () => {
    await using store = await open();
    const tasks = ["t1", "t2"].map((id, at) => taskOf(id, { submittedSeq: at + 1, agent: `agent-${at}` }));
    await commit(store, {
      submitted: tasks.map((task) => ({ task, progress: { ...QUEUED, seq: task.submittedSeq } })),
    });
    const [zone, agent] = ["main", "agent-0"];
    const progressed = [
      { id: "t1", progress: endedAt(100), first: { zone, agent, seq: 1 } },
      { id: "t2", progress: endedAt(101, { status: "failed" }) },
    ];
    await commit(store, { progressed });
    expect(await store.task("t1")).toEqual({ ...tasks[0], ...endedAt(100) });
    expect(await store.task("t2")).toEqual({ ...tasks[1], ...endedAt(101, { status: "failed" }) });
    await commit(store, { progressed: [{ id: "t1", progress: endedAt(102) }] });
    expect(await store.task("t1")).toEqual({ ...tasks[0], ...endedAt(102) });
    const filter = { zone, statuses: ["completed" as const] };
    expect((await store.tasks({ ...filter, agent }, undefined, 10)).map(({ id }) => id)).toEqual(["t1"]);
    expect((await store.tasks(filter, undefined, 10)).map(({ id }) => id)).toEqual(["t1"]);
  });

  test("ends are written as they came: one alone, several alike, and with what cannot stand between two texts", async () => {
    await using store = await open();
    let seq = 100;
    const end = async (...results: readonly (string | undefined)[]) => {
      const tasks = results.map(() => taskOf(`t${++seq}`, { agent: `agent ${seq % 3}`, submittedSeq: seq }));
      await commit(store, {
        submitted: tasks.map((task) => ({ task, progress: { ...QUEUED, seq: task.submittedSeq } })),
      });
      const progressed = tasks.map(({ id, zone, agent, submittedSeq }, at) => {
        seq += 1;
        const own = { worker: `w${seq % 2}`, startedAt: seq, result: results[at], resultHash: `hash-${seq}` };
        return { id, progress: endedAt(1000, { ...own, seq }), first: { zone, agent, seq: submittedSeq } };
      });
      await commit(store, { progressed });
      for (const [at, task] of tasks.entries())
        expect(await store.task(task.id)).toEqual({ ...task, ...progressed[at]?.progress });
    };
    await end('{"a":1}');
    await end(undefined);
    await end('{"a":"\\"{,}"}', undefined, "", "null", "");
    await end(undefined, undefined);
    await end("1", "a\u0001b", "\u0002");
    await end("\u0002");
  });

  test("a task that is submitted and ends in one block is written with its end", async () => {
    await using store = await open();
    const progress = endedAt(100, { status: "failed", result: undefined, errorMessage: "no" });
    await commit(store, { submitted: [{ task: taskOf("t1"), progress }] });
    expect(await store.task("t1")).toEqual({ ...taskOf("t1"), ...progress });
  });

  test("what was done is listed by zone, newest first, and the oldest goes first", async () => {
    await using store = await open();
    const row = {
      keyId: "k",
      agent: "ada",
      action: "worker.drain",
      target: "w",
      before: "null",
      detail: "{}",
    };
    const rows = ["a", "b", "c", "d"].map((id, at) => ({
      ...row,
      id,
      at,
      zone: at === 1 ? "other" : "main",
      seq: 10 - at,
    }));
    await commit(store, { audits: rows.slice(2) });
    await commit(store, { audits: rows.slice(0, 2) });
    const [a, b, c, d] = rows;
    expect(await store.audit.list(["main"], undefined, 10)).toEqual([d, c, a]);
    expect(await store.audit.list(["main", "other"], "d", 2)).toEqual([c, b]);
    expect(await store.audit.list(["elsewhere"], undefined, 10)).toEqual([]);
    expect(await store.audit.all()).toEqual([d, c, b, a]);
    await store.audit.prune(10);
    await store.audit.prune(2);
    expect(await store.audit.list(["main", "other"], undefined, 10)).toEqual([d, c]);
  });

  test("recurring tasks are kept in their order, and one that is gone or has come further stays so", async () => {
    await using store = await open();
    const second = scheduleOf("s2", { createdAt: 7 });
    const first = scheduleOf("s1", { createdAt: 5, seenTo: 100 });
    await store.schedules.save(second);
    await store.schedules.save(first);
    expect(await store.schedules.all()).toEqual([first, second]);
    const fired = { seenTo: 200, lastFiredAt: 150, lastTaskId: "t1", lastError: "no" };
    await store.schedules.noteFired("s1", fired);
    await store.schedules.noteFired("s1", { ...fired, seenTo: 120, lastTaskId: "late" });
    await store.schedules.save({ ...second, paused: true });
    expect(await store.schedules.all()).toEqual([
      { ...first, ...fired },
      { ...second, paused: true },
    ]);
    await store.schedules.remove("s1");
    await store.schedules.noteFired("s1", fired);
    expect(await store.schedules.all()).toEqual([{ ...second, paused: true }]);
  });

  test("a refused commit writes no rows", async () => {
    await using store = await open();
    const first = store.head;
    await commit(store, { ...submitted(taskOf("t1")), runs: [runOf("r1")] });
    const late: RowChanges = {
      ...submitted(taskOf("t2")),
      alternatives: [{ task: taskOf("t3"), of: "t1" }],
      progressed: [{ id: "t1", progress: endedAt(100) }],
      keys: [{ zone: "main", agent: "ada", key: "k", taskId: "t2", bodyHash: "b" }],
      runs: [runOf("r2")],
      runsEnded: [{ id: "r1", outcome: "failed", endedAt: 100 }],
    };
    expect(await store.commit(blockOn(first), late)).toBe(false);
    expect(await store.task("t2")).toBeUndefined();
    expect(await store.task("t3")).toBeUndefined();
    expect((await store.task("t1"))?.status).toBe("queued");
    expect(await store.keyed(late.keys)).toEqual([]);
    expect(await store.run("r2")).toBeUndefined();
    expect(await store.run("r1")).toEqual(runOf("r1"));
  });

  test("[G-08] an alternative asks for what its node asks for, and a node gets the result that was chosen", async () => {
    await using store = await open();
    const run = { id: "r1", node: "build" };
    const node = taskOf("t1", { run, settings: '{"needs":[]}' });
    await commit(store, { ...submitted(node), runs: [runOf("r1")] });
    const ids = ["t1 a", "t1 b"];
    const alternatives = ids.map((id) => ({
      task: taskOf(id, { run: { id: "r1", node: id }, submittedSeq: 2, payload: "", settings: "{}" }),
      of: "t1",
    }));
    await commit(store, { alternatives });
    expect(await store.task("t1 a")).toEqual({
      ...alternatives[0]?.task,
      ...QUEUED,
      seq: 2,
      payload: node.payload,
      settings: node.settings,
    });
    await commit(store, { progressed: [{ id: "t1 b", progress: endedAt(50, { result: '"best"' }) }] });
    const progress = { ...QUEUED, status: "completed", endedAt: 60, resultHash: "c", seq: 4 } as const;
    await commit(store, { chosen: [{ id: "t1", progress, of: "t1 b" }] });
    expect(await store.task("t1")).toEqual({ ...node, ...progress, result: '"best"' });
    const found = await store.tasks({ zone: "main", runId: "r1" }, undefined, 10);
    expect(found.map(({ id }) => id).sort()).toEqual(["t1", "t1 a", "t1 b"]);
  });

  test("[D-03] a task gets the result of another in the block in which it comes, and one that was to be made again", async () => {
    await using store = await open();
    await commit(store, submitted(taskOf("t1"), taskOf("t2")));
    await commit(store, { progressed: [{ id: "t1", progress: endedAt(50, { result: '"made"' }) }] });
    await commit(store, { progressed: [{ id: "t2", progress: { ...QUEUED, attempt: 1, seq: 3 } }] });
    const progress = { ...QUEUED, status: "completed", endedAt: 60, resultHash: "c", seq: 4 } as const;
    const task = taskOf("t3", { submittedSeq: 4 });
    const { zone, agent, submittedSeq: seq } = task;
    const chosen = [
      { id: "t3", progress, of: "t1", first: { zone, agent, seq } },
      { id: "t2", progress: { ...progress, attempt: 1 }, of: "t1" },
    ];
    await commit(store, { submitted: [{ task, progress: { ...QUEUED, seq } }], chosen });
    expect(await store.task("t3")).toEqual({ ...task, ...progress, result: '"made"' });
    expect(await store.task("t2")).toMatchObject({ status: "completed", attempt: 1, result: '"made"' });
  });

  test("[Q-14] a key is found by its zone, agent and key, and by nothing less", async () => {
    await using store = await open();
    const key = { zone: "main", agent: "ada", key: "k1", taskId: "t1", bodyHash: "b1" };
    const other = { ...key, agent: "bob", taskId: "t2", bodyHash: "b2" };
    await commit(store, { ...submitted(taskOf("t1"), taskOf("t2")), keys: [key, other] });
    const asked = [key, other, { ...key, zone: "east" }, { ...key, key: "k2" }];
    const found = await store.keyed(asked.map(({ zone, agent, key: name }) => ({ zone, agent, key: name })));
    expect([...found].sort((a, b) => (a.taskId < b.taskId ? -1 : 1))).toEqual([key, other]);
    expect(await store.keyed([])).toEqual([]);
  });

  test("[Q-14] a key that is used twice is refused with its whole block", async () => {
    await using store = await open();
    const key = { zone: "main", agent: "ada", key: "k1", taskId: "t1", bodyHash: "b1" };
    await commit(store, { ...submitted(taskOf("t1")), keys: [key] });
    const { head } = store;
    const again = { ...submitted(taskOf("t2")), keys: [{ ...key, taskId: "t2" }] };
    await expect(store.commit(blockOn(head), again)).rejects.toMatchObject({ code: "refused" });
    expect(await store.refresh()).toEqual(head);
    expect(await store.task("t2")).toBeUndefined();
    await commit(store, submitted(taskOf("t2")));
  });

  test("payloads are found by id, as they were written", async () => {
    await using store = await open();
    const texts = {
      unicode: '{"a":"ünïcödé 🚀 \u2028"}',
      quotes: String.raw`{"a":"\"\\'{}$1,NULL\\x00"}`,
      nul: String.raw`{"a":"\u0000"}`,
      numbers: '{"a":1e400,"b":-0,"c":0.1000,"d":12345678901234567890}',
      empty: "{}",
      null: "null",
      big: JSON.stringify({ a: 'x"\\ü'.repeat(250_000) }),
    };
    const tasks = Object.entries(texts).map(([id, payload]) => taskOf(id, { payload }));
    await commit(store, submitted(...tasks));
    const found = await store.payloads([...Object.keys(texts), "unknown"]);
    expect(new Map(Object.entries(texts))).toEqual(
      new Map(Array.from(found, ([id, { payload }]) => [id, payload])),
    );
    for (const [id, payload] of Object.entries(texts)) expect((await store.task(id))?.payload).toBe(payload);
  });

  test("tasks of many kinds go into one commit", async () => {
    await using store = await open();
    const tasks = Array.from({ length: 100 }, (_, at) =>
      taskOf(`t${at}`, {
        zone: at % 3 ? "main" : "east",
        settings: `{"n":${at % 50}}`,
        enqueuedAt: at % 2,
        run: at % 7 ? undefined : { id: "r", node: `n${at}` },
        submittedSeq: at + 1,
      }),
    );
    const progress = (at: number) => (at % 5 ? { ...QUEUED, seq: at + 1 } : endedAt(100 + at));
    await commit(store, { submitted: tasks.map((task, at) => ({ task, progress: progress(at) })) });
    for (const [at, task] of tasks.entries())
      expect(await store.task(task.id)).toEqual({ ...task, ...progress(at) });
  });

  test("tasks are written as they came: one alone, several alike, and with what cannot stand between two texts", async () => {
    await using store = await open();
    let seq = 0;
    const bring = async (...payloads: readonly string[]) => {
      const tasks = payloads.map((payload) => {
        seq += 1;
        const own = { agent: `agent ${seq % 3}`, estimateMs: 1000 * seq, payloadHash: `hash-${seq}` };
        return taskOf(`t${seq}`, { run: undefined, submittedSeq: seq, payload, ...own });
      });
      await commit(store, submitted(...tasks));
      for (const task of tasks) expect(await store.task(task.id)).toMatchObject(task);
    };
    await bring('{"a":"ünïcödé 🚀"}');
    await bring(JSON.stringify({ a: "long ü🚀".repeat(1000) }));
    await bring("");
    await bring('{"a":1}', '{"a":"\\"{,}"}', "", "null", "");
    await bring("", "");
    await bring("null", "a\u0001b", "\u0001");
    await bring("\u0001");
    expect(seq).toBe(14);
  });

  test("payloads come with the settings of tasks that belong to a trace, and of no others", async () => {
    await using store = await open();
    const settings = '{"needs":[],"traceparent":"00-…-01"}';
    await commit(store, submitted(taskOf("a", { settings }), taskOf("b")));
    const found = await store.payloads(["a", "b"]);
    expect(found.get("a")?.tracedSettings).toBe(settings);
    expect(found.get("b")?.tracedSettings).toBeUndefined();
  });

  test("tasks are listed newest first, page by page", async () => {
    await using store = await open();
    await commit(store, submitted(taskOf("a"), taskOf("b"), taskOf("c")));
    await commit(store, {
      ...submitted(taskOf("0", { submittedSeq: 2 }), taskOf("z", { zone: "east" })),
    });
    for (const size of [1, 2, 3, 10]) {
      expect(await listed(store, { zone: "main" }, size), `pages of ${size}`).toEqual(["0", "c", "b", "a"]);
    }
    expect(await listed(store, { zone: "west" })).toEqual([]);
    const [line] = await store.tasks({ zone: "east" }, undefined, 10);
    const { payload: _payload, settings: _settings, ...rest } = taskOf("z", { zone: "east" });
    const { result: _result, ...progress } = QUEUED;
    expect(line).toEqual({ ...rest, ...progress });
  });

  test("a list holds what the filter asks for, in whatever state", async () => {
    await using store = await open();
    const run = { id: "r1", node: "n" };
    await commit(store, {
      ...submitted(
        taskOf("a"),
        taskOf("b", { agent: "bob" }),
        taskOf("c", { executor: "docker" }),
        taskOf("d", { type: "test" }),
        taskOf("e", { run }),
        taskOf("f", { run: { id: "r2", node: "n" } }),
      ),
      runs: [runOf("r1")],
    });
    await commit(store, {
      progressed: [
        {
          id: "a",
          progress: { ...QUEUED, status: "running", attempt: 1, worker: "w1", startedAt: 3, seq: 2 },
        },
        { id: "b", progress: endedAt(100) },
        { id: "d", progress: endedAt(100, { status: "cancelled" }) },
      ],
    });
    const zone = "main";
    expect(await listed(store, { zone })).toEqual(["f", "e", "d", "c", "b", "a"]);
    expect(await listed(store, { zone, agent: "bob" })).toEqual(["b"]);
    expect(await listed(store, { zone, executor: "docker" })).toEqual(["c"]);
    expect(await listed(store, { zone, type: "test" })).toEqual(["d"]);
    expect(await listed(store, { zone, runId: "r1" })).toEqual(["e"]);
    expect(await listed(store, { zone, statuses: ["running"] })).toEqual(["a"]);
    expect(await listed(store, { zone, statuses: ["completed", "cancelled"] })).toEqual(["d", "b"]);
    expect(await listed(store, { zone, statuses: [] })).toEqual([]);
    expect(await listed(store, { zone, agent: "ada", statuses: ["queued"], type: "build" })).toEqual([
      "f",
      "e",
      "c",
    ]);
    const among = ["a", "e", "none", "b", "f"];
    expect(await listed(store, { zone, among })).toEqual(["f", "e", "b", "a"]);
    expect(await listed(store, { zone, among, statuses: ["queued", "running"] })).toEqual(["f", "e", "a"]);
    expect(await listed(store, { zone, among, agent: "bob", statuses: ["queued"] })).toEqual([]);
    expect((await store.task("e"))?.run).toEqual(run);
  });

  test("runs are read, listed newest first, and end", async () => {
    await using store = await open();
    const bob = runOf("r2", { agent: "bob", submittedSeq: 2 });
    await commit(store, { runs: [runOf("r1"), bob, runOf("r3", { zone: "east" })] });
    await commit(store, { runsEnded: [{ id: "r1", outcome: "completed", endedAt: 50 }] });
    const ended = runOf("r1", { outcome: "completed", endedAt: 50 });
    expect(await store.run("r1")).toEqual(ended);
    expect(await store.run("none")).toBeUndefined();
    expect(await store.runs({ zone: "main" }, undefined, 10)).toEqual([bob, ended]);
    expect(await store.runs({ zone: "main" }, bob, 10)).toEqual([ended]);
    expect(await store.runs({ zone: "main", agent: "bob" }, undefined, 10)).toEqual([bob]);
    expect(await store.runs({ zone: "main" }, undefined, 1)).toEqual([bob]);
  });

  test("lines of a log are kept in order, and once", async () => {
    await using store = await open();
    await commit(store, submitted(taskOf("t1"), taskOf("t2")));
    const line = (at: number): LogLine => ({
      taskId: "t1",
      attempt: 1,
      line: at,
      at: 100 + at,
      stream: at % 2 === 0 ? "stdout" : "stderr",
      text: `line ${at} "\\ ü`,
    });
    await store.appendLogs([line(1), line(2)]);
    await store.appendLogs([line(2), line(4), line(3)]);
    await store.appendLogs([]);
    expect(await store.logs("t1", 0, 10)).toEqual([line(1), line(2), line(3), line(4)]);
    expect(await store.logs("t1", 2, 1)).toEqual([line(3)]);
    expect(await store.logs("t2", 0, 10)).toEqual([]);
  });

  test("API keys are added and replaced", async () => {
    await using store = await open();
    const key: ApiKeyRow = {
      id: "k1",
      name: "ci",
      hmac: "00ff",
      scopes: ["submit", "read"],
      zones: ["*"],
      agents: [],
      createdAt: 1,
      expiresAt: -1,
      revokedAt: -1,
      keyId: "the maker",
      handedTo: "",
    };
    await store.saveApiKey(key);
    await store.saveApiKey({ ...key, id: "k2", agents: ["ada", 'b"o,b'] });
    await store.saveApiKey({ ...key, revokedAt: 9 });
    const keys = [...(await store.apiKeys())].sort((a, b) => (a.id < b.id ? -1 : 1));
    expect(keys).toEqual([
      { ...key, revokedAt: 9 },
      { ...key, id: "k2", agents: ["ada", 'b"o,b'] },
    ]);
  });

  test("the first to ask for a setting decides it", async () => {
    await using store = await open();
    expect(await store.setting("secret", () => "one")).toBe("one");
    expect(await store.setting("secret", () => "two")).toBe("one");
    expect(await store.setting("other", () => "")).toBe("");
  });

  test("what is older than the retention is dropped, and nothing else", async () => {
    await using store = await open();
    const key = { zone: "main", agent: "ada", key: "k", bodyHash: "b" };
    const line = { attempt: 1, line: 1, at: 100, stream: "log", text: "" } as const;
    await commit(store, {
      runs: [runOf("open"), runOf("done", { outcome: "failed", endedAt: 100 })],
      submitted: [
        { task: taskOf("old"), progress: endedAt(100) },
        { task: taskOf("new"), progress: endedAt(200) },
        { task: taskOf("waiting"), progress: QUEUED },
        { task: taskOf("needed", { run: { id: "open", node: "a" } }), progress: endedAt(100) },
        { task: taskOf("spent", { run: { id: "done", node: "a" } }), progress: endedAt(100) },
      ],
      keys: ["old", "new", "waiting"].map((taskId) => ({ ...key, key: taskId, taskId })),
    });
    await store.appendLogs(["old", "new", "waiting"].map((taskId) => ({ ...line, taskId })));
    const keys = async () =>
      (await store.keyed(["old", "new", "waiting"].map((name) => ({ ...key, key: name })))).map(
        ({ taskId }) => taskId,
      );
    expect(await store.prune(10_000, FOR_EVER)).toBe(0);
    expect(await keys()).toHaveLength(3);
    expect(await store.prune(250, { ...FOR_EVER, endedTasksMs: 100 })).toBe(2);
    expect(await listed(store, { zone: "main" })).toEqual(["waiting", "new", "needed"].sort().reverse());
    expect((await keys()).sort()).toEqual(["new", "waiting"]);
    expect(await store.logs("old", 0, 10)).toEqual([]);
    expect(await store.run("done")).toBeUndefined();
    expect(await store.run("open")).toBeDefined();
    expect(await store.logs("new", 0, 10)).toHaveLength(1);
    expect(await store.prune(250, { ...FOR_EVER, logsMs: 100, idempotencyMs: 50 })).toBe(0);
    expect(await store.logs("new", 0, 10)).toEqual([]);
    expect(await keys()).toEqual(["waiting"]);
  });

  test("10,000 tasks go into one commit", async () => {
    await using store = await open();
    const tasks = Array.from({ length: 10_000 }, (__, at) => taskOf(`t${String(at).padStart(5, "0")}`));
    await commit(store, submitted(...tasks));
    await commit(store, { progressed: tasks.map(({ id }) => ({ id, progress: endedAt(100) })) });
    expect(await store.tasks({ zone: "main", statuses: ["completed"] }, undefined, 20_000)).toHaveLength(
      10_000,
    );
    expect((await store.payloads(tasks.map(({ id }) => id))).size).toBe(10_000);
    expect(await store.prune(1_000, { ...FOR_EVER, endedTasksMs: 0 })).toBe(10_000);
  });

  test("it says what it is and whether it is there", async () => {
    await using store = await open();
    expect(["memory", "postgresql"]).toContain(store.backend);
    expect(await store.isReachable()).toBe(true);
    expect(await store.refresh()).toEqual(store.head);
  });
});

test("[Q-17] a memory store keeps 10,000 ended tasks and forgets the oldest with their keys and logs", async () => {
  const store = new MemoryStore();
  const key = { zone: "main", agent: "ada", key: "k", bodyHash: "b" };
  await commit(store, {
    ...submitted(taskOf("first"), taskOf("waiting")),
    keys: [{ ...key, taskId: "first" }],
  });
  await store.appendLogs([{ taskId: "first", attempt: 1, line: 1, at: 1, stream: "log", text: "" }]);
  await commit(store, { progressed: [{ id: "first", progress: endedAt(100) }] });
  const more = Array.from({ length: 9_999 }, (_, at) => taskOf(`t${at}`));
  await commit(store, { submitted: more.map((task) => ({ task, progress: endedAt(200) })) });
  expect(await store.task("first")).toBeDefined();
  await commit(store, { submitted: [{ task: taskOf("last"), progress: endedAt(300) }] });
  expect(await store.task("first")).toBeUndefined();
  expect(await store.keyed([key])).toEqual([]);
  expect(await store.logs("first", 0, 10)).toEqual([]);
  expect(await store.task("waiting")).toBeDefined();
  expect(await listed(store, { zone: "main" }, 1_000)).toHaveLength(10_001);
});
