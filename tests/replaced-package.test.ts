// Upgrades: the package is replaced under a running server, or a newer version has migrated the database meanwhile.

import { spawn } from "node:child_process";
import { cp, rename, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { expect, test } from "vitest";
import { directoryWith } from "./cli.ts";
import { SERVER_KEY, startServerProcess } from "./server-process.ts";
import { freshDatabase } from "./service.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const HEADERS = { authorization: `Bearer ${SERVER_KEY}`, "content-type": "application/json" };

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

async function serverOf(
  folder: string,
  store: string,
): Promise<{ url: string; stop: () => Promise<unknown> }> {
  const child = spawn(
    process.execPath,
    [join(folder, "dist/cli/main.js"), "serve", "--port", "0", "--json", "--store", store],
    { cwd: "/", env: { ...process.env, ORRERY_API_KEY: SERVER_KEY }, stdio: ["ignore", "pipe", "ignore"] },
  );
  const ended = new Promise((resolve) => child.once("exit", resolve));
  let said = "";
  for await (const text of child.stdout.setEncoding("utf8")) {
    said += text;
    const url = /"url": "(.+?)"/.exec(said)?.[1];
    if (url === undefined) continue;
    const stop = (): Promise<unknown> => {
      child.kill("SIGTERM");
      return ended;
    };
    return { url, stop };
  }
  throw new Error("the server did not start");
}

test("[S-26.upgrade] a server goes on when its package is moved away: every route, the dashboard, and a replay", async () => {
  const folder = await directoryWith({});
  const installed = join(folder, "installed");
  for (const name of ["dist", "examples", "package.json"])
    await cp(join(ROOT, name), join(installed, name), { recursive: true });
  await symlink(join(ROOT, "node_modules"), join(installed, "node_modules"));
  const { url, stop } = await serverOf(installed, await freshDatabase());
  const get = (path: string) => fetch(`${url}${path}`, { headers: HEADERS });
  const replay = async () => (await get("/api/v2/scheduler/metrics?at=1")).status;
  await expect.poll(replay).toBe(200);
  await rename(installed, join(folder, "gone"));

  const submitted = await fetch(`${url}/api/v2/scheduler/submit`, {
    method: "POST",
    headers: HEADERS,
    body: '{"executor":"nobody","task_type":"t","idempotency_key":"k"}',
  });
  expect(submitted.status).toBe(201);
  const { id } = (await submitted.json()) as { id: string };
  const { paths } = (await (await get("/openapi.json")).json()) as OpenApi;
  const asked = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({
      method: method.toUpperCase(),
      path: path.replaceAll(/\{\w+\}/g, id),
    })),
  );
  expect(asked.length).toBeGreaterThan(50);
  const failed: string[] = [];
  for (const { method, path } of asked) {
    // These change what the rest of the test needs, or do not end.
    if (/step-down|\/events$/.test(path) || method === "DELETE") continue;
    const body = method === "GET" || method === "HEAD" ? {} : { body: "{}" };
    const answer = await fetch(`${url}${path}`, { method, headers: HEADERS, ...body });
    await answer.arrayBuffer();
    if (answer.status >= 500) failed.push(`${method} ${path}: ${answer.status}`);
  }
  expect(failed).toEqual([]);
  const page = await get("/");
  expect(page.status).toBe(200);
  const assets = Array.from((await page.text()).matchAll(/\/assets\/[\w.-]+/g), ([path]) => path);
  expect(assets.length).toBeGreaterThan(0);
  for (const path of assets) expect((await get(path)).status).toBe(200);
  await expect.poll(replay).toBe(200);
  expect((await get(`/api/v2/scheduler/task/${id}/placement`)).status).toBeLessThan(500);
  expect(await stop()).toBe(0);
});

test("[S-26.upgrade] a follower does not take the lead on a schema that a newer version has migrated", async () => {
  const store = await freshDatabase();
  const args = ["--store", store, "--takeover", "1s"];
  const leader = await startServerProcess("/", args);
  const follower = await startServerProcess("/", args);
  await expect.poll(follower.said).toContain("following");
  const admin = new pg.Client({ connectionString: store });
  await admin.connect();
  await admin.query("insert into orrery.migrations (number, name, hash) values (9999, '9999-later', 'x')");
  leader.child.kill("SIGTERM");
  expect((await leader.finished).code).toBe(0);
  const { code, stderr } = await follower.finished;
  expect(code).toBe(1);
  expect(stderr).toContain("migrated by a newer version of Orrery (9999-later); use that version");
  expect(stderr).not.toContain("leading since");
  const { rows } = await admin.query("select holder from orrery.head");
  expect(rows).toEqual([{ holder: "" }]);
  await admin.end();
});
