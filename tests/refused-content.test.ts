// A store that refuses the content of one row, in the middle of load: only what brought it fails, and the scheduler goes on.

import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { expect, test } from "vitest";
import { localCaller, startLocalWorker } from "../src/embedded/index.ts";
import { type Block, ChainVerifier } from "../src/ledger/index.ts";
import { readGraphValue } from "../src/protocol/index.ts";
import { Redecider } from "../src/scheduler/index.ts";
import { type OpenService, openService, type TaskSubmission } from "../src/server/index.ts";
import { MemoryStore, type RowChanges, type ServiceStore, StoreError } from "../src/store/index.ts";
import { PostgresStore } from "../src/store/postgres/store.ts";
import { task } from "../src/worker/index.ts";
import { testDatabase } from "./postgres.ts";
import { TestService } from "./service.ts";
import { aSubmission } from "./submissions.ts";

const POISON = "poison";
const HONEST = 500;
const caller = localCaller("default");

/** A memory store that refuses rows as the constraints of `refusingPostgres` do. */
class RefusingStore extends MemoryStore {
  refused = 0;
  /** Refuses the commit of rows that no check has shown to be at fault. */
  hidden = false;

  override async commit(block: Block, rows?: RowChanges): Promise<boolean> {
    const error = rows && refusalOf(rows);
    if (!error) return await super.commit(block, rows);
    this.refused++;
    throw error;
  }

  override async probe(_block?: Block, rows?: RowChanges): Promise<undefined> {
    return (rows && !this.hidden ? refusalOf(rows) : undefined) as undefined;
  }
}

function refusalOf({ submitted, progressed, keys }: RowChanges): StoreError | undefined {
  const ended = [...submitted, ...progressed].map(({ progress }) => [progress.result, progress.errorMessage]);
  const texts = [ended, submitted.map(({ task }) => [task.type, task.payload]), keys.map(({ key }) => key)];
  return JSON.stringify(texts).includes(POISON) ? new StoreError("refused", "it cannot be taken") : undefined;
}

interface Stage extends AsyncDisposable {
  readonly service: OpenService;
  readonly store: ServiceStore;
  readonly schema: string;
  readonly user: pg.Client | undefined;
  readonly warnings: readonly string[];
}

async function refusingPostgres(): Promise<{ store: ServiceStore; schema: string; user: pg.Client }> {
  const { url, schema } = await testDatabase();
  const store = await PostgresStore.open({ url, schema });
  const user = new pg.Client({ connectionString: url });
  await user.connect();
  const name = pg.escapeIdentifier(schema);
  const without = (column: string) => `check (position('${POISON}' in coalesce(${column}, '')) = 0)`;
  await user.query(
    `alter table ${name}.submissions add ${without("payload")}, add ${without("type")};
     alter table ${name}.progress add ${without("result")}, add ${without("error_message")};
     alter table ${name}.idempotency_keys add ${without("key")}`,
  );
  return { store, schema: name, user };
}

