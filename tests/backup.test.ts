// Backups by PostgreSQL's own tools, taken while a server works, and what comes of them.

import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { chmod, chown } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { ChainVerifier } from "../src/ledger/index.ts";
import type { Registration } from "../src/protocol/index.ts";
import type { Caller, WorkerSession } from "../src/server/index.ts";
import { findBinaries } from "../src/store/embedded/binaries.ts";
import { openEmbedded } from "../src/store/embedded/cluster.ts";
import { ownerOf } from "../src/store/embedded/owner.ts";
import { task } from "../src/worker/index.ts";
import { directoryWith } from "./cli.ts";
import { testDataDir } from "./postgres.ts";
import { freshDatabase, TestService } from "./service.ts";

const LONG = { timeout: 40_000, interval: 100 };
const SHORT_LEASE = { leaseMs: 1_000 };
/** The package for those without PostgreSQL has the server, but not these. */
const tools = (await findBinaries()).find(({ folder }) => existsSync(join(folder, "pg_dump")))?.folder ?? "";

async function run(program: string, ...args: readonly string[]): Promise<void> {
  await promisify(execFile)(join(tools, program), args);
}

async function restored(dump: string): Promise<string> {
  const url = await freshDatabase();
  await run("pg_restore", "--no-owner", "--exit-on-error", "--dbname", url, dump);
  return url;
}

