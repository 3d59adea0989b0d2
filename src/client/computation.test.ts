// A computation whose results were lost with their workers, against a server that says so.

import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type GraphNode, graph, OrreryClient } from "./index.ts";

/** What was asked of it, by the number of the run. */
const asked: string[] = [];
let server: Server;
let client: OrreryClient;
const g = graph();
const [a, b] = ["a", "b"].map((id) => g.with({ id }).task("f")) as [GraphNode, GraphNode];
/** From which graph on nothing is answered. */
let silentFrom: number;

beforeEach(async () => {
  silentFrom = Number.POSITIVE_INFINITY;
  asked.length = 0;
  let runs = 0;
  const answer = async (request: IncomingMessage): Promise<readonly [status: number, body: object]> => {
    const path = (request.url ?? "").replace("/api/v2/scheduler/", "").replace(/\?.*/, "");
    if (request.method === "POST") asked.push(path === "runs" ? `runs/${runs + 1}` : path);
    if (path === "runs") {
      if (++runs >= silentFrom) await new Promise(() => {});
      return [201, { id: String(runs) }];
    }
    if (path.endsWith("/cancel")) return [200, { cancelled: false }];
    if (path.endsWith("/release")) return [200, { released: true }];
    if (path.endsWith("/nodes/a/result")) return [410, { code: "result-lost", detail: "lost" }];
    if (path.endsWith("/nodes/b/result")) await sleep(300);
    if (path.endsWith("/result")) return [200, { kind: "json", value: 1 }];
    return [200, { status: "completed", stuck: [] }];
  };
  server = createServer((request, response) => {
    request.resume();
    void answer(request).then(([status, body]) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
  }).listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  client = new OrreryClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: "sk" });
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

test("[D-10] what was lost is not made again for a computation that is over", async () => {
  const computation = await client.start(g, [a, b]);
  const results = expect(computation.results()).rejects.toMatchObject({ code: "result-lost" });
  await sleep(100);
  await computation[Symbol.asyncDispose]();
  await results;
  await sleep(200);
  expect(asked).toEqual(["runs/1", "runs/1/cancel", "runs/1/release"]);
});

test("[D-10] what was begun to make it again ends with the computation, once each", async () => {
  await expect(client.compute(g, a, {})).rejects.toMatchObject({ code: "result-lost" });
  const runs = ["1", "2", "3"];
  expect(asked.toSorted()).toEqual(
    runs.flatMap((id) => [`runs/${id}`, `runs/${id}/cancel`, `runs/${id}/release`]).toSorted(),
  );
});

test("[D-10] whoever gives up while it is made again need not wait for that", async () => {
  silentFrom = 2;
  const begun = performance.now();
  const computed = client.compute(g, a, { signal: AbortSignal.timeout(300) });
  await expect(computed).rejects.toMatchObject({ name: "TimeoutError" });
  expect(performance.now() - begun).toBeLessThan(5_000);
  expect(asked).toEqual(["runs/1", "runs/2", "runs/1/cancel", "runs/1/release"]);
});
