// Scopes of every route, and refusals. A route that is not in the table fails the test, so nobody adds a route without
// saying who may call it. tests/authorization-matrix.test.ts asks every route as every kind of caller.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ADMIN_KEY, type Answer, API, bearer, type Served, serve } from "../../../tests/http-app.ts";
import { SCOPES, type Scope } from "../api.ts";
import type { NewKey } from "../keys.ts";

type Needs = readonly Scope[] | "none";

const ROUTES: Readonly<Record<string, Needs>> = {
  "GET /livez": "none",
  "GET /health": "none",
  "GET /readyz": "none",
  "GET /openapi.json": "none",
  "GET /docs": "none",
  "GET /metrics": ["operator"],
  [`POST ${API}/submit`]: ["submit"],
  [`POST ${API}/submit/batch`]: ["submit"],
  [`GET ${API}/task/{id}`]: ["read"],
  [`POST ${API}/task/{id}/cancel`]: ["submit"],
  [`POST ${API}/task/{id}/retry`]: ["submit"],
  [`POST ${API}/task/{id}/recharge`]: ["submit"],
  [`GET ${API}/task/{id}/why`]: ["read"],
  [`GET ${API}/task/{id}/log`]: ["read"],
  [`GET ${API}/task/{id}/events`]: ["read"],
  [`POST ${API}/task/{id}/clone`]: ["submit"],
  [`POST ${API}/tasks/bulk`]: ["submit"],
  [`GET ${API}/tasks`]: ["read"],
  [`GET ${API}/metrics`]: ["read"],
  [`GET ${API}/overview`]: ["read"],
  [`GET ${API}/ledger`]: ["operator"],
  [`GET ${API}/ledger/at`]: ["operator"],
  [`GET ${API}/ledger/events`]: ["operator"],
  [`GET ${API}/ledger/head`]: ["operator"],
  [`POST ${API}/what-if`]: ["operator"],
  [`GET ${API}/ledger/moments`]: ["operator"],
  [`GET ${API}/ledger/replay`]: ["operator"],
  [`GET ${API}/task/{id}/placement`]: ["operator"],
  [`GET ${API}/cluster`]: ["operator"],
  [`POST ${API}/cluster/step-down`]: ["operator"],
  [`POST ${API}/classify`]: ["read", "submit"],
  [`POST ${API}/runs`]: ["submit"],
  [`GET ${API}/runs`]: ["read"],
  [`GET ${API}/runs/{id}`]: ["read"],
  [`POST ${API}/runs/{id}/cancel`]: ["submit"],
  [`POST ${API}/runs/{id}/release`]: ["submit"],
  [`GET ${API}/runs/{id}/nodes/{node}/result`]: ["read"],
  [`GET ${API}/runs/{id}/events`]: ["read"],
  [`GET ${API}/runs/{id}/plan`]: ["read"],
  [`GET ${API}/runs/{id}/graph`]: ["read"],
  [`GET ${API}/runs/{id}/graph/nodes`]: ["read"],
  [`GET ${API}/runs/{id}/graph/forecast`]: ["read"],
  [`GET ${API}/runs/{id}/nodes/{node}`]: ["read"],
  [`GET ${API}/runs/{id}/trace`]: ["read"],
  [`GET ${API}/runs/{id}/history`]: ["read"],
  [`GET ${API}/events`]: ["read"],
  [`GET ${API}/workers`]: ["read"],
  [`GET ${API}/attempts`]: ["read"],
  [`GET ${API}/queues`]: ["read"],
  [`GET ${API}/audit`]: ["admin"],
  [`GET ${API}/audit/check`]: ["operator"],
  [`POST ${API}/workers/{id}/drain`]: ["admin"],
  [`POST ${API}/pause`]: ["admin"],
  [`POST ${API}/resume`]: ["admin"],
  [`GET ${API}/agents`]: ["read"],
  [`PUT ${API}/agents/{agent}`]: ["admin"],
  [`POST ${API}/agents/{agent}/credits`]: ["admin"],
  [`PUT ${API}/zone`]: ["admin"],
  [`GET ${API}/limits`]: ["read"],
  [`PUT ${API}/limits/{name}`]: ["admin"],
  [`GET ${API}/keys`]: ["admin"],
  [`POST ${API}/keys`]: ["admin"],
  [`POST ${API}/keys/{id}/revoke`]: ["admin"],
  [`POST ${API}/keys/{id}/rotate`]: ["admin"],
  [`POST ${API}/session`]: "none",
  [`GET ${API}/whoami`]: SCOPES,
  [`GET ${API}/schedules`]: ["read"],
  [`POST ${API}/schedules`]: ["submit"],
  [`GET ${API}/schedules/{id}`]: ["read"],
  [`DELETE ${API}/schedules/{id}`]: ["submit"],
  [`POST ${API}/schedules/{id}/pause`]: ["submit"],
  [`POST ${API}/schedules/{id}/resume`]: ["submit"],
  [`POST ${API}/schedules/{id}/run`]: ["submit"],
  [`GET ${API}/webhooks`]: ["admin"],
  [`POST ${API}/webhooks`]: ["admin"],
  [`GET ${API}/webhooks/{id}`]: ["admin"],
  [`PATCH ${API}/webhooks/{id}`]: ["admin"],
  [`DELETE ${API}/webhooks/{id}`]: ["admin"],
  [`POST ${API}/webhooks/{id}/rotate`]: ["admin"],
  [`POST ${API}/webhooks/{id}/test`]: ["admin"],
  [`GET ${API}/webhooks/{id}/deliveries`]: ["admin"],
  [`GET ${API}/webhooks/{id}/deliveries/{delivery}`]: ["admin"],
  [`POST ${API}/webhooks/{id}/deliveries/{delivery}/redeliver`]: ["admin"],
  "GET /worker/connect": ["work"],
  "POST /worker/register": ["work"],
  "POST /worker/{id}/poll": ["work"],
  "POST /worker/{id}/report": ["work"],
  "POST /worker/{id}/log": ["work"],
  "POST /worker/{id}/progress": ["work"],
  "POST /worker/{id}/drain": ["work"],
  "POST /worker/{id}/leave": ["work"],
};

