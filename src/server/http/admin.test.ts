import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ADMIN_KEY, API, bearer, type Served, serve } from "../../../tests/http-app.ts";

let served: Served;
beforeAll(async () => {
  served = await serve();
});
afterAll(async () => {
  await served.close();
});

describe("an admin", () => {
  test("sets an agent's limit and gives credits", async () => {
    const limited = await served.call("PUT", `${API}/agents/al%2Fice`, { max_concurrent: null });
    const own = { own_max_concurrent: true, own_rate: false };
    expect(limited.body).toMatchObject({ agent: "al/ice", max_concurrent: null, ...own });
    await served.call("POST", `${API}/agents/bob/credits`, { amount: "0.1" });
    const { body } = await served.call("POST", `${API}/agents/bob/credits`, { amount: 0.2 });
    expect(body).toMatchObject({ agent: "bob", credits: "0.3", reserved_credits: "0" });
  });

  test("pauses and resumes, with or without saying what", async () => {
    expect((await served.call("POST", `${API}/pause`)).body).toEqual({ paused: true, executor: null });
    expect((await served.call("POST", `${API}/pause`, "")).body).toEqual({ paused: true, executor: null });
    expect((await served.call("POST", `${API}/resume`, { executor: "e" })).body).toEqual({
      paused: false,
      executor: "e",
    });
  });

  test("sets limits", async () => {
    const rate = { count: 100, per_seconds: 60 };
    const tokens = await served.call("PUT", `${API}/limits/tokens`, { concurrency: 1_000_000_000 });
    expect(tokens.status).toBe(200);
    await served.call("PUT", `${API}/limits/tokens`, {});
    const { body } = await served.call("PUT", `${API}/limits/openai`, { concurrency: 5, rate });
    expect(body).toEqual({ name: "openai", concurrency: 5, rate, running_count: 0 });
    expect((await served.call("GET", `${API}/limits`)).body.limits).toEqual([body]);
    expect((await served.call("PUT", `${API}/zone`, { max_concurrent: 3 })).body).toEqual({
      zone: "default",
      max_concurrent: 3,
    });
  });

  test.each([
    ["PUT", "/limits/x", { rate: { f: null } }, ["/rate/count", "/rate/per_seconds", "/rate/f"]],
    ["PUT", "/limits/x", { concurrency: -1 }, ["/concurrency"]],
    ["PUT", "/limits/x", { concurrency: 1_000_000_001 }, ["/concurrency"]],
    ["PUT", "/limits/%00", {}, ["/name"]],
    ["PUT", "/agents/x", { max_concurrent: "many" }, ["/max_concurrent"]],
    ["POST", "/agents/x/credits", { amount: "-1" }, ["/amount"]],
    ["POST", "/agents/x/credits", {}, ["/amount"]],
  ])("is told what is wrong with %s %s %j", async (method, path, body, pointers) => {
    const answer = await served.call(method, API + path, body);
    expect(answer.status).toBe(422);
    expect(answer.body.errors.map((error: { pointer: string }) => error.pointer).sort()).toEqual(
      pointers.sort(),
    );
  });

  test("does not find a worker that is not there", async () => {
    expect((await served.call("POST", `${API}/workers/nobody/drain`)).status).toBe(404);
  });
});

describe("keys", () => {
  const ALL = { zones: ["*"], agents: ["*"] };
  const make = (body: object, headers = {}) =>
    served.call("POST", `${API}/keys`, { name: "k", scopes: ["read"], ...ALL, ...body }, headers);

  test("are made, listed without their secrets, rotated and revoked", async () => {
    const made = await make({ expires_at: "2100-01-01T00:00:00Z" });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      zones: ["*"],
      agents: ["*"],
      expires_at: "2100-01-01T00:00:00.000Z",
      revoked_at: null,
    });
    const { id, secret } = made.body;
    const reads = async (key: string) =>
      (await served.call("GET", `${API}/tasks`, undefined, bearer(key))).status;
    expect(await reads(secret)).toBe(200);
    expect((await served.call("GET", `${API}/keys`)).text).not.toContain(secret);

    const rotated = await served.call("POST", `${API}/keys/${id}/rotate`, { overlap_seconds: 60 });
    expect([rotated.status, await reads(secret), await reads(rotated.body.secret)]).toEqual([201, 200, 200]);
    const revoked = await served.call("POST", `${API}/keys/${id}/revoke`);
    expect(revoked.body.revoked_at).not.toBeNull();
    expect([await reads(secret), await reads(rotated.body.secret)]).toEqual([401, 200]);
  });

  test("[F13] are made for zones and agents that are named: nothing is given by leaving it out", async () => {
    for (const [given, missing] of [
      [{ zones: ["a"] }, "/agents"],
      [{ agents: ["ann"] }, "/zones"],
    ] as const) {
      const body = { name: "k", scopes: ["read"], ...given };
      const answer = await served.call("POST", `${API}/keys`, body);
      expect([answer.status, answer.body.errors[0].pointer]).toEqual([422, missing]);
    }
  });

  test("[F12] of a key that ends are not made to outlive it", async () => {
    const soon = Date.now() + 3_600_000;
    const ending = bearer(await served.secretOf({ scopes: ["admin"], expiresAt: soon }));
    expect((await make({}, ending)).body.expires_at).toBe(new Date(soon).toISOString());
    expect((await make({ expires_at: new Date(soon - 1000).toISOString() }, ending)).status).toBe(201);
    const later = await make({ expires_at: new Date(soon + 1000).toISOString() }, ending);
    expect([later.status, later.body.code]).toEqual([403, "scope"]);
    const { id } = (await make({})).body;
    expect((await served.call("POST", `${API}/keys/${id}/rotate`, {}, ending)).status).toBe(403);
  });

  test("give nobody more than they have", async () => {
    const admin = bearer(await served.secretOf({ scopes: ["admin"], zones: ["a"], agents: ["alice"] }));
    expect((await make({ zones: ["a"], agents: ["alice"] }, admin)).status).toBe(201);
    const own = { zones: ["a"], agents: ["alice"] };
    for (const more of [{ zones: ["b"] }, { zones: ["*"] }, { agents: ["*"] }, { scopes: ["operator"] }]) {
      const { status, body } = await make({ ...own, ...more }, admin);
      expect([status, body.code]).toEqual([403, "scope"]);
    }
    const { id } = (await make({ zones: ["b"] })).body;
    expect((await served.call("POST", `${API}/keys/${id}/revoke`, undefined, admin)).status).toBe(404);
    expect((await served.call("POST", `${API}/keys/${id}/rotate`, undefined, admin)).status).toBe(404);
    const listed = (await served.call("GET", `${API}/keys`, undefined, admin)).body.keys;
    expect(listed.every((key: { zones: string[] }) => key.zones.every((zone) => zone === "a"))).toBe(true);
  });
});

test("[F13] wrong keys are refused with 429 after many of them, and those that are known are not", async () => {
  const guessed = await serve();
  const statusOf = async (secret: string) => {
    const from = { url: `${API}/whoami`, remoteAddress: "192.0.2.1" };
    return (await guessed.app.inject({ ...from, headers: bearer(secret) })).statusCode;
  };
  expect(await statusOf(ADMIN_KEY)).toBe(200);
  const statuses = await Promise.all(Array.from({ length: 120 }, (_, at) => statusOf(`sk-guess-${at}`)));
  expect(statuses[0]).toBe(401);
  expect(statuses).toContain(429);
  expect(await statusOf(ADMIN_KEY)).toBe(200);
  await guessed.close();
});
