import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ADMIN_KEY, API, bearer, type Served, serve } from "../../../tests/http-app.ts";

const LIMIT_MS = 200;
const task = { executor: "e", task_type: "t" };
let served: Served;
let url: string;
const log: string[] = [];
beforeAll(async () => {
  served = await serve(log, { answerWithinMs: LIMIT_MS });
  url = await served.app.listen({ port: 0, host: "127.0.0.1" });
});
afterAll(async () => {
  await served.close();
});

async function ask(method: string, path: string, body?: object): Promise<{ status: number; code: string }> {
  const response = await fetch(`${url}${API}${path}`, {
    method,
    headers: { ...bearer(ADMIN_KEY), "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, code: ((await response.json()) as { code: string }).code };
}

test("a request that is not answered in time is told so, with a body or without one", async () => {
  const never = () => new Promise<never>(() => {});
  Object.assign(served.instead, { submit: never, metrics: never });
  const late = { status: 503, code: "timeout" };
  expect(await Promise.all([ask("POST", "/submit", task), ask("GET", "/metrics")])).toEqual([late, late]);
});

test("an answer that comes later than that is dropped, and the server goes on", async () => {
  let answer = (_: never[]) => {};
  served.instead.submit = () => new Promise((resolve) => (answer = resolve));
  expect(await ask("POST", "/submit", task)).toMatchObject({ status: 503 });
  answer([]);
  delete served.instead.submit;
  // However slow this machine is now: in time at last.
  await expect.poll(() => ask("POST", "/submit", task), { timeout: 20_000 }).toMatchObject({ status: 201 });
});

test("a route that may take longer is given the time", async () => {
  served.instead.task = () => new Promise((resolve) => setTimeout(resolve, 5 * LIMIT_MS, undefined));
  const { status } = await ask("GET", "/task/00000000-0000-7000-8000-000000000000");
  delete served.instead.task;
  expect(status).toBe(404);
});

test("[S-26.records] a body that is sent by half is not answered twice, and leaves nothing in the log", async () => {
  log.length = 0;
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  let answer = "";
  socket.on("data", (data) => (answer += String(data)));
  const head = `POST ${API}/submit HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ADMIN_KEY}\r\n`;
  socket.write(`${head}content-type: application/json\r\ncontent-length: 100\r\n\r\n{`);
  await new Promise((resolve) => setTimeout(resolve, 4 * LIMIT_MS));
  // Node's limit on the time of a request is the one that answers.
  expect(answer).toBe("");
  socket.destroy();
  await ask("GET", "/overview");
  expect(log).toEqual([]);
});