let served: Served;
beforeAll(async () => {
  served = await serve();
});
afterAll(async () => {
  await served.close();
});

test("the table names every route with its scopes, and no other", () => {
  const documented = served.routes.filter(({ schema, method }) => schema?.hide !== true && method !== "HEAD");
  const needs = documented.map(({ method, url, config }) => {
    return [`${method} ${url.replace(/:(\w+)/g, "{$1}")}`, config?.scopes];
  });
  expect(Object.fromEntries(needs)).toEqual(ROUTES);
});

describe("a request is refused", () => {
  const ask = (headers: Record<string, string>): Promise<Answer> =>
    served.call("GET", `${API}/tasks`, undefined, headers);

  test("with a key that is missing, bogus, expired or revoked", async () => {
    const all = { scopes: [...SCOPES] };
    const expired = await served.secretOf({ ...all, expiresAt: Date.now() - 1 });
    const revoked = await served.secretOf(all);
    await served.keys.revoke(served.keys.find(revoked)?.id ?? "");
    const basic = { authorization: `Basic ${Buffer.from(`a:${ADMIN_KEY}`).toString("base64")}` };
    for (const headers of [
      { authorization: "" },
      bearer("sk-completely-bogus-key"),
      bearer(expired),
      bearer(revoked),
      basic,
    ]) {
      const { status, body, headers: answered } = await ask(headers);
      expect([status, body.code]).toEqual([401, "unauthorized"]);
      expect(answered["www-authenticate"]).toMatch("Bearer");
    }
  });

  test("for another zone, for another agent, and without a scope", async () => {
    const key = { scopes: ["submit"], zones: ["a"], agents: ["alice"] } satisfies Partial<NewKey>;
    const headers = bearer(await served.secretOf(key));
    const zone = await ask({ ...headers, "x-zone-id": "b" });
    const agent = await ask({ ...headers, "x-agent-id": "bob" });
    const scope = await ask(headers);
    expect([zone.status, zone.body.code]).toEqual([403, "zone-not-allowed"]);
    expect([agent.status, agent.body.code]).toEqual([403, "agent-not-allowed"]);
    expect([scope.status, scope.body.code]).toEqual([403, "scope"]);
  });

  test("with a header that cannot be a name", async () => {
    for (const value of ["", "a b", "a, b", "x".repeat(257), "zö"]) {
      const { status, body } = await ask({ "x-zone-id": value });
      expect([status, body.code]).toEqual([400, "bad-header"]);
    }
  });
});

