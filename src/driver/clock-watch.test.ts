import { afterEach, expect, test } from "vitest";
import { openDriver } from "../../tests/drivers.ts";
import { MemoryStore } from "../store/index.ts";
import { ClockWatch } from "./clock-watch.ts";
import type { Driver } from "./driver.ts";

const HOUR_MS = 3_600_000;
const START_MS = 1_800_000_000_000;

const opened: Driver[] = [];
afterEach(async () => {
  for (const driver of opened.splice(0)) await driver[Symbol.asyncDispose]();
});

/** A machine whose clock may be set, beside one that goes on evenly. */
class Machine {
  steadyMs = START_MS;
  aheadMs = 0;
  readonly said: string[] = [];

  async lead(store: MemoryStore): Promise<{ driver: Driver; watch: ClockWatch }> {
    const origin = this.aheadMs;
    const driver = await openDriver(store, { clock: () => this.steadyMs + origin });
    opened.push(driver);
    const watch = await ClockWatch.open({
      driver,
      warn: (message) => this.said.push(message),
      wallClock: () => this.steadyMs + this.aheadMs,
      steadyClock: () => this.steadyMs,
    });
    return { driver, watch };
  }
}

test("[S-26.clock] after a leader whose clock was ahead, the time of day is that of the next leader, at once", async () => {
  const store = new MemoryStore();
  const wrong = new Machine();
  wrong.aheadMs = HOUR_MS;
  const first = await wrong.lead(store);
  await first.driver.submit({ kind: "QueuePaused", zone: "z", executor: "e" });
  first.watch[Symbol.dispose]();
  await first.driver[Symbol.asyncDispose]();

  const right = new Machine();
  right.steadyMs += 1_000;
  const { driver, watch } = await right.lead(store);
  expect(driver.timeOfDay()).toBe(START_MS + 1_000);
  expect(driver.now()).toBeGreaterThanOrEqual(START_MS + HOUR_MS);
  expect(right.said).toEqual([
    expect.stringMatching(/^the clock of this server is 3599\.0 s behind the one/),
  ]);
  watch[Symbol.dispose]();
});

test("[S-26.clock] a clock that is set by a second is followed after a second, and the ledger's time goes on evenly", async () => {
  const machine = new Machine();
  const { driver, watch } = await machine.lead(new MemoryStore());
  const before = driver.now();
  machine.aheadMs = -5_000;
  watch.look();
  machine.steadyMs += 999;
  watch.look();
  await Promise.resolve();
  expect(driver.timeOfDay()).toBe(START_MS + 999);
  machine.steadyMs += 1;
  watch.look();
  await expect.poll(() => driver.timeOfDay()).toBe(START_MS - 4_000);
  expect(driver.now()).toBe(before + 1_000);
  expect(machine.said).toEqual(["the clock was set back by 5.0 s; times of day follow it"]);
  watch[Symbol.dispose]();
});

test("[S-26.clock] a jump of an hour that is undone within half a minute changes nothing but the log", async () => {
  const machine = new Machine();
  const { driver, watch } = await machine.lead(new MemoryStore());
  machine.aheadMs = HOUR_MS;
  for (let second = 0; second < 29; second++) {
    watch.look();
    machine.steadyMs += 1_000;
  }
  machine.aheadMs = 0;
  watch.look();
  expect(driver.timeOfDay()).toBe(machine.steadyMs);
  expect(machine.said).toEqual([
    "the clock jumped forward by 3600.0 s; times of day follow it in 30 s if it stays so",
    "the clock was set back to where it was",
  ]);
  machine.aheadMs = HOUR_MS;
  watch.look();
  machine.steadyMs += 30_000;
  watch.look();
  await expect.poll(() => driver.timeOfDay()).toBe(machine.steadyMs + HOUR_MS);
  watch[Symbol.dispose]();
});
