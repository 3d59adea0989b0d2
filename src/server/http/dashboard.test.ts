import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { API, bearer, type Served, serve } from "../../../tests/http-app.ts";

const NOBODY = { authorization: "" };
let served: Served;
beforeAll(async () => {
  served = await serve();
});
afterAll(async () => {
  await served.close();
});

test("the app is served at its paths, and lets nothing in from elsewhere", async () => {
  const { status, headers, text } = await served.call("GET", "/", undefined, NOBODY);
  expect([status, headers["content-type"], headers["cache-control"]]).toEqual([
    200,
    "text/html; charset=utf-8",
    "no-cache",
  ]);
  expect(headers["content-security-policy"]).toMatch(/^default-src 'self';/);
  expect(headers["content-security-policy"]).not.toMatch(/unsafe|\*|https?:/);
  expect(text).not.toMatch(/<script(?![^>]* src="\/)|<style|(?:src|href)="(?:https?:)?\/\/| on\w+=/);
  for (const path of ["/tasks", "/tasks/0195a6c2-6f0e-7c3a-9d1b-2f4e5a6b7c8d", "/runs/a/b?x=1", "/ledger"])
    expect((await served.call("GET", path, undefined, NOBODY)).text, path).toBe(text);
});

test("its assets are kept for good, and sent compressed to who takes that", async () => {
  const { text: page, headers } = await served.call("GET", "/", undefined, NOBODY);
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(page)?.[1] ?? "";
  const plain = await served.call("GET", script, undefined, NOBODY);
  expect(plain.headers["cache-control"]).toBe("public, max-age=31536000, immutable");
  expect(plain.headers["content-type"]).toBe("text/javascript; charset=utf-8");
  const zipped = await served.app.inject({ url: script, headers: { "accept-encoding": "gzip, br" } });
  expect(zipped.headers["content-encoding"]).toBe("gzip");
  expect(gunzipSync(zipped.rawPayload).toString()).toBe(plain.text);
  const known = { ...NOBODY, "if-none-match": String(headers["etag"]) };
  expect((await served.call("GET", "/", undefined, known)).status).toBe(304);
});

test("what is no screen stays the API's", async () => {
  for (const path of [
    `${API}/nothing`,
    "/api",
    "/metrics/x",
    "/docs/x",
    "/nothing",
    "/assets/x.js",
    "/assets/..%2findex.html",
  ]) {
    const { status, headers } = await served.call("GET", path);
    expect([status, headers["content-type"]], path).toEqual([404, "application/problem+json; charset=utf-8"]);
  }
  expect((await served.call("POST", "/tasks")).status).toBe(405);
});

test("a ticket is good once, and for a key that ends", async () => {
  const ticket = await served.tickets.issue();
  const redeem = (text: unknown) => served.call("POST", `${API}/session`, { ticket: text }, NOBODY);
  const both = await Promise.all([redeem(ticket), redeem(ticket)]);
  expect(both.map(({ status }) => String(status)).sort()).toEqual(["200", "401"]);
  const { key, expires_at } = both.find(({ status }) => status === 200)?.body ?? {};
  expect(Date.parse(expires_at)).toBeGreaterThan(Date.now() + 3_600_000);
  const who = await served.call("GET", `${API}/whoami`, undefined, bearer(key));
  expect(who.body).toMatchObject({ zone: "default", zones: ["*"], version: "0.0.0" });
  expect(who.body.scopes).toContain("admin");
  expect(await served.tickets.redeem(ticket)).toBeUndefined();
  const { entries } = (await served.call("GET", `${API}/audit`)).body;
  expect(entries.map(({ action }: { action: string }) => action)).toEqual(["session.create", "ticket.issue"]);
  expect(entries[0].key_id).toBe(who.body.key_id);
});

test("a ticket that is old, changed or none lets nobody in", async () => {
  const at = (shiftMs: number) => served.ticketsAt(() => Date.now() + shiftMs).issue();
  const good = await at(0);
  for (const ticket of [await at(-11 * 60_000), await at(60_000), `${good}x`, good.slice(1), "x", ".."]) {
    const { status, body } = await served.call("POST", `${API}/session`, { ticket }, NOBODY);
    expect([status, body.code], ticket).toEqual([401, "unauthorized"]);
  }
  for (const body of [{}, { ticket: "" }, { ticket: 1 }, { ticket: "x".repeat(300) }])
    expect((await served.call("POST", `${API}/session`, body, NOBODY)).status).toBe(422);
});

test("who asks is told who that is", async () => {
  const headers = bearer(
    await served.secretOf({ name: "ci", scopes: ["read"], zones: ["a", "b"], agents: ["ann"] }),
  );
  expect((await served.call("GET", `${API}/whoami`, undefined, headers)).body).toMatchObject({
    name: "ci",
    zone: "a",
    zones: ["a", "b"],
    agent: "ann",
    scopes: ["read"],
    expires_at: null,
  });
});