describe("what a caller may not see is as if it were not there:", () => {
  const owner = { "x-zone-id": "a", "x-agent-id": "alice" };
  const strangers = [
    ["another agent of the zone", { "x-zone-id": "a", "x-agent-id": "bob" }],
    ["the same agent in another zone", { "x-zone-id": "b", "x-agent-id": "alice" }],
    ["another zone's admin", { "x-zone-id": "b" }],
  ] as const;
  const unknown = "00000000-0000-7000-8000-000000000000";

  test.each(strangers)("a task, for %s", async (_who, headers) => {
    const { id } = (await served.call("POST", `${API}/submit`, { executor: "x", task_type: "t" }, owner))
      .body;
    for (const path of ["", "/why", "/log", "/events"]) {
      const foreign = await served.call("GET", `${API}/task/${id}${path}`, undefined, {
        ...headers,
        "x-request-id": "r",
      });
      const missing = await served.call("GET", `${API}/task/${unknown}${path}`, undefined, {
        ...headers,
        "x-request-id": "r",
      });
      expect([foreign.status, foreign.text]).toEqual([404, missing.text]);
    }
    const cancel = await served.call("POST", `${API}/task/${id}/cancel`, undefined, headers);
    expect([cancel.status, cancel.body]).toEqual([200, { cancelled: false, task_id: id }]);
    expect((await served.call("POST", `${API}/task/${id}/retry`, undefined, headers)).status).toBe(404);
    const listed = (await served.call("GET", `${API}/tasks?limit=1000`, undefined, headers)).body.tasks;
    expect(listed.map((task: { id: string }) => task.id)).not.toContain(id);
    expect((await served.call("GET", `${API}/task/${id}`, undefined, owner)).body.status).toBe("queued");
    expect((await served.call("GET", `${API}/task/${id}`, undefined, { "x-zone-id": "a" })).status).toBe(200);
  });

  test.each(strangers)("a run, for %s", async (_who, headers) => {
    const { id } = (await served.call("POST", `${API}/runs`, { nodes: { a: { task: "t" } } }, owner)).body;
    for (const path of ["", "/events"]) {
      expect((await served.call("GET", `${API}/runs/${id}${path}`, undefined, headers)).status).toBe(404);
    }
    expect((await served.call("POST", `${API}/runs/${id}/cancel`, undefined, headers)).body.cancelled).toBe(
      false,
    );
    expect((await served.call("GET", `${API}/runs/${id}`, undefined, owner)).body.status).toBe("running");
  });

  test("a cursor says nothing of how much happens elsewhere", async () => {
    for (let n = 0; n < 2; n++)
      await served.call("POST", `${API}/submit`, { executor: "x", task_type: "t" }, owner);
    const { next } = (await served.call("GET", `${API}/tasks?limit=1`, undefined, owner)).body;
    const again = (await served.call("GET", `${API}/tasks?limit=1`, undefined, owner)).body.next;
    expect(Buffer.from(next, "base64url").toString("latin1")).not.toMatch(/\d+ [0-9a-f]{8}-/);
    expect(next).not.toBe(again);
  });
});

test("without a header the zone and the agent are the key's first, or its name", async () => {
  const submit = async (key: object) => {
    const headers = bearer(await served.secretOf({ scopes: ["submit"], name: "ci", ...key }));
    const { body } = await served.call("POST", `${API}/submit`, { executor: "x", task_type: "t" }, headers);
    return [body.zone, body.agent_id];
  };
  expect(await submit({ zones: ["b", "a"], agents: ["bob", "alice"] })).toEqual(["b", "bob"]);
  expect(await submit({ zones: ["*"], agents: ["*"] })).toEqual(["default", "ci"]);
});
