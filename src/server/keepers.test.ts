import { once } from "node:events";
import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import type { Term } from "../cluster/index.ts";
import type { App } from "./http/route.ts";
import { leader } from "./keepers.ts";

async function answerOf(term: Pick<Term, "isCertain" | "confirm">, path: string): Promise<[number, string]> {
  const app = { server: createServer((_, response) => response.end("answered")) } as unknown as App;
  const keeper = leader(app, term as Term);
  const server = createServer((request, response) => keeper.answer(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const [answer] = (await once(get({ host: "127.0.0.1", port, path }), "response")) as [IncomingMessage];
  const body = await text(answer);
  server.closeAllConnections();
  server.close();
  return [answer.statusCode ?? 0, body];
}

test("[P-16] a leader that was silent for a lease finds out whether it still leads before it answers", async () => {
  const path = "/api/v2/scheduler/tasks";
  const isCertain = { isCertain: true, confirm: () => Promise.reject(new Error("not asked")) };
  expect(await answerOf(isCertain, path)).toEqual([200, "answered"]);
  const stillLeads = { isCertain: false, confirm: async () => true };
  expect(await answerOf(stillLeads, path)).toEqual([200, "answered"]);
  const isDeposed = { isCertain: false, confirm: async () => false };
  const [status, body] = await answerOf(isDeposed, path);
  expect([status, (JSON.parse(body) as { code: string }).code]).toEqual([503, "no-leader"]);
  expect(await answerOf(isDeposed, "/livez?x=1")).toEqual([200, "answered"]);
  const cannotTell = { isCertain: false, confirm: () => new Promise<boolean>(() => {}) };
  expect((await answerOf(cannotTell, path))[0]).toBe(503);
});