async function stage(
  backend: "memory" | "postgresql",
  memory: RefusingStore = new RefusingStore(),
): Promise<Stage> {
  const failures: Error[] = [];
  const warnings: string[] = [];
  const { store, schema, user } =
    backend === "memory" ? { store: memory, schema: "", user: undefined } : await refusingPostgres();
  const service = await openService({
    store,
    settings: { config: { fairShare: null, creditsPerAgent: 0 } as object },
    warn: (message) => warnings.push(message),
    onFailed: (error) => failures.push(error),
  });
  const worker = startLocalWorker(service.gateway, {
    zone: "default",
    executors: ["default"],
    slots: 50,
    handlers: {
      t: task<{ n?: number }>(({ n }) => n ?? null),
      told: task<{ parts: string[] }>(({ parts }) => parts.join("")),
      fails: task<{ parts: string[] }>(({ parts }) => {
        throw new Error(parts.join(""));
      }),
    },
  });
  return {
    service,
    store,
    schema,
    user,
    warnings,
    async [Symbol.asyncDispose]() {
      await worker[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
      await user?.end();
      await store[Symbol.asyncDispose]();
      expect(failures).toEqual([]);
    },
  };
}

/** Written in parts, so that the payload of the task is taken and its result is not. */
const SPLIT = JSON.stringify({ parts: ["poi", "son"] });
const poisoned = aSubmission({ payload: JSON.stringify({ say: POISON }) });

/** Honest submissions that are on their way before, between and after the others. */
class Crowd {
  readonly #service: OpenService;
  readonly #answers: Promise<unknown>[] = [];
  readonly #ids: string[] = [];

  constructor(service: OpenService) {
    this.#service = service;
  }

  async arrive(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      const idempotencyKey = n % 5 === 0 ? `honest-${this.#answers.length}` : undefined;
      const own = aSubmission({ payload: JSON.stringify({ n }), idempotencyKey, bodyHash: `${n}` });
      const submitted = this.#service.api.submit(caller, [own]).then(([answer]) => {
        if (!answer?.accepted) throw new Error("an honest submission was refused");
        this.#ids.push(answer.id);
      });
      submitted.catch(() => {});
      this.#answers.push(submitted);
      if (n % 20 === 19) await sleep(0);
    }
  }

  async allComplete(): Promise<void> {
    const failures = (await Promise.allSettled(this.#answers)).filter(({ status }) => status === "rejected");
    expect(failures).toEqual([]);
    expect(new Set(this.#ids).size).toBe(this.#answers.length);
    const ended = await Promise.all(this.#ids.map((id) => ending(this.#service, id)));
    for (const one of ended) expect([one?.status, one?.attempt]).toEqual(["completed", 1]);
  }
}

function ending(service: OpenService, id: string) {
  return service.api.waitForTask(caller, id, 20_000, new AbortController().signal);
}

async function submit(service: OpenService, submission: TaskSubmission) {
  const [answer] = await service.api.submit(caller, [submission]);
  return answer;
}

function runOf(nodes: object) {
  const read = readGraphValue({ nodes }, "graph.json", {});
  if (!read.ok) throw new Error(read.problems[0]?.message);
  return { id: undefined, graph: read.graph, failFast: false };
}

/** The chain is whole, and decides the same again. Returns how often each kind of event was recorded for refused content. */
async function refusalsIn(store: ServiceStore): Promise<string[]> {
  const chain = new ChainVerifier();
  const decider = new Redecider();
  const refused: string[] = [];
  for await (const block of store.blocks()) {
    expect(chain.accept(block.line)).toMatchObject({ seq: block.seq });
    expect(decider.check(block)).toBeUndefined();
    for (const [kind, ...fields] of (JSON.parse(block.line) as { events: unknown[][] }).events)
      if (fields.includes("content-refused")) refused.push(String(kind));
  }
  return refused.sort();
}

for (const backend of ["memory", "postgresql"] as const) {
  test(`[S-26.content] ${backend}: what brings a row that the store refuses fails alone, in the middle of load`, async () => {
    await using staged = await stage(backend);
    const { service, store, user, schema, warnings } = staged;
    const { api, schedules } = service;
    const crowd = new Crowd(service);
    const before = crowd.arrive(HONEST / 2);

    const single = submit(service, poisoned);
    const keyed = submit(service, aSubmission({ idempotencyKey: POISON, bodyHash: "1" }));
    const bulk = api.submit(
      caller,
      Array.from({ length: 40 }, (_, at) => (at === 17 ? poisoned : aSubmission())),
    );
    const run = api.submitRun(
      caller,
      runOf({ a: { task: "t" }, b: { task: "t", payload: { say: POISON }, needs: ["a"] } }),
    );
    const told = submit(service, aSubmission({ type: "told", payload: SPLIT, maxAttempts: 3 }));
    const failed = submit(service, aSubmission({ type: "fails", payload: SPLIT }));
    const made = await schedules.create(caller, {
      name: "s",
      cron: "0 0 1 1 *",
      timeZone: "UTC",
      startAt: -1,
      endAt: -1,
      task: JSON.stringify({ task_type: "t", executor: "default", payload: { say: POISON } }),
      catchUp: "latest",
      catchUpLimit: 1,
      overlap: "allow",
      paused: false,
    });
    const scheduled = "accepted" in made ? undefined : schedules.run(caller, made.id);
    const inbox = await user?.query(
      `select ${schema}.submit('t', '{"say": "${POISON}"}', '{"executor": "default", "zone": "default"}')`,
    );
    const after = crowd.arrive(HONEST / 2);

    const refusal = { accepted: false, code: "content-refused" };
    expect(await single).toMatchObject(refusal);
    expect(await keyed).toMatchObject(refusal);
    expect(await run).toMatchObject(refusal);
    expect(await scheduled).toMatchObject(refusal);
    const answers = await bulk;
    expect(answers.map(({ accepted }) => accepted)).toEqual(answers.map((_, at) => at !== 17));
    for (const [answer, what] of [
      [await told, "its result"],
      [await failed, "its error message"],
    ] as const) {
      if (!answer?.accepted) throw new Error("a task whose result is refused is taken");
      const ended = await ending(service, answer.id);
      expect(ended).toMatchObject({ status: "failed", attempt: 1, errorCode: "content-refused" });
      expect(ended?.errorMessage).toContain(`the store cannot take ${what}`);
    }
    if (inbox) {
      const error = async () =>
        (await user?.query(`select error from ${schema}.inbox where error is not null`))?.rows;
      await expect.poll(error, { timeout: 20_000 }).toEqual([{ error: expect.stringContaining("content") }]);
    }
    await Promise.all([before, after]);
    await crowd.allComplete();

    const last = await submit(service, aSubmission());
    expect((await ending(service, last?.accepted ? last.id : ""))?.status).toBe("completed");
    const submissions = user ? 6 : 5;
    expect(await refusalsIn(store)).toEqual([
      "AttemptFailed",
      "AttemptFailed",
      ...Array.from({ length: submissions }, () => "SubmissionsRefused"),
    ]);
    expect(warnings.filter((message) => message.startsWith("the store refused the content of"))).toHaveLength(
      submissions + 2,
    );
    expect(warnings.join()).not.toContain(POISON);
  });
}

test("[S-26.content] over HTTP, content that PostgreSQL refuses is answered with 422, and the next task is taken", async () => {
  await using service = await TestService.start("postgresql");
  const user = new pg.Client({ connectionString: service.storeUrl });
  await user.connect();
  await user.query(`alter table orrery.submissions add check (position('${POISON}' in payload) = 0)`);
  await user.end();
  const body = { task_type: "t", executor: "nobody", payload: { say: POISON } };
  const honest = { ...body, payload: {} };
  for (let times = 0; times < 2; times++) {
    const refused = await service.post("submit", body);
    expect([refused.status, refused.body.code]).toEqual([422, "content-refused"]);
    expect(refused.body.detail).toMatch(/^the store cannot take its content/);
    expect((await service.post("submit", honest)).status).toBe(201);
  }
  const batch = await service.post("submit/batch", { tasks: [honest, body, honest] });
  expect(batch.body.results.map(({ status }: { status: number }) => status)).toEqual([201, 422, 201]);
});

test("[S-26.content] the state is rebuilt for the first refusal, and not for those that follow it", async () => {
  const memory = new RefusingStore();
  await using staged = await stage("memory", memory);
  for (let times = 0; times < 20; times++) {
    const answers = await Promise.all([
      submit(staged.service, poisoned),
      submit(staged.service, aSubmission()),
    ]);
    expect(answers.map((answer) => answer?.accepted)).toEqual([false, true]);
  }
  expect(memory.refused).toBe(1);
});

test("[S-26.content] a row that only the commit refuses is found by halving the turns", async () => {
  const memory = new RefusingStore();
  memory.hidden = true;
  await using staged = await stage("memory", memory);
  const crowd = new Crowd(staged.service);
  const before = crowd.arrive(HONEST / 2);
  const culprit = submit(staged.service, poisoned);
  await Promise.all([before, crowd.arrive(HONEST / 2)]);
  expect(await culprit).toMatchObject({ accepted: false, code: "content-refused" });
  await crowd.allComplete();
  expect(memory.refused).toBeLessThan(20);
  expect(await refusalsIn(memory)).toEqual(["SubmissionsRefused"]);
});
