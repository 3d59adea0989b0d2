import { expect, test } from "vitest";
import { Paced } from "./paced.ts";

function busy(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

test("what is cheap is found out each time, what is costly is told again for a while", () => {
  const paced = new Paced<number>();
  let looks = 0;
  const look = (ms: number) => () => {
    busy(ms);
    return ++looks;
  };
  expect([paced.of("cheap", look(0)), paced.of("cheap", look(0))]).toEqual([1, 2]);
  expect([paced.of("costly", look(50)), paced.of("costly", look(50))]).toEqual([3, 3]);
  expect(paced.of("other", look(0))).toBe(4);
  busy(1_000);
  expect(paced.of("costly", look(0))).toBe(5);
});
