import { expect, test } from "vitest";
import { testDatabase } from "../../tests/postgres.ts";
import { aSubmission } from "../../tests/submissions.ts";
import { localCaller, open } from "../embedded/index.ts";
import type { RowStatus } from "../store/index.ts";
import { task } from "../worker/index.ts";
import type { Api } from "./api.ts";

const STORES = { memory: async () => "memory", PostgreSQL: async () => (await testDatabase()).url };
const STATUSES: readonly RowStatus[] = ["queued", "running", "completed", "failed", "cancelled"];
/** More open tasks than are looked through for a list. */
const MANY = 5_200;

/** All pages, newest first. */
async function listed(api: Api, agent: string, statuses?: readonly RowStatus[]): Promise<string[]> {
  const ids: string[] = [];
  let after: Awaited<ReturnType<Api["tasks"]>>["next"];
  do {
    const page = await api.tasks(
      localCaller("default", agent),
      { agent, ...(statuses && { statuses }) },
      after,
      999,
    );
    ids.push(...page.items.map(({ id }) => id));
    for (const { status } of page.items) expect(statuses ?? STATUSES).toContain(status);
    after = page.next;
  } while (after);
  return ids;
}

test.each(Object.entries(STORES))(
  "on %s, a list of some statuses has exactly the tasks that have them, whether few or many are open",
  async (_name, storeUrl) => {
    let endAll = () => {};
    const ending = new Promise<void>((resolve) => {
      endAll = resolve;
    });
    const handlers = {
      quick: task(() => 1),
      wrong: task(() => {
        throw Object.assign(new Error("no"), { retry: false });
      }),
      long: task(() => ending),
    };
    const settings = { config: { fairShare: 100, backlogLimit: 2 * MANY } };
    await using orrery = await open({ store: await storeUrl(), tasks: handlers, slots: 8, settings });
    // Before it is closed, which waits for what runs.
    using _ending = { [Symbol.dispose]: () => endAll() };
    const { api } = orrery;
    const submit = async (agent: string, type: string, count: number) => {
      const shape = await api.submit(
        localCaller("default", agent),
        Array.from({ length: count }, () => aSubmission({ type })),
      );
      return shape.map((one) => (one.accepted ? one.task.id : expect.fail(one.message)));
    };
    for (const agent of ["few", "many"]) {
      const expected: Partial<Record<RowStatus, string[]>> = {};
      expected.completed = await submit(agent, "quick", 3);
      expected.failed = await submit(agent, "wrong", 2);
      await Promise.all(
        [...expected.completed, ...expected.failed].map((id) => orrery.result(id).catch(() => {})),
      );
      expected.running = await submit(agent, "long", 4);
      expected.cancelled = await submit(agent, "unknown", 2);
      for (const id of expected.cancelled) await api.cancel(localCaller("default", agent), id);
      expected.queued = await submit(agent, "unknown", agent === "many" ? MANY : 5);
      await expect.poll(async () => (await listed(api, agent, ["running"])).length).toBe(4);
      for (let mask = 1; mask < 2 ** STATUSES.length; mask++) {
        if (agent === "many" && mask % 5 !== 1) continue;
        const statuses = STATUSES.filter((_, at) => mask & (1 << at));
        const wanted = statuses.flatMap((status) => expected[status] ?? []);
        expect(await listed(api, agent, statuses), statuses.join()).toEqual(wanted.sort().reverse());
      }
      expect(await listed(api, agent)).toEqual(Object.values(expected).flat().sort().reverse());
    }
  },
  60_000,
);
