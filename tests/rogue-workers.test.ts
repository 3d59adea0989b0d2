import { expect, test } from "vitest";
import type { PollAnswer } from "../src/protocol/worker-messages.ts";
import { Random } from "../src/simulator/random.ts";
import { task } from "../src/worker/index.ts";
import { Gang, liveOverSocket, registrationOf } from "./rogue-worker.ts";
import { ADMIN_KEY, TestService } from "./service.ts";

const isLong = process.env["FUZZ"] === "long";
const seed = Number(process.env["FUZZ_SEED"] ?? 4711);
const ROGUES = 4;
const LIVES = isLong ? 60 : 5;
const TASKS = isLong ? 2000 : 100;

/** One life of a rogue that asks by HTTP. */
async function liveByPolls(service: TestService, gang: Gang, random: Random, id: string): Promise<void> {
  const session = `${id}-session-${random.int(1, 2)}`;
  const heartbeat = { attempts: [] };
  const say = (what: string, body: object) => service.post(`/worker/${id}/${what}`, { session, ...body });
  await service.post("/worker/register", { registration: registrationOf(id, session), heartbeat });
  for (let step = 0; step < 8; step++) {
    const { status, body } = await say("poll?wait=0.05", { heartbeat });
    expect([200, 409]).toContain(status);
    const { assignments = [] } = body as Partial<PollAnswer>;
    for (const { task: of, attempt } of assignments) gang.given.push({ task: of, attempt });
    for (const one of [random.pick(assignments), random.pick(gang.given)]) {
      if (!one) continue;
      const report = gang.report(random, { task: one.task, attempt: one.attempt });
      const answer = await say("report", { report });
      expect([200, 409]).toContain(answer.status);
      if (answer.status === 200) gang.note(report, (answer.body as { accepted: boolean }).accepted);
    }
  }
  if (random.chance(0.3)) await say("leave", {});
}

test(
  "whatever workers say, no task is completed twice, none is lost, and others go on",
  async () => {
    const config = { fairShare: 1_000_000 };
    await using service = await TestService.start("postgresql", { leaseMs: 2000, config });
    const patient = { executor: "wild", task_type: "work", max_attempts: 101, retry_backoff: 0 };
    const ids: string[] = [];
    for (let at = 0; at < TASKS; at += 100) {
      const tasks = Array.from({ length: 100 }, () => patient);
      const { body } = await service.post("submit/batch", { tasks });
      for (const { task: made } of body.results) ids.push(made.id);
    }
    const gang = new Gang(service.server.url, ADMIN_KEY);
    let isOver = false;
    const calm = service.worker({ work: task(() => "calm") }, { executors: ["calm"] });
    const others = (async () => {
      for (let n = 0; !isOver; n++) {
        const { body } = await service.submit({ executor: "calm", task_type: "work" });
        const ended = await service.get(`task/${body.id}?wait=30`);
        expect([n, ended.body.status, ended.body.result]).toEqual([n, "completed", "calm"]);
      }
    })();
    const rogues = Array.from({ length: ROGUES }, async (_, number) => {
      for (let life = 0; life < LIVES; life++) {
        const random = new Random(seed, `rogue ${number}, life ${life}`);
        if (random.chance(0.25)) await liveByPolls(service, gang, random, `rogue-${number}`);
        else await liveOverSocket(gang, random, `rogue-${number}`);
      }
    });
    await Promise.all(rogues);
    isOver = true;
    await others;
    await calm[Symbol.asyncDispose]();
    // What is left is done by somebody who can be relied on, once the leases of the rogues have ended.
    await using _honest = service.worker({ work: task(() => "honest") }, { executors: ["wild"], slots: 100 });
    const results = new Map<string, string>();
    for (const id of ids) {
      const { body } = await service.get(`task/${id}?wait=30`);
      expect([id, body.status], `FUZZ_SEED=${seed}`).toEqual([id, "completed"]);
      results.set(id, body.result);
    }
    // What was accepted once is what there is.
    const wrong = [...gang.accepted].filter(
      ([id, accepted]) => accepted.length > 1 || accepted[0] !== results.get(id),
    );
    expect(wrong, `FUZZ_SEED=${seed}`).toEqual([]);
    expect(gang.accepted.size).toBeGreaterThan(LIVES);
    expect(gang.given.length).toBeGreaterThan(TASKS / 4);
  },
  isLong ? 1_800_000 : 300_000,
);
