// Asks every route as every kind of caller, about objects of one zone and one agent. Routes and their scopes come from the
// server's own table, so the test covers a new route as soon as it is registered, and fails if it cannot make a valid request
// for it. The expected answer follows from the rule in `expectedOf`.

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { Readable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import type { RouteOptions } from "fastify";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { MemoryStore, type ServiceStore } from "../src/store/index.ts";
import { PostgresStore } from "../src/store/postgres/store.ts";
import { ADMIN_KEY, type Answer, API, bearer, type Served, serve } from "./http-app.ts";
import { Contract } from "./http-document.ts";
import { ANN, type MatrixCaller, matrixCallers, WORKER_KEY, ZONE } from "./matrix-callers.ts";
import {
  AGENT_MARKS,
  MatrixObjects,
  type MatrixRequest,
  type Visibility,
  ZONE_MARKS,
} from "./matrix-objects.ts";
import { testDatabase } from "./postgres.ts";

const STORES: Readonly<Record<string, () => Promise<ServiceStore>>> = {
  memory: async () => new MemoryStore(),
  PostgreSQL: async () => PostgresStore.open(await testDatabase()),
};

/**
 * What a caller gets:
 * - 401 without a valid key
 * - 403 if the headers name a zone or an agent that the key does not allow, or if no scope in effect admits the caller
 * - "hidden" if the caller may not see the object: exactly the answer that an unknown id gets
 * - "done": the status that the route documents for success
 */
type Expected = 401 | 403 | "hidden" | "done";

function expectedOf(route: RouteOptions, caller: MatrixCaller, visibility?: Visibility): Expected {
  const { scopes = "none" } = route.config ?? {};
  if (scopes === "none") return "done";
  if (!caller.scopes) return 401;
  if (caller.oversteps || !scopes.some((scope) => caller.scopes?.has(scope))) return 403;
  if (ACTS_FOR_OWNER.has(nameOf(route)) && maySee(caller, visibility) && !caller.agents.includes(ANN))
    return 403;
  return maySee(caller, visibility) ? "done" : "hidden";
}

function maySee(
  { name, zone, agent, agents, scopes }: MatrixCaller,
  visibility: Visibility = "name",
): boolean {
  switch (visibility) {
    case "name":
      return true;
    case "zone":
      return zone === ZONE;
    case "agent":
      return zone === ZONE && (agent === ANN || scopes?.has("admin") === true);
    case "key":
      return zone === ZONE && agents.includes(ANN);
    case "session":
      return name === WORKER_KEY;
  }
}

/** Routes that submit for the agent of the object, which the key must allow. */
const ACTS_FOR_OWNER: ReadonlySet<string> = new Set([`POST ${API}/task/:id/clone`]);

/** Statuses of valid requests other than the documented success. */
const DONE_OTHERWISE: Readonly<Record<string, number>> = {
  // This request has no upgrade. The test below opens WebSockets.
  "GET /worker/connect": 426,
  // No second server follows.
  [`POST ${API}/cluster/step-down`]: 409,
};

/** Statuses other than 404 for hidden objects. An unknown id gets the same answer. */
const HIDDEN_OTHERWISE: Readonly<Record<string, number>> = {
  // The answer says that nothing was cancelled or released.
  [`POST ${API}/task/:id/cancel`]: 200,
  [`POST ${API}/runs/:id/cancel`]: 200,
  [`POST ${API}/runs/:id/release`]: 200,
  // A worker whose session is not known registers again.
  "POST /worker/:id/poll": 409,
  "POST /worker/:id/report": 409,
  "POST /worker/:id/log": 409,
  "POST /worker/:id/progress": 409,
  "POST /worker/:id/drain": 409,
  "POST /worker/:id/leave": 409,
};

/** Routes that tell operators about all zones. */
const SPANS_ZONES: ReadonlySet<string> = new Set([`GET ${API}/ledger`, `GET ${API}/ledger/events`]);

const HOUR_MS = 3_600_000;
const EVENTS = `GET ${API}/events`;

test.each(Object.entries(STORES))(
  "[S-26.matrix] on %s every route answers every caller by one rule, and tells outsiders nothing",
  async (_, open) => {
    const log: string[] = [];
    // The workers send no heartbeats. A lease that ended would change objects between two requests.
    const served = await serve(log, {
      store: await open(),
      settings: { leaseMs: HOUR_MS, graceMs: HOUR_MS },
    });
    const callers = await matrixCallers(served);
    const worker = callers.find(({ name }) => name === WORKER_KEY) as MatrixCaller;
    const strangers = callers.filter(({ scopes }) => !scopes);
    const objects = new MatrixObjects(served, worker);
    await objects.begin();
    const contract = await Contract.of(served);
    const faults: string[] = [];
    for (const route of served.routes) {
      // A route without scopes does not look at keys, so four callers will do.
      const some = route.config?.scopes === "none" ? strangers : callers;
      faults.push(...(await checkRoute(objects, contract, some, route)));
    }
    await served.close();
    expect(faults).toEqual([]);
    // Without this, a test that never shows the marks to anybody would pass.
    expect([...objects.shown].sort()).toEqual([...AGENT_MARKS, ...ZONE_MARKS].sort());
    expect(log).toEqual([]);
  },
  300_000,
);

/** Returns the faults in the answers of a route, for each caller. */
async function checkRoute(
  objects: MatrixObjects,
  contract: Contract,
  callers: readonly MatrixCaller[],
  route: RouteOptions,
): Promise<string[]> {
  const described = contract.operation(route.method as string, route.url);
  const faults: string[] = [];
  const note = (fault: string) => void faults.push(`${nameOf(route)}, ${fault}`);
  const check = async (request: MatrixRequest, caller: MatrixCaller): Promise<void> => {
    const expected = expectedOf(route, caller, request.visibility);
    const answer = await ask(objects.served, route, request.url, caller, await request.body(caller));
    const fault =
      faultOf(route, expected, answer) ??
      (described && contract.fault(described, answer)) ??
      leakOf(objects, route, request, caller, answer) ??
      (expected === "hidden"
        ? await differenceOf(objects.served, route, request, caller, answer)
        : undefined);
    if (fault !== undefined) note(`${caller.name}: ${fault}`);
  };
  const request = await objects.request(route);
  const isInsider = (caller: MatrixCaller) =>
    caller.zone === ZONE && expectedOf(route, caller, request.visibility) === "done";
  const changes = route.method !== "GET" && route.method !== "HEAD";
  const before = changes && (await objects.seen());
  await Promise.all(callers.filter((one) => !isInsider(one)).map((one) => check(request, one)));
  if (changes && (await objects.seen()) !== before) note("an outsider changed something");
  // A request that changes its object cannot be made twice.
  for (const caller of callers.filter(isInsider))
    await check(changes ? await objects.request(route) : request, caller);
  return faults;
}

function faultOf(route: RouteOptions, expected: Expected, { status, text }: Answer): string | undefined {
  const success = Object.keys(route.schema?.response ?? { 200: {} }).map(Number);
  const name = nameOf(route);
  const allowed =
    typeof expected === "number"
      ? [expected]
      : expected === "hidden"
        ? [HIDDEN_OTHERWISE[name] ?? 404]
        : [DONE_OTHERWISE[name] ?? success.filter((one) => one < 300)].flat();
  if (allowed.includes(status)) return undefined;
  return `got ${status} instead of ${expected} (${allowed.join(" or ")}): ${text.slice(0, 300)}`;
}

/** Finds names, contents and ids in an answer that its caller may not see. A value that the caller has sent may come back. */
function leakOf(
  { agentIds, zoneIds, shown }: MatrixObjects,
  route: RouteOptions,
  { url }: MatrixRequest,
  { zone, agent, scopes, headers }: MatrixCaller,
  answer: Answer,
): string | undefined {
  if (SPANS_ZONES.has(nameOf(route)) && scopes?.has("operator")) return undefined;
  const isStranger = zone !== ZONE || !scopes;
  if (!isStranger && (agent === ANN || scopes.has("admin"))) {
    for (const mark of [...AGENT_MARKS, ...ZONE_MARKS]) if (answer.text.includes(mark)) shown.add(mark);
    return undefined;
  }
  // The other zone has an agent of the same name.
  const marks = isStranger ? ["ann-secret", "zone-secret"] : ["ann-secret", ANN];
  const sent = [...url.split(/[/?]/).map(decodeURIComponent), ...Object.values(headers)];
  let text = `${JSON.stringify(answer.headers)}\n${answer.text}`;
  for (const one of sent) if (one.length > 3) text = text.replaceAll(one, "");
  const secrets = [...marks, ...agentIds, ...(isStranger ? zoneIds : [])];
  const found = secrets.find((one) => text.includes(one));
  if (found === undefined) return undefined;
  const at = text.indexOf(found);
  return `shows ${found}: ${text.slice(Math.max(0, at - 200), at + 200)}`;
}

/** Compares an answer about a hidden object with the answer about one that does not exist. */
async function differenceOf(
  served: Served,
  route: RouteOptions,
  { url, missingUrl, body }: MatrixRequest,
  caller: MatrixCaller,
  answer: Answer,
): Promise<string | undefined> {
  const missing = await ask(served, route, missingUrl, caller, await body(caller));
  const [id = "", other = ""] = [url, missingUrl].map(
    (one) => /[^/]*secret[^/]*|[0-9a-f-]{36}/.exec(one)?.[0],
  );
  if (missing.status === answer.status && missing.text.replaceAll(other, id) === answer.text)
    return undefined;
  return `tells ${answer.text} apart from ${missing.status} ${missing.text}`;
}

async function ask(
  served: Served,
  route: RouteOptions,
  url: string,
  caller: MatrixCaller,
  body: unknown,
): Promise<Answer> {
  if (nameOf(route) === EVENTS) return await readEvents(served, url, caller);
  const headers = { ...caller.headers, "x-request-id": "a-request" };
  for (;;) {
    const answer = await served.call(route.method as string, url, body, headers);
    if (answer.body?.code !== "past-building") return answer;
    // The server replays its ledger first. Clients repeat the request as well.
    await setTimeout(20);
  }
}

/** Reads the event stream from its start to an event of the caller's own. */
async function readEvents(served: Served, url: string, caller: MatrixCaller): Promise<Answer> {
  const response = await served.app.inject({
    url: `${url}?from=start`,
    headers: { ...caller.headers },
    payloadAsStream: true,
  });
  const { statusCode: status, headers } = response;
  const stream: Readable = response.stream();
  const own = { ...bearer(ADMIN_KEY), "x-zone-id": caller.zone, "x-agent-id": caller.agent };
  const task = { executor: "nobody", task_type: "t" };
  const last = status === 200 ? (await served.call("POST", `${API}/submit`, task, own)).body.id : undefined;
  let text = "";
  for await (const piece of stream) {
    text += String(piece);
    if (last !== undefined && text.includes(last)) break;
  }
  return { status, headers, text, body: status === 200 ? undefined : JSON.parse(text) };
}

function nameOf({ method, url }: RouteOptions): string {
  return `${method} ${url}`;
}

test("[S-26.matrix] a WebSocket is opened for exactly the callers who may work", async () => {
  const served = await serve();
  await served.app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = served.app.server.address() as AddressInfo;
  const route = served.routes.find(({ url }) => url === "/worker/connect") as RouteOptions;
  for (const caller of await matrixCallers(served)) {
    const expected = expectedOf(route, caller);
    const socket = new WebSocket(`ws://127.0.0.1:${port}/worker/connect`, { headers: { ...caller.headers } });
    socket.on("error", () => {});
    const opened = once(socket, "open").then(() => "done");
    const refused = once(socket, "unexpected-response").then(([, answer]) => answer.statusCode);
    expect([caller.name, await Promise.race([opened, refused])]).toEqual([caller.name, expected]);
    socket.terminate();
  }
  await served.close();
});
