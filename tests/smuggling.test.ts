// Bytes that no client would send, through a follower that shares its connections to the leader among all callers.

import { afterAll, beforeAll, expect, test } from "vitest";
import { type Exchange, exchange, problemFault } from "./raw-http.ts";
import { TestService } from "./service.ts";
import { CORPUS } from "./smuggling-corpus.ts";

let leader: TestService;
let follower: TestService;
beforeAll(async () => {
  leader = await TestService.start("postgresql");
  follower = await TestService.start("postgresql", {}, leader.storeUrl);
}, 60_000);
afterAll(async () => {
  await follower[Symbol.asyncDispose]();
  await leader[Symbol.asyncDispose]();
});

/**
 * Returns what other callers get through the follower in place of the answers to their own requests. They ask at the same
 * time, so that they use both connections to the leader that an attack with its last request may have left open.
 */
async function exchangedAnswers(attack: number): Promise<string[]> {
  const got = [0, 1].map(async (caller) => {
    const id = `attack-${attack}-caller-${caller}`;
    const answer = await follower.get(`/${id}`, { headers: { "x-request-id": id } });
    const answered = answer.headers.get("x-request-id");
    return answer.status === 404 && answered === id ? [] : [`${answer.status} for ${answered}`];
  });
  return (await Promise.all(got)).flat();
}

const outcome = ({ statuses, isClosed }: Exchange) => `${statuses.join(" ")}${isClosed ? "" : " open"}`;

test("[F1] a follower answers every framing trick as the leader does, and no other caller notices", async () => {
  const faults: string[] = [];
  const corpus = Object.entries(CORPUS);
  expect(corpus.length).toBeGreaterThan(400);
  for (const [at, [what, bytes]] of corpus.entries()) {
    const [direct, through] = await Promise.all(
      [leader, follower].map(async ({ server }) => outcome(await exchange(server.port, bytes))),
    );
    if (through !== direct) faults.push(`${what}: ${through} in place of ${direct}`);
    for (const answer of await exchangedAnswers(at)) faults.push(`${what}: another caller got ${answer}`);
  }
  expect(faults).toEqual([]);
}, 60_000);

test("[F1] leader and follower refuse a Connection header that names another one", async () => {
  const bytes = "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, X-Agent-ID\r\n\r\n";
  for (const { server } of [leader, follower]) {
    const { answers, isClosed } = await exchange(server.port, bytes);
    const [answer] = answers();
    expect([answer && problemFault(answer), isClosed]).toEqual([undefined, true]);
    expect(JSON.parse(answer?.body ?? "")).toMatchObject({
      status: 400,
      code: "malformed",
      detail: 'Connection must name only close, keep-alive, upgrade and te, got "x-agent-id"',
    });
  }
});
