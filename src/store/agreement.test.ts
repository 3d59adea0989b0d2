// What one store answers, the other answers too, whatever was done to both.

import fc from "fast-check";
import { expect, test } from "vitest";
import { blockOn, endedAt, taskOf } from "../../tests/any-rows.ts";
import { testDatabase } from "../../tests/postgres.ts";
import type { ServiceStore } from "./contract.ts";
import { MemoryStore } from "./memory.ts";
import { PostgresStore } from "./postgres/store.ts";
import {
  type ListCursor,
  NO_CHANGES,
  QUEUED,
  ROW_STATUSES,
  type RowChanges,
  type RunRow,
  type TaskFilter,
  type TaskSearch,
} from "./rows.ts";

const RUNS = ["r0", "r1", "r2"];
/** Few, so that the edges of what is kept are met. */
const anyTime = fc.integer({ min: 0, max: 6 });
const anyOf = (...names: readonly string[]) => fc.constantFrom(...names);

const anyFilter: fc.Arbitrary<TaskFilter> = fc
  .record({
    zone: anyOf("main", "east"),
    agent: fc.option(anyOf("ada", "bob"), { nil: undefined }),
    statuses: fc.option(fc.uniqueArray(fc.constantFrom(...ROW_STATUSES)), { nil: undefined }),
    executor: fc.option(anyOf("shell", "docker"), { nil: undefined }),
    runId: fc.option(anyOf(...RUNS), { nil: undefined }),
  })
  .map(
    (filter) =>
      Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined)) as never,
  );

const anyTask = fc.record({
  zone: anyOf("main", "east"),
  agent: anyOf("ada", "bob"),
  executor: anyOf("shell", "docker"),
  type: fc.string({ unit: "binary", maxLength: 5 }).map((text) => text.replaceAll("\0", "0")),
  run: fc.option(anyOf(...RUNS), { nil: undefined }),
  hasKey: fc.boolean(),
  endsAt: fc.option(anyTime, { nil: undefined }),
});

const anyStep = fc.oneof(
  { weight: 4, arbitrary: fc.record({ submit: fc.array(anyTask, { maxLength: 8 }) }) },
  { weight: 3, arbitrary: fc.record({ end: fc.array(fc.nat(40), { maxLength: 6 }), at: anyTime }) },
  { weight: 1, arbitrary: fc.record({ endRun: anyOf(...RUNS), at: anyTime }) },
  {
    weight: 2,
    arbitrary: fc.record({ log: fc.array(fc.tuple(fc.nat(40), fc.nat(9)), { maxLength: 6 }), at: anyTime }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      prune: anyTime,
      endedTasksMs: fc.option(anyTime),
      logsMs: fc.option(anyTime),
      idempotencyMs: anyTime,
    }),
  },
  { weight: 4, arbitrary: fc.record({ list: anyFilter, limit: fc.integer({ min: 1, max: 5 }) }) },
);

type Step = typeof anyStep extends fc.Arbitrary<infer T> ? T : never;

/** Does a step to a store and returns all that it answered. */
class Play {
  readonly #store: ServiceStore;
  readonly #ids: string[] = [];

  constructor(store: ServiceStore) {
    this.#store = store;
  }

  async begin(): Promise<void> {
    const run = {
      zone: "main",
      agent: "ada",
      name: "n",
      nodes: 1,
      submittedAt: 1,
      outcome: "",
      endedAt: -1,
    } as const;
    await this.#commit({ runs: RUNS.map((id, at): RunRow => ({ ...run, id, submittedSeq: at })) });
  }

  async take(step: Step): Promise<unknown> {
    if ("submit" in step) return await this.#submit(step.submit);
    if ("end" in step) return await this.#end(step.end, step.at);
    if ("endRun" in step) return await this.#endRun(step.endRun, step.at);
    if ("log" in step) return await this.#log(step.log, step.at);
    if ("prune" in step) return await this.#store.prune(step.prune, step);
    return await this.#list(step.list, step.limit);
  }

