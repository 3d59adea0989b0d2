// What one zone has, asked for by another through every route that there is: a route that is added is asked as well.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { API, bearer, type Served, serve } from "../../../tests/http-app.ts";
import { Contract, type Described } from "../../../tests/http-document.ts";

/** In every name that the other zone has. */
const SECRET = "belladonna";
const THERE = { "x-zone-id": "there" };

let served: Served;
let contract: Contract;
/** Of a zone that has nothing to do with it, and may do everything but look at all zones. */
let here: Record<string, string>;
/** What could be asked for, by whichever name a path gives it. */
let ids: string[];

beforeAll(async () => {
  served = await serve();
  contract = await Contract.of(served);
  const scopes = ["submit", "read", "work", "admin"] as const;
  here = bearer(await served.secretOf({ zones: ["here"], scopes: [...scopes] }));
  ids = await fill();
});
afterAll(async () => {
  await served.close();
});

const called = async (method: string, path: string, body?: unknown, headers = {}) => {
  const answer = await served.call(method, path, body, { ...THERE, ...headers });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body;
};

/** One of everything that a zone can have, and something that waits, runs and has ended. */
async function fill(): Promise<string[]> {
  const registration = {
    ...{ protocol: 1, id: `worker-${SECRET}`, session: "session-of-the-worker", executors: [SECRET] },
    ...{ types: [SECRET], cpu_millicores: 4000, memory_bytes: 0, slots: 2 },
  };
  await called("POST", "/worker/register", { registration, heartbeat: { attempts: [] } });
  const task = { executor: SECRET, task_type: SECRET, payload: { name: SECRET } };
  const agent = { "x-agent-id": SECRET };
  const tasks: string[] = [];
  for (let count = 0; count < 4; count++) tasks.push((await called("POST", `${API}/submit`, task, agent)).id);
  await called("POST", `${API}/task/${tasks.at(-1)}/cancel`);
  const nodes = { [SECRET]: { run: "true" }, [`${SECRET}-2`]: { run: "true", needs: [SECRET] } };
  const graph = { defaults: { executor: SECRET }, nodes };
  const run = await called("POST", `${API}/runs`, { name: SECRET, graph }, agent);
  await called("PUT", `${API}/limits/${SECRET}`, { concurrency: 3 });
  await called("PUT", `${API}/agents/${SECRET}`, { max_concurrent: 2 });
  const schedule = await called("POST", `${API}/schedules`, { name: SECRET, cron: "0 3 * * *", task });
  const webhook = await called("POST", `${API}/webhooks`, { url: `https://${SECRET}.example/in` });
  const key = await called("POST", `${API}/keys`, {
    name: SECRET,
    scopes: ["read"],
    zones: ["there"],
    agents: ["*"],
  });
  return [...tasks, run.id, registration.id, schedule.id ?? SECRET, webhook.id, key.id, SECRET];
}

/** Every path with everything that could stand in it. */
function pathsOf({ path }: Described): string[] {
  const names = path.match(/\{\w+\}/g) ?? [];
  if (names.length === 0) return [path];
  return ids.map((id) => names.reduce((filled, name) => filled.replace(name, encodeURIComponent(id)), path));
}

/** Streams that go on are looked at by tests of their own. */
const ENDLESS = [`${API}/events`, "/worker/connect"];

const isOfOperators = (status: number, text: string) => status === 403 && text.includes("operator");

describe("[Q-15] a key of one zone", () => {
  test("is told of nothing in another, by no route", async () => {
    const asked = contract
      .operations()
      .filter(({ method, path }) => method === "GET" && !ENDLESS.includes(path));
    expect(asked.length).toBeGreaterThan(25);
    for (const operation of asked) {
      for (const path of pathsOf(operation)) {
        const { status, text } = await served.call("GET", path, undefined, here);
        if (isOfOperators(status, text)) continue;
        // A path may come back; what is in it the caller knew.
        const told = text.replaceAll(decodeURIComponent(path), "");
        const found = [SECRET, ...ids].filter((id) => told.includes(id));
        expect(found, `GET ${path} answers ${status} ${text.slice(0, 300)}`).toEqual([]);
      }
    }
  });

  test("changes nothing in another, by no route", async () => {
    const before = await told();
    const asked = contract.operations().filter(({ method, path }) => method !== "GET" && path.includes("{"));
    expect(asked.length).toBeGreaterThan(15);
    for (const operation of asked) {
      for (const path of pathsOf(operation)) {
        const { status, text } = await served.call(operation.method, path, {}, here);
        expect(status, `${operation.method} ${path} answers ${status} ${text.slice(0, 200)}`).toBeLessThan(
          500,
        );
      }
    }
    await served.call("POST", `${API}/pause`, {}, here);
    expect(await told()).toEqual(before);
  });
});

test("an id that a run of another zone has is refused in the words for a run of one's own", async () => {
  const graph = { nodes: { a: { run: "true" } } };
  const own = await served.call("POST", `${API}/runs`, { graph }, here);
  const refused = async (id: string) => {
    const { status, body } = await served.call("POST", `${API}/runs`, { graph, id }, here);
    const { request_id: _, ...said } = body;
    return [status, said];
  };
  const { runs } = await called("GET", `${API}/runs`);
  expect(await refused(runs[0].id)).toEqual(await refused(own.body.id));
  expect((await refused(runs[0].id))[1]).toMatchObject({ detail: expect.not.stringContaining("there is") });
});

/** All that the other zone has, as its own admin sees it. */
async function told(): Promise<unknown> {
  const paths = ["tasks", "runs", "workers", "agents", "limits", "schedules", "webhooks", "queues"];
  const all = await Promise.all(paths.map((path) => called("GET", `${API}/${path}`)));
  // Time goes on.
  return JSON.parse(JSON.stringify(all), (name, value) => (name === "oldest_wait" ? null : value));
}
