// What is sent again and what is not, against answers that are made up.

import { describe, expect, test } from "vitest";
import { OrreryClient } from "./index.ts";

type Answer = () => Response | Promise<Response>;

const TASK = { id: "t", status: "queued" };

function clientOf(answers: Answer[], retryForMs = 5_000) {
  const requests: { readonly url: string; readonly body: string; readonly headers: Headers }[] = [];
  const client = new OrreryClient({
    url: "http://server.test/base",
    key: "k",
    zone: "eu",
    agent: "ada",
    retryForMs,
    fetch: async (url, init) => {
      requests.push({
        url: String(url),
        body: String(init?.body ?? ""),
        headers: new Headers(init?.headers as Record<string, string>),
      });
      const answer = answers.shift();
      if (!answer) throw new Error("no more answers");
      return await answer();
    },
  });
  return { client, requests };
}

const ok = (value: unknown) => (): Response => new Response(JSON.stringify(value));
const busy =
  (status: number, headers: Record<string, string> = {}, code = "unavailable") =>
  (): Response =>
    new Response(JSON.stringify({ code, detail: "busy", status }), { status, headers });
const broken = (): Response => {
  throw new TypeError("fetch failed", { cause: Object.assign(new Error("reset"), { code: "ECONNRESET" }) });
};

describe("a submission", () => {
  test("is sent again with the same key until it is taken", async () => {
    const { client, requests } = clientOf([busy(503), broken, busy(502), ok(TASK)]);
    expect(await client.submit({ task_type: "a" })).toEqual(TASK);
    const keys = requests.map(
      ({ body }) => (JSON.parse(body) as { idempotency_key: string }).idempotency_key,
    );
    expect(keys).toHaveLength(4);
    expect(new Set(keys).size).toBe(1);
  });

  test("keeps the key that it was given", async () => {
    const { client, requests } = clientOf([ok(TASK)]);
    await client.submit({ task_type: "a", executor: "gpu", idempotency_key: "mine" });
    expect(JSON.parse(requests[0]?.body ?? "")).toEqual({
      task_type: "a",
      executor: "gpu",
      idempotency_key: "mine",
    });
  });

  test.each([400, 401, 402, 403, 404, 409, 413, 422, 500])(
    "that is refused with %d is not",
    async (status) => {
      const { client, requests } = clientOf([busy(status)]);
      await expect(client.submit({ task_type: "a" })).rejects.toMatchObject({ status });
      expect(requests).toHaveLength(1);
    },
  );

  test("waits as long as the server asks", async () => {
    const { client } = clientOf([busy(429, { "retry-after": "1" }, "fair-share"), ok(TASK)]);
    const begun = performance.now();
    await client.submit({ task_type: "a" });
    expect(performance.now() - begun).toBeGreaterThan(995);
  });

  test("is given up when that is longer than there is time, or not said", async () => {
    const long = clientOf([busy(429, { "retry-after": "60" }, "fair-share")]);
    await expect(long.client.submit({ task_type: "a" })).rejects.toMatchObject({
      code: "fair-share",
      retryAfterMs: 60_000,
    });
    const never = clientOf([busy(429, {}, "rate-limit")]);
    await expect(never.client.submit({ task_type: "a" })).rejects.toMatchObject({ code: "rate-limit" });
  });
});

test("it says who asks, of which zone, below the path of the URL", async () => {
  const { client, requests } = clientOf([ok({ tasks: [], next: null })]);
  for await (const _ of client.tasks({ status: ["queued", "running"], run: "a/b" }, { pageSize: 5 }));
  const [{ url, headers } = { url: "", headers: new Headers() }] = requests;
  expect(url).toBe(
    "http://server.test/base/api/v2/scheduler/tasks?status=queued&status=running&run=a%2Fb&limit=5",
  );
  expect(headers.get("authorization")).toBe("Bearer k");
  expect(headers.get("x-zone-id")).toBe("eu");
  expect(headers.get("x-agent-id")).toBe("ada");
});

test("names from outside stay in their place of the path", async () => {
  const { client, requests } = clientOf([ok({})]);
  await client.setLimit("a/../b?c", {});
  expect(requests[0]?.url).toBe("http://server.test/base/api/v2/scheduler/limits/a%2F..%2Fb%3Fc");
});

test("what is no Orrery server is told apart", async () => {
  const page = () => new Response("<html>");
  await expect(clientOf([page]).client.metrics()).rejects.toMatchObject({ code: "bad-answer" });
  const missing = () => new Response("<html>", { status: 404 });
  await expect(clientOf([missing]).client.metrics()).rejects.toMatchObject({
    code: "http-404",
    detail: "the server answered HTTP 404",
  });
});

test("a server that never answers is given up in time", async () => {
  const client = new OrreryClient({
    url: "http://server.test",
    key: "k",
    answerWithinMs: 50,
    retryForMs: 0,
    fetch: (_url, init) =>
      new Promise((_, reject) => {
        init?.signal?.addEventListener("abort", () => reject(init.signal?.reason as Error));
      }),
  });
  await expect(client.metrics()).rejects.toMatchObject({ code: "no-answer", status: 0 });
});