  async #submit(
    tasks: readonly (typeof anyTask extends fc.Arbitrary<infer T> ? T : never)[],
  ): Promise<unknown> {
    const submitted = tasks.map(({ endsAt, run, hasKey: _hasKey, ...task }, at) => {
      const id = `t${this.#ids.length + at}`;
      const of = run === undefined ? undefined : { id: run, node: id };
      return {
        task: taskOf(id, { ...task, run: of, submittedSeq: this.#store.head.seq }),
        progress: endsAt === undefined ? QUEUED : endedAt(endsAt),
      };
    });
    const keys = submitted
      .filter((_, at) => tasks[at]?.hasKey)
      .map(({ task: { id, zone, agent } }) => ({
        zone,
        agent,
        key: `key of ${id}`,
        taskId: id,
        bodyHash: id,
      }));
    this.#ids.push(...submitted.map(({ task }) => task.id));
    return await this.#commit({ submitted, keys });
  }

  async #end(places: readonly number[], at: number): Promise<unknown> {
    const ids = [...new Set(places.flatMap((place) => this.#ids[place] ?? []))];
    await this.#commit({ progressed: ids.map((id) => ({ id, progress: endedAt(at) })) });
    return await Promise.all(ids.map((id) => this.#store.task(id)));
  }

  async #endRun(id: string, at: number): Promise<unknown> {
    await this.#commit({ runsEnded: [{ id, outcome: "failed", endedAt: at }] });
    return [await this.#store.run(id), await this.#store.runs({ zone: "main" }, undefined, 2)];
  }

  async #log(lines: readonly (readonly [number, number])[], at: number): Promise<unknown> {
    const known = await this.#store.payloads(this.#ids);
    const logged = lines.flatMap(([place, line]) => {
      const taskId = this.#ids[place] ?? "";
      return known.has(taskId) ? { taskId, attempt: 1, line, at, stream: "log" as const, text: `${at}` } : [];
    });
    await this.#store.appendLogs(logged);
    return await Promise.all(logged.map(({ taskId, line }) => this.#store.logs(taskId, line - 2, 3)));
  }

  async #list(filter: TaskFilter, limit: number): Promise<unknown> {
    const page = await this.#store.tasks(filter, undefined, limit);
    const next = await this.#store.tasks(filter, page.at(-1), limit);
    const keys = this.#ids.flatMap((id) =>
      ["ada", "bob"].map((agent) => ({ zone: filter.zone, agent, key: `key of ${id}` })),
    );
    const found = await this.#store.keyed(keys);
    const { among: _, ...search } = filter;
    const searched = await this.#search(
      { ...search, priorityClass: limit % 3, waitedMs: { min: 0, max: limit }, now: 4 },
      limit,
    );
    return [page, next, searched, found.toSorted((a, b) => (a.taskId < b.taskId ? -1 : 1))];
  }

  /** How far is looked at once differs; what is found in the end does not. */
  async #search(search: TaskSearch, look: number): Promise<unknown> {
    const found: string[] = [];
    let fitting = 0;
    for (let after: ListCursor | undefined; ; ) {
      const part = await this.#store.findTasks(search, after, 100, look);
      found.push(...part.lines.map(({ id }) => id));
      fitting += part.fitting;
      if (!part.lookedTo) return [found, fitting, await this.#store.findTasks(search, undefined, 1, 1_000)];
      after = part.lookedTo;
    }
  }

  async #commit(changes: Partial<RowChanges>): Promise<unknown> {
    return await this.#store.commit(blockOn(this.#store.head), { ...NO_CHANGES, ...changes });
  }
}

test("memory and PostgreSQL answer the same, whatever is done to both", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 5, maxLength: 30, size: "max" }), async (steps) => {
      await using postgres = await PostgresStore.open(await testDatabase());
      const plays = [new Play(new MemoryStore()), new Play(postgres)] as const;
      for (const play of plays) await play.begin();
      for (const step of steps) {
        const [ofMemory, ofPostgres] = await Promise.all(plays.map((play) => play.take(step)));
        expect(ofPostgres).toEqual(ofMemory);
      }
    }),
    { numRuns: 40 },
  );
});
