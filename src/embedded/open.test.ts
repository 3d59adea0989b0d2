import { expect, test } from "vitest";
import { testDatabase } from "../../tests/postgres.ts";
import { command, PermanentError, task } from "../worker/index.ts";
import { localCaller, open, Refused, TaskFailed } from "./index.ts";

test("scheduler, store and worker in one process: submit, wait, and be told what went wrong", async () => {
  const orrery = await open({
    store: "memory",
    tasks: {
      add: task<{ a: number; b: number }>(({ a, b }) => a + b),
      fail: task(() => {
        throw new PermanentError("no use");
      }),
      upper: command("tr", ["a-z", "A-Z"]),
    },
  });
  try {
    const id = await orrery.submit("add", { a: 1, b: 2 });
    expect(await orrery.result(id)).toBe(3);
    expect(await orrery.result(await orrery.submit("upper", { x: "y" }))).toEqual({ X: "Y" });
    expect((await orrery.why(id))?.placed?.text).toMatch(/^Attempt 1 went to .* because/);
    const failed = orrery.result(await orrery.submit("fail"));
    await expect(failed).rejects.toThrow(TaskFailed);
    await expect(failed).rejects.toThrow("no use");
    await expect(orrery.submit("add", { a: 1, b: Number.NaN })).rejects.toThrow("payload.b is NaN");
    await expect(orrery.result("00000000-0000-4000-8000-000000000000")).rejects.toThrow(RangeError);
  } finally {
    await orrery.close();
  }
});

test("the same key is the same task, and what is refused says why", async () => {
  const orrery = await open({ store: "memory", settings: { config: { backlogLimit: 2 } } });
  try {
    const first = await orrery.submit("later", {}, { idempotencyKey: "k" });
    expect(await orrery.submit("later", {}, { idempotencyKey: "k" })).toBe(first);
    await orrery.submit("later");
    await expect(orrery.submit("later")).rejects.toThrow(Refused);
    expect(await orrery.cancel(first)).toBe(true);
    expect((await orrery.task(first))?.status).toBe("cancelled");
  } finally {
    await orrery.close();
  }
});

test("a task completes whatever was written of it before: nothing, by another process, or its end", async () => {
  const { url: store } = await testDatabase();
  const admin = localCaller("default");
  const options = { store, tasks: { add: task<{ a: number }>(({ a }) => a + 1) } };
  const before = await open(options);
  await before.api.setPaused(admin, undefined, true);
  const ofBefore = await before.submit("add", { a: 1 });
  await before.close();

  const orrery = await open(options);
  try {
    const putBack = await orrery.submit("add", { a: 2 });
    expect(await orrery.cancel(putBack)).toBe(true);
    expect(await orrery.api.retry(admin, putBack)).toMatchObject({ status: "queued", attempt: 0 });
    const fresh = await orrery.submit("add", { a: 3 });
    await orrery.api.setPaused(admin, undefined, false);
    const results = await Promise.all([ofBefore, putBack, fresh].map((id) => orrery.result(id)));
    expect(results).toEqual([2, 3, 4]);
    // Other tests of the process may have tasks in the same database.
    const { items } = await orrery.api.tasks(admin, { statuses: ["completed"] }, undefined, 3);
    expect(items.map(({ id }) => id)).toEqual([fresh, putBack, ofBefore]);
  } finally {
    await orrery.close();
  }
});
