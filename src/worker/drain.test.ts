import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { anAssignment, Gate, type StartedWorker, startWorker } from "../../tests/worker-fixture.ts";
import { TestServer } from "../../tests/worker-server.ts";
import { wait } from "../runtime/index.ts";
import { fiberTask, type Handlers, task } from "./handler.ts";
import { PollTransport } from "./poll-transport.ts";
import { WebSocketTransport } from "./websocket-transport.ts";
import type { WorkerOptions } from "./worker.ts";

const TRANSPORTS = { WebSocket: WebSocketTransport, HTTP: PollTransport };
const AMPLE = { memory: 1e9, spawn_count: 100, channel_ops: 100, syscalls: 100 };

/** Waits for a promise, then uses more than it was given. */
function greedyAfter(opened: Promise<void>) {
  return fiberTask(function* (_nursery, _payload, { fiber }) {
    yield* wait(opened);
    for (let done = 0; done < 1000; done++) if (fiber.loop()) yield;
  });
}

describe.each(Object.entries(TRANSPORTS))("a worker that drains, over %s", (_name, Way) => {
  let server: TestServer;
  let started: StartedWorker | undefined;

  beforeEach(async () => {
    server = await TestServer.start();
  });

  afterEach(async () => {
    started?.worker.stop();
    await started?.ended;
    await server.crash();
  });

  async function work(handlers: Handlers, options: Partial<WorkerOptions>): Promise<StartedWorker> {
    started = startWorker(new Way({ url: server.url, key: "key" }), handlers, options);
    await server.hears("register");
    return started;
  }

  test.each(["before", "after"] as const)(
    "gives back what waits for a recharge, also if it began to wait %s it was told",
    async (when) => {
      const gate = new Gate();
      const { worker, ended, events } = await work({ greedy: greedyAfter(gate.opened) }, { graceMs: 50 });
      const budget = { ...AMPLE, ops: 100, on_exhausted: "wait" } as const;
      server.assign(anAssignment("greedy", null, { budget }));
      if (when === "before") gate.open();
      const isHeld = when === "before" ? "exhausted" : "task";
      await server.hears("heartbeat", (it) => it.heartbeat.attempts[0]?.[isHeld] !== undefined);
      worker.drain();
      gate.open();
      await ended;
      await server.hears("leave");
      expect(server.all("report")).toEqual([]);
      expect(events.at(-1)).toMatchObject({
        type: "warning",
        message: expect.stringContaining("waits for a recharge; it is given back"),
      });
    },
  );

  test.for(["before", "after"])(
    "leaves a server that stays away, and says what that was not told: of what ended %s it was missed",
    async (when) => {
      const gate = new Gate();
      const { worker, ended, events } = await work({ long: task(() => gate.opened) }, { reportMs: 50 });
      server.assign(anAssignment("long"));
      await server.hears("heartbeat", (it) => it.heartbeat.attempts.length === 1);
      await server.crash();
      worker.drain();
      if (when === "after") await expect.poll(() => events.map(({ type }) => type)).toContain("disconnected");
      gate.open();
      await ended;
      expect(events.at(-1)).toEqual({
        type: "warning",
        message:
          "the server was away for 50 ms: it was not told how 1 of its tasks ended, and will have them run again",
      });
    },
  );

  test("goes on with what runs, however long the server is away, and tells it when it is back", async () => {
    const gate = new Gate();
    const { worker, ended } = await work({ long: task(() => gate.opened) }, { reportMs: 20_000 });
    const assignment = anAssignment("long");
    server.assign(assignment);
    await server.hears("heartbeat", (it) => it.heartbeat.attempts.length === 1);
    const { port } = server;
    await server.crash();
    worker.drain();
    gate.open();
    server = await TestServer.start({ port });
    expect(await server.report(assignment.task)).toMatchObject({ type: "finished" });
    await ended;
  });
});
