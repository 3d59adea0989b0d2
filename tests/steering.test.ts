// The commands that steer a server, as their users run them.

import { afterAll, beforeAll, expect, test } from "vitest";
import { type Finished, startOrrery } from "./cli.ts";
import { TestService } from "./service.ts";

let service: TestService;

beforeAll(async () => {
  service = await TestService.start("memory", { config: { credits: true } });
});
afterAll(() => service[Symbol.asyncDispose]());

function orrery(...args: readonly string[]): Promise<Finished> {
  const env = { ORRERY_URL: service.server.url, ORRERY_API_KEY: "sk-test-admin-0123456789-and-0123456789" };
  return startOrrery("/", args, env).finished;
}

async function waiting(): Promise<Record<string, number>> {
  return (await service.get("overview")).body.waiting;
}

test("an executor, or the whole zone, is paused and resumed", async () => {
  await using _worker = service.worker({}, { executors: ["held"] });
  expect(await orrery("pause", "held")).toMatchObject({ code: 0, stdout: "held paused\n" });
  const { body } = await service.submit({ executor: "held", task_type: "noop" });
  expect(await waiting()).toMatchObject({ Held: 1 });
  expect(await orrery("resume", "held")).toMatchObject({ code: 0, stdout: "held resumed\n" });
  expect((await service.get(`task/${body.id}?wait=20`)).body.status).toBe("completed");
  expect(await orrery("pause", "--json")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"executor": null'),
  });
  expect(await orrery("resume")).toMatchObject({ code: 0, stdout: "the zone resumed\n" });
});

test("limits are set and listed", async () => {
  expect((await orrery("limits")).stderr).toContain("no limits");
  const set = await orrery("limits", "api", "--concurrency", "3", "--rate", "100/60");
  expect([set.code, set.stdout]).toEqual([0, expect.stringMatching(/^api +0 +3 +100 in 60 s$/m)]);
  expect((await orrery("limits", "api", "--concurrency", "none", "--json")).code).toBe(0);
  // One that limits nothing is as good as none.
  expect((await orrery("limits")).stderr).toContain("no limits");
  for (const wrong of [["api"], ["api", "--rate", "fast"], ["api", "--concurrency", "-1"], ["--rate", "1/1"]])
    expect((await orrery("limits", ...wrong)).code, wrong.join(" ")).toBe(2);
});

test("an agent's share and credits are set", async () => {
  const { code, stdout } = await orrery("agents", "ann", "--max", "2", "--rate", "5/1", "--grant", "10.5");
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^ann +0 +2 +5 in 1 s +10\.5 +0 +0$/m)]);
  expect((await orrery("agents")).stdout).toMatch(/^ann /m);
  for (const wrong of [["ann"], ["ann", "--grant", "much"], ["--max", "1"]])
    expect((await orrery("agents", ...wrong)).code, wrong.join(" ")).toBe(2);
});

test("all that match are cancelled, but only with --yes", async () => {
  for (let at = 0; at < 40; at++) await service.submit({ executor: at < 30 ? "bulk" : "other" });
  const counted = await orrery("cancel", "--executor", "bulk");
  expect(counted).toMatchObject({ code: 0, stdout: "30 tasks would be cancelled; --yes does it\n" });
  expect((await waiting())["Unsatisfiable"]).toBe(40);
  expect(await orrery("cancel", "--executor", "bulk", "--yes")).toMatchObject({
    stdout: "30 tasks cancelled\n",
  });
  expect((await waiting())["Unsatisfiable"]).toBe(10);
  expect(await orrery("cancel", "--status", "queued", "--yes", "--json")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"cancelled": 10'),
  });
  expect(await orrery("cancel")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("name tasks, or say which"),
  });
});
