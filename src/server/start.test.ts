import { expect, test } from "vitest";
import { directoryWith } from "../../tests/cli.ts";
import { Cuttable } from "../../tests/cuttable.ts";
import { testDataDir } from "../../tests/postgres.ts";
import { ADMIN_KEY, TestService } from "../../tests/service.ts";
import { type Embedded, openEmbedded } from "../store/embedded/cluster.ts";

import { makeLog } from "./log.ts";
import { startServer } from "./start.ts";

const SOON = { timeout: 10_000, interval: 100 };

test("a server is not ready while its store cannot be reached", async () => {
  const dataDir = await testDataDir();
  let embedded: Embedded = await openEmbedded({ dataDir });
  await using service = await TestService.start("postgresql", {}, embedded.url);
  expect((await service.get("/readyz")).status).toBe(200);
  await embedded[Symbol.asyncDispose]();
  await expect
    .poll(() => service.get("/readyz"), SOON)
    .toMatchObject({
      status: 503,
      body: { detail: "the store cannot be reached" },
    });
  embedded = await openEmbedded({ dataDir });
  await expect.poll(() => service.get("/readyz"), SOON).toMatchObject({ status: 200 });
  expect((await service.submit()).status).toBe(201);
  await service.server[Symbol.asyncDispose]();
  await embedded[Symbol.asyncDispose]();
});

test("a server whose store falls silent amid a commit stops within seconds, and that is no failure", async () => {
  await using embedded = await openEmbedded({ dataDir: await testDataDir() });
  await using way = await Cuttable.to(embedded.url);
  const service = await TestService.start("postgresql", {}, way.url);
  way.freeze();
  const submitting = service.submit().catch(() => undefined);
  await expect.poll(() => service.get("/readyz"), SOON).toMatchObject({ status: 503 });
  const startedMs = performance.now();
  await service[Symbol.asyncDispose]();
  expect(performance.now() - startedMs).toBeLessThan(6_500);
  expect((await submitting)?.status).not.toBe(201);
});

test("[P-16] a second server on the same store follows, hands on what it is asked, and takes over", async () => {
  const first = await TestService.start("postgresql");
  expect((await first.submit()).status).toBe(201);
  await using second = await TestService.start("postgresql", {}, first.storeUrl);
  expect((await first.get("/readyz")).body).toMatchObject({ status: "ok", role: "leader" });
  expect((await second.get("/readyz")).body).toMatchObject({ status: "ok", role: "follower" });
  const { status, body } = await second.submit();
  expect(status).toBe(201);
  expect((await first.get(`task/${body.id}`)).body).toMatchObject({ id: body.id, status: "queued" });
  await first[Symbol.asyncDispose]();
  await expect.poll(() => second.get("/readyz"), SOON).toMatchObject({ body: { role: "leader" } });
  expect((await second.get(`task/${body.id}`)).body).toMatchObject({ id: body.id, status: "queued" });
  expect((await second.submit()).status).toBe(201);
});

test("[F18] a server that other machines can reach without TLS warns of it once, when it starts", async () => {
  for (const [host, warnings] of [
    ["127.0.0.1", 0],
    ["0.0.0.0", 1],
  ] as const) {
    const lines: string[] = [];
    await using _server = await startServer({
      host,
      port: 0,
      strictPort: true,
      store: "memory",
      dataDir: await directoryWith({}),
      apiKey: ADMIN_KEY,
      version: "test",
      settings: {},
      log: makeLog({ level: "warn", write: (line) => lines.push(line) }),
      onFailed: () => {},
    });
    expect(lines.filter((line) => line.includes("without TLS"))).toHaveLength(warnings);
  }
});
