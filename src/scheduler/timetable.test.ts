import fc from "fast-check";
import { expect, test } from "vitest";
import { NO_RUN, taskKey } from "../placement/index.ts";
import { type Due, Timetable } from "./timetable.ts";

const dueAt = (node: number, at: number): Due => ({ key: taskKey(NO_RUN, node), at });

test("the first that counts is next, whatever has ended meanwhile", () => {
  const moves = fc.array(fc.tuple(fc.nat(50), fc.boolean(), fc.boolean()), { minLength: 1, maxLength: 4000 });
  fc.assert(
    fc.property(moves, (all) => {
      const open = new Map<number, Due>();
      const table = new Timetable(({ key }) => open.has(key));
      for (const [node, [at, ends, takes]] of all.entries()) {
        const due = dueAt(node, at);
        open.set(due.key, due);
        table.add(due);
        const [first] = [...open.values()].sort((a, b) => a.at - b.at || a.key - b.key);
        expect(table.next()).toBe(first);
        if (takes) open.delete(table.take()?.key ?? -1);
        const [oldest] = open.keys();
        if (ends && oldest !== undefined) open.delete(oldest);
      }
    }),
    { numRuns: 20 },
  );
});

test("what waits for long does not keep what has ended", () => {
  const open = new Set<number>();
  const table = new Timetable(({ key }) => open.has(key));
  for (let node = 0; node < 100_000; node++) {
    const due = dueAt(node, node);
    // The first stays for ever, and the last 500 for a while.
    open.add(due.key);
    if (node > 500) open.delete(taskKey(NO_RUN, node - 500));
    table.add(due);
  }
  expect(table.next()).toEqual(dueAt(0, 0));
  expect(table.size).toBeLessThan(2_100);
});
