import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { AddressRules } from "./addresses.ts";
import { send } from "./sender.ts";
import type { TargetRules } from "./target.ts";

/** What a signal holds: those who listen, and on Node 20 also every signal that was made from it. */
function heldBy(signal: AbortSignal): number {
  const held = Object.getOwnPropertySymbols(signal).map((name) => Reflect.get(signal, name) as unknown);
  return held.reduce<number>((sum, one) => sum + ((one as { size?: number } | undefined)?.size ?? 0), 0);
}

test("however a message ends, nothing of it is left with the signal that stops them all", async () => {
  const server = createServer((request, response) => {
    if (request.url === "/cut") request.socket.destroy();
    else if (request.url !== "/slow") response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const rules: TargetRules = {
    allowHttp: true,
    addresses: new AddressRules(["127.0.0.0/8"]),
    resolve: async (name) => (name === "public.example" ? ["127.0.0.1"] : ["10.0.0.1"]),
  };
  const stopped = new AbortController();
  const before = heldBy(stopped.signal);
  const to = (url: string, withinMs = 30_000) =>
    send({ url, headers: {}, body: "{}" }, rules, withinMs, stopped.signal);
  expect(await to(`http://public.example:${port}/`)).toEqual({ status: 200 });
  expect(await to("http://private.example/")).toMatchObject({ error: expect.stringContaining("its URL") });
  expect(await to(`http://public.example:${port}/cut`)).toMatchObject({
    error: expect.stringContaining("failed"),
  });
  expect(await to(`http://public.example:${port}/slow`, 50)).toEqual({
    error: "there was no answer within 0.05 s",
  });
  expect(heldBy(stopped.signal)).toBe(before);
  const cut = to(`http://public.example:${port}/slow`);
  stopped.abort();
  expect(await cut).toMatchObject({ error: expect.any(String) });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