/** The commands that the documentation gives for a private PostgreSQL, but for the last: the server. */
function documentedRestore(): string {
  const text = readFileSync(new URL("../docs/operations.md", import.meta.url), "utf8");
  const commands = /```sh\n(initdb[^`]+)orrery serve --data "\$NEW"\n```/.exec(text)?.[1];
  if (commands === undefined) throw new Error("operations.md restores no private PostgreSQL");
  return commands;
}

async function statusesOf(service: TestService): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  let cursor = "";
  do {
    const { body } = await service.get(`tasks?limit=1000${cursor === "" ? "" : `&cursor=${cursor}`}`);
    for (const { id, status } of body.tasks) found.set(id, status);
    cursor = body.next_cursor ?? "";
  } while (cursor !== "");
  return found;
}

async function expectSoundChain(service: TestService): Promise<void> {
  const chain = new ChainVerifier();
  for (const line of String((await service.get("ledger")).body)
    .trimEnd()
    .split("\n"))
    expect(chain.accept(line)).not.toHaveProperty("code");
}

/** A worker whose every word is ours. */
async function aWorker(service: TestService, id: string): Promise<WorkerSession> {
  const caller: Caller = { keyId: "k", zone: "default", agent: "a", scopes: new Set(), isZoneAdmin: true };
  const registration: Registration = {
    protocol: 1,
    id,
    session: `session of ${id}`,
    executors: ["mine"],
    types: ["mine"],
    cpu_millicores: 1_000,
    memory_bytes: 1_000,
    slots: 1,
  };
  const session = await service.server.service?.gateway.register(
    caller,
    registration,
    { attempts: [] },
    undefined,
  );
  if (!session || "refused" in session) throw new Error("the worker was refused");
  return session;
}

describe.skipIf(tools === "")("a backup", () => {
  test("taken under load holds all that was acknowledged before it, and goes on from there", async () => {
    const dump = join(await directoryWith({}), "orrery.dump");
    const before: string[] = [];
    let completedThen = 0;
    {
      await using service = await TestService.start("postgresql");
      await using _worker = service.worker({ t: task(() => "done") }, { slots: 8 });
      let isOver = false;
      const submitting = Array.from({ length: 4 }, async () => {
        while (!isOver) {
          const { body } = await service.submit({ executor: "default", task_type: "t" });
          before.push(body.id);
        }
      });
      await expect.poll(() => before.length, LONG).toBeGreaterThan(100);
      const acknowledged = before.length;
      await run("pg_dump", "--format=custom", "--schema=orrery", "--file", dump, service.storeUrl);
      expect(before.length, "it was under load").toBeGreaterThan(acknowledged);
      isOver = true;
      await Promise.all(submitting);
      before.length = acknowledged;
      completedThen = (await service.get("metrics")).body.totals.completed;
    }
    await using service = await TestService.start("postgresql", SHORT_LEASE, await restored(dump));
    const statuses = await statusesOf(service);
    expect(before.filter((id) => !statuses.has(id))).toEqual([]);
    await expectSoundChain(service);
    const { totals } = (await service.get("metrics")).body;
    const counted = [...statuses.values()].filter((status) => status === "completed").length;
    expect(totals.completed, "rows and ledger are of one moment").toBe(counted);
    expect(counted).toBeLessThanOrEqual(completedThen);
    await using _worker = service.worker({ t: task(() => "done") }, { slots: 8 });
    await expect
      .poll(async () => new Set((await statusesOf(service)).values()), LONG)
      .toEqual(new Set(["completed"]));
    await expectSoundChain(service);
  });

  test("of a private PostgreSQL is restored into a new data directory as documented", async () => {
    const [before, after] = [await testDataDir(), await testDataDir()];
    const folder = await directoryWith({});
    const dump = join(folder, "orrery.dump");
    let id = "";
    {
      await using embedded = await openEmbedded({ dataDir: before });
      await using service = await TestService.start("postgresql", {}, embedded.url);
      await using _worker = service.worker({ t: task(() => "done") });
      ({ id } = (await service.submit({ executor: "default", task_type: "t" })).body);
      expect((await service.get(`task/${id}?wait=20`)).body.status).toBe("completed");
      await run("pg_dump", "--format=custom", "--schema=orrery", "--file", dump, embedded.url);
    }
    await chmod(folder, 0o755);
    const owner = await ownerOf(join(before, "postgres"));
    if (owner) await chown(after, owner.uid, owner.gid);
    await promisify(execFile)("sh", ["-ec", documentedRestore()], {
      cwd: folder,
      env: { ...process.env, PATH: `${tools}:${process.env["PATH"]}`, NEW: after },
      ...owner,
    });
    await using embedded = await openEmbedded({ dataDir: after });
    await using service = await TestService.start("postgresql", {}, embedded.url);
    expect((await service.get(`task/${id}`)).body.status).toBe("completed");
    await expectSoundChain(service);
  });

  test("puts back the clock: what workers report of the time after it is refused, and done again", async () => {
    const dump = join(await directoryWith({}), "orrery.dump");
    const report = { type: "finished", started_at: Date.now(), result: 1 } as const;
    let id = "";
    let lost = 0;
    {
      await using service = await TestService.start("postgresql");
      const first = await aWorker(service, "w1");
      ({ id } = (
        await service.submit({ executor: "mine", task_type: "mine", max_attempts: 5, retry_backoff: 0 })
      ).body);
      const { assignments } = await first.poll({ attempts: [] }, 5_000, AbortSignal.timeout(10_000));
      expect(assignments).toMatchObject([{ task: id, attempt: 1 }]);
      await run("pg_dump", "--format=custom", "--schema=orrery", "--file", dump, service.storeUrl);
      await first.report([
        {
          type: "failed",
          task: id,
          attempt: 1,
          started_at: Date.now(),
          code: "no",
          message: "no",
        },
      ]);
      await first.leave();
      const second = await aWorker(service, "w2");
      const again = await second.poll({ attempts: [] }, 5_000, AbortSignal.timeout(10_000));
      expect(again.assignments).toMatchObject([{ task: id }]);
      lost = again.assignments[0]?.attempt ?? 0;
    }
    await using service = await TestService.start("postgresql", SHORT_LEASE, await restored(dump));
    const second = await aWorker(service, "w2");
    expect(await second.report([{ ...report, task: id, attempt: lost }])).toMatchObject([
      { accepted: false },
    ]);
    // The first is given a lease to come back, and does not: so it is done anew.
    await expect
      .poll(
        async () => (await second.poll({ attempts: [] }, 500, AbortSignal.timeout(5_000))).assignments,
        LONG,
      )
      .toMatchObject([{ task: id, attempt: 2 }]);
    expect(await second.report([{ ...report, task: id, attempt: 2 }])).toEqual([{ accepted: true }]);
    expect((await service.get(`task/${id}`)).body).toMatchObject({ status: "completed", attempt: 2 });
    await expectSoundChain(service);
  });
});
