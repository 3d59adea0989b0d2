import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { Authority } from "../../tests/certificates.ts";
import { directoryWith } from "../../tests/cli.ts";
import { readServerTls } from "../tls/index.ts";
import { Door } from "./door.ts";
import { recognize } from "./http/connection-table.ts";
import { EDGE_LIMITS } from "./http/limits.ts";

test("[F17] [F18] a connection over TLS is counted once, and for its key", async () => {
  const authority = await Authority.in(await directoryWith({}));
  const tls = readServerTls(await authority.issue("door"), (setting) => setting);
  const door = new Door(EDGE_LIMITS, tls);
  door.keeper = {
    answer(asked, response) {
      recognize(asked.socket, "a key", "client");
      response.end("answered");
    },
    connect: () => {},
  };
  const port = await door.listen({ host: "127.0.0.1", port: 0, strictPort: true });
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
  const answer = await new Promise<string>((resolve, reject) => {
    request({ port, host: "127.0.0.1", agent })
      .on("response", (response) => resolve(text(response)))
      .on("error", reject)
      .end();
  });
  expect([answer, door.connections.counts]).toEqual(["answered", { unknown: 0, client: 1, worker: 0 }]);
  agent.destroy();
  await expect.poll(() => door.connections.counts.client).toBe(0);
  await door.close();
});
