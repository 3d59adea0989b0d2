import { expect, test } from "vitest";
import { MemoryStore, type WebhookRow } from "../store/index.ts";
import { Deliverer } from "./deliverer.ts";
import type { Outcome } from "./sender.ts";

const WEBHOOK = { id: "wh_1", url: "http://x", failingSince: -1, secrets: [] } as unknown as WebhookRow;
/** Far more than it takes; beyond it the store does not answer, or a test that fails would never end. */
const MAX_LOOKS = 1000;

test("a webhook that goes while something is sent to it is not looked for without end", async () => {
  const store = new MemoryStore();
  await store.webhooks.addDelivery({
    id: "msg_1",
    webhookId: WEBHOOK.id,
    type: "task.completed",
    subject: "task",
    createdAt: 0,
    body: "{}",
  });
  let looks = 0;
  const counted = new Proxy(store.webhooks, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...given: unknown[]): unknown => {
        if (name === "nextDue" && ++looks > MAX_LOOKS) return new Promise(() => {});
        return (value as (...args: unknown[]) => unknown).apply(target, given);
      };
    },
  });
  let active = [WEBHOOK];
  let answer: (outcome: Outcome) => void = () => {};
  let isSent = false;
  const deliverer = new Deliverer({
    store: counted,
    active: () => active,
    send: () => {
      isSent = true;
      return new Promise((resolve) => {
        answer = resolve;
      });
    },
    onOutcome: () => {},
    waitsMs: [],
    now: () => 1,
    warn: () => {},
  });
  deliverer.nudge();
  await expect.poll(() => isSent).toBe(true);
  active = [];
  deliverer.nudge();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(looks).toBeLessThan(10);
  answer({ status: 200 });
  await expect.poll(async () => (await store.webhooks.delivery("msg_1"))?.status).toBe("delivered");
  await deliverer[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

test("as many as are sent at once may listen for the end, and Node does not take that for a leak", async () => {
  const store = new MemoryStore();
  const webhooks = Array.from({ length: 20 }, (_, at) => ({ ...WEBHOOK, id: `wh_${at}` }));
  for (const { id } of webhooks)
    await store.webhooks.addDelivery({
      id: `msg_${id}`,
      webhookId: id,
      type: "task.completed",
      subject: "task",
      createdAt: 0,
      body: "{}",
    });
  const warnings: string[] = [];
  const warned = ({ message }: Error) => warnings.push(message);
  process.on("warning", warned);
  let sent = 0;
  const deliverer = new Deliverer({
    store: store.webhooks,
    active: () => webhooks,
    send: (_message, stopped) => {
      sent++;
      return new Promise((resolve) =>
        stopped.addEventListener("abort", () => resolve({ error: "it was stopped" })),
      );
    },
    onOutcome: () => {},
    waitsMs: [],
    now: () => 1,
    warn: () => {},
  });
  deliverer.nudge();
  await expect.poll(() => sent).toBe(webhooks.length);
  await new Promise((resolve) => setImmediate(resolve));
  await deliverer[Symbol.asyncDispose]();
  process.off("warning", warned);
  expect(warnings).toEqual([]);
});
