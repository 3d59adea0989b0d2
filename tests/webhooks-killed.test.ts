// Webhooks of a server that is killed with SIGKILL, and the commands about them, as real processes.

import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { OrreryClient } from "../src/client/index.ts";
import { directoryWith, type Finished, type Started, startOrrery } from "./cli.ts";
import { freshDatabase } from "./service.ts";
import { Receiver } from "./webhook-receiver.ts";

const KEY = "sk-webhooks-0123456789ab-and-0123456789";
const WAITS = Array.from({ length: 100 }, () => "0.1").join(",");

class Server implements AsyncDisposable {
  readonly #cwd: string;
  readonly #store: string;
  #started: Started | undefined;
  url = "";

  static async start(store: string): Promise<Server> {
    const server = new Server(await directoryWith({}), store);
    await server.start();
    return server;
  }

  private constructor(cwd: string, store: string) {
    this.#cwd = cwd;
    this.#store = store;
  }

  async start(): Promise<void> {
    const options = ["--port", "0", "--json", "--allow-http-webhooks", "--webhook-allow", "127.0.0.0/8"];
    const args = ["serve", "--store", this.#store, "--webhook-waits", WAITS, ...options];
    this.#started = startOrrery(this.#cwd, args, { ORRERY_API_KEY: KEY });
    const { child, finished } = this.#started;
    this.url = await new Promise((resolve, reject) => {
      let text = "";
      child.stdout?.on("data", (chunk: string) => {
        text += chunk;
        const [, url] = /"url": "(.+?)"/.exec(text) ?? [];
        if (url !== undefined) resolve(url);
      });
      finished.then(({ stderr }) => reject(new Error(stderr)), reject);
    });
  }

  get client(): OrreryClient {
    return new OrreryClient({ url: this.url, key: KEY });
  }

  orrery(...args: readonly string[]): Promise<Finished> {
    return startOrrery(this.#cwd, args, { ORRERY_URL: this.url, ORRERY_API_KEY: KEY }).finished;
  }

  async kill(signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): Promise<Finished | undefined> {
    this.#started?.child.kill(signal);
    return await this.#started?.finished;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill("SIGTERM");
  }
}

test("every end reaches its webhook under one id, whoever is killed and whoever takes over", {
  timeout: 120_000,
}, async () => {
  await using receiver = await Receiver.open();
  const store = await freshDatabase();
  await using first = await Server.start(store);
  await using second = await Server.start(store);
  await first.client.webhooks.create({ url: receiver.url });
  // Down at first, then taking only every other one: what was tried before a kill is tried again after it.
  let isDown = true;
  let count = 0;
  receiver.answer = (response) => response.writeHead(isDown || count++ % 2 === 0 ? 503 : 204).end();
  const ended: string[] = [];
  const endSome = async ({ client }: Server): Promise<void> => {
    const tasks = Array.from({ length: 10 }, () => ({ executor: "nobody", task_type: "t" }));
    const answers = await client.submitBatch(tasks);
    const ids = answers.flatMap((one) => ("task" in one && one.task ? [one.task.id] : []));
    expect(ids).toHaveLength(10);
    await Promise.all(ids.map((id) => client.cancel(id)));
    ended.push(...ids);
  };
  await endSome(first);
  await sleep(20);
  await first.kill();
  await endSome(second);
  await second.kill();
  await first.start();
  isDown = false;
  const taken = new Set<string>();
  receiver.answer = (response, { id }) => {
    const isTaken = count++ % 2 === 1;
    if (isTaken) taken.add(id);
    response.writeHead(isTaken ? 204 : 503).end();
  };
  // Less than a minute, after which it would be found when old rows are dropped.
  for (let waitedMs = 0; taken.size < ended.length && waitedMs < 40_000; waitedMs += 50) await sleep(50);
  expect(taken.size).toBe(ended.length);
  const idsOf = new Map<string, Set<string>>();
  for (const { id, type, data } of receiver.received) {
    expect(type).toBe("task.cancelled");
    idsOf.set(data.id, (idsOf.get(data.id) ?? new Set()).add(id));
  }
  expect([...idsOf.keys()].sort()).toEqual([...ended].sort());
  for (const ids of idsOf.values()) expect(ids.size).toBe(1);
});

test("the commands make, show, test, change and remove a webhook", { timeout: 120_000 }, async () => {
  await using receiver = await Receiver.open();
  await using server = await Server.start("memory");
  const made = await server.orrery("webhooks", "create", receiver.url, "--event", "task.failed", "--json");
  const { id, secret } = JSON.parse(made.stdout) as { id: string; secret: string };
  const tested = await server.orrery("webhooks", "test", id);
  expect(tested).toMatchObject({ code: 0, stdout: expect.stringMatching(/^msg_\S+ answered 204\n$/) });
  expect(receiver.received[0]?.signaturesFrom(secret)).toBe(1);
  const rotated = await server.orrery("webhooks", "rotate", id, "--overlap", "0");
  expect(rotated.stdout).toMatch(/^whsec_\S+\n$/);
  const updated = await server.orrery("webhooks", "update", id, "--type", "a", "b", "--disable");
  expect(updated.stdout).toMatch(/types +a, b\n[\s\S]*disabled: an admin disabled it/);
  const resultsOf = async (...options: string[]) => {
    const { stdout } = await server.orrery("webhooks", "update", id, "--json", ...options);
    return (JSON.parse(stdout) as { include_result: boolean }).include_result;
  };
  expect(await resultsOf("--description", "x")).toBe(false);
  expect(await resultsOf("--include-result")).toBe(true);
  expect(await resultsOf("--description", "y")).toBe(true);
  expect(await resultsOf("--no-include-result")).toBe(false);
  const [delivery] = receiver.received;
  const [refused, listed, deliveries, inside] = await Promise.all([
    server.orrery("webhooks", "test", id),
    server.orrery("webhooks", "list"),
    server.orrery("webhooks", "deliveries", id),
    server.orrery("webhooks", "create", "https://10.0.0.1/"),
  ]);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("enable it first")]);
  expect(listed.stdout).toContain(receiver.url);
  const line = `${delivery?.id} +webhook.test +${id} +delivered +1 .*answered 204`;
  expect(deliveries.stdout).toMatch(new RegExp(line));
  const words = "url leads to an address that is not public";
  expect([inside.code, inside.stderr]).toEqual([2, expect.stringContaining(words)]);
  await server.orrery("webhooks", "update", id, "--enable");
  expect((await server.orrery("webhooks", "redeliver", id, delivery?.id ?? "")).code).toBe(0);
  await receiver.until(2, (one) => one.id === delivery?.id);
  expect((await server.orrery("webhooks", "remove", id)).stdout).toBe(`${id} removed\n`);
  expect((await server.orrery("webhooks", "show", id)).code).toBe(3);
  const ended = await server.kill("SIGTERM");
  for (const text of [secret, rotated.stdout.trim()]) expect(ended?.stderr).not.toContain(text);
});

test.each([
  [["--webhook-allow", "10.0.0.0/99"], "--webhook-allow must be a network such as 10.0.0.0/8"],
  [["--webhook-waits", "5,soon"], "--webhook-waits must be a duration"],
])("serve %j is refused", async (args, words) => {
  const { child, finished } = startOrrery(await directoryWith({}), ["serve", "--store", "memory", ...args]);
  const [code] = (await once(child, "close")) as [number];
  expect([code, (await finished).stderr]).toEqual([2, expect.stringContaining(words)]);
});
