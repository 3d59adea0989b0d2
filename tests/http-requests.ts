// Requests of every kind, made from the server's own document: right ones, broken ones, and ones that are no
// requests at all. Whatever comes, the answer has to be one of those that the document promises, and no 5xx.

import fc from "fast-check";
import type { NewKey } from "../src/server/keys.ts";
import { cpuMsSince } from "./cpu-time.ts";
import { API, bearer, type Served } from "./http-app.ts";
import { Contract, type Described } from "./http-document.ts";
import { anyBody, anyText } from "./http-values.ts";

interface Request {
  readonly target: Described;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
}

/** Sends that many requests and returns what was wrong with the answers. */
export async function sendGenerated(
  served: Served,
  { count, seed }: { readonly count: number; readonly seed: number },
): Promise<{ readonly faults: readonly string[]; readonly statuses: ReadonlyMap<number, number> }> {
  const contract = await Contract.of(served);
  const ids = await someIds(served);
  const callers = await someCallers(served);
  // A stream does not end by itself.
  const targets = contract.operations().filter(({ path }) => !path.endsWith("/events"));
  const requests = fc.sample(anyRequest(contract, targets, ids, callers), { numRuns: count, seed });
  const statuses = new Map<number, number>();
  const faults: string[] = [];
  for (const { target, url, headers, body } of requests) {
    const before = process.cpuUsage();
    const answer = await served.call(target.method, url, body, headers);
    const cpuMs = cpuMsSince(before);
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    const fault =
      answer.status >= 500
        ? `${answer.status} ${answer.text.slice(0, 300)}`
        : (contract.fault(target, answer) ?? (cpuMs > MAX_CPU_MS ? `took ${cpuMs} ms` : undefined));
    if (fault !== undefined) {
      const request = `${target.method} ${url.slice(0, 500)} ${JSON.stringify(headers)} ${body?.slice(0, 300)}`;
      faults.push(`seed ${seed}: ${request}: ${fault}`);
    }
  }
  return { faults, statuses };
}

/** In all threads, the collector's too; an answer takes some milliseconds. */
const MAX_CPU_MS = 1500;

/** Headers of an admin, and of those who may do less or nothing. */
async function someCallers(served: Served): Promise<Record<string, string>[]> {
  const keys = [
    { scopes: ["admin"], zones: ["a"] },
    { scopes: ["submit", "read"], agents: ["alice"] },
    { scopes: ["work"], zones: ["a"] },
  ] as const;
  const secrets = await Promise.all(keys.map((key) => served.secretOf(key as Partial<NewKey>)));
  return [{}, {}, {}, {}, {}, ...[...secrets, "sk-bogus"].map(bearer)];
}

/** A task, a run, and a worker whose session is the one that the document gives as an example. */
async function someIds(served: Served): Promise<string[]> {
  const registration = { ...WORKER, id: "worker-1", session: "b1f7c0de5a", executors: ["agent-worker-1"] };
  await served.call("POST", "/worker/register", { registration, heartbeat: { attempts: [] } });
  const task = await served.call("POST", `${API}/submit`, { executor: "agent-worker-1", task_type: "b" });
  const run = await served.call("POST", `${API}/runs`, { graph: { nodes: { n: { task: "t" } } } });
  return [task, run].map(({ body }) => (body as { id: string }).id);
}

const WORKER = {
  protocol: 1,
  types: ["test_task"],
  cpu_millicores: 1_000_000,
  memory_bytes: 2 ** 40,
  slots: 1000,
};

function anyRequest(
  contract: Contract,
  targets: readonly Described[],
  ids: readonly string[],
  callers: readonly Record<string, string>[],
): fc.Arbitrary<Request> {
  return fc.constantFrom(...targets).chain((target) => {
    const schema = Object.values(target.operation.requestBody?.content ?? {})[0]?.schema;
    return fc.record({
      target: fc.constant(target),
      url: anyUrl(target, ids),
      headers: fc.tuple(fc.constantFrom(...callers), anyHeaders).map(([who, odd]) => ({ ...who, ...odd })),
      body: schema ? anyBody(contract.whole(schema), ids) : fc.option(anyText, { nil: undefined, freq: 5 }),
    });
  });
}

function anyUrl({ path, operation }: Described, ids: readonly string[]): fc.Arbitrary<string> {
  const segment = fc.oneof(
    fc.constantFrom(...ids, "worker-1"),
    fc.uuid(),
    anyText.map(encoded),
    fc.constantFrom("%zz", "%00", "%2f", "..%2f..", "%F0%9F%98%80", "%E2%80%AE", "a".repeat(1000), "", "."),
  );
  const names = (operation.parameters ?? []).filter((one) => one.in === "query").map((one) => one.name);
  const value = fc.oneof(
    anyText.map(encoded),
    fc.integer({ min: -2, max: 2000 }).map(String),
    fc.constantFrom(
      "true",
      "queued",
      "%zz",
      "%00",
      "-0",
      "1e400",
      "0x10",
      "x".repeat(5000),
      "queued&limit=2",
    ),
  );
  const pair = fc
    .tuple(
      fc.oneof(
        { arbitrary: fc.constantFrom(...names, "odd"), weight: 9 },
        { arbitrary: anyText.map(encoded), weight: 1 },
      ),
      value,
    )
    // A wait that is granted would take its time.
    .map(([name, given]) => `${name}=${name === "wait" && Number(given) > 0 ? "0.001" : given}`);
  return fc
    .tuple(segment, fc.array(pair, { maxLength: 3 }))
    .map(([id, pairs]) => path.replace(/\{\w+\}/, () => id) + (pairs.length > 0 ? `?${pairs.join("&")}` : ""))
    .chain((url) => fc.oneof({ arbitrary: fc.constant(url), weight: 20 }, oddly(url)));
}

/** Nearly the same, and often another one. */
function oddly(url: string): fc.Arbitrary<string> {
  return fc.constantFrom(
    `/${url}`,
    url.replace("/", "//"),
    `${url}/`,
    `${url}?`,
    `${url}#a`,
    `${url};a=b`,
    url.toUpperCase(),
    `${url}?${"a=b&".repeat(2000)}`,
    `${url}?a[b]=c&a=d&a=e&=&&`,
  );
}

function encoded(text: string): string {
  return /\p{Cs}/u.test(text) ? "%ED%A0%80" : encodeURIComponent(text);
}

const anyHeaders: fc.Arbitrary<Record<string, string>> = fc
  .record(
    {
      "x-zone-id": fc.constantFrom("a", "b", "", "a b", "ö"),
      "x-agent-id": fc.constantFrom("alice", "bob", "x".repeat(300)),
      "idempotency-key": fc.constantFrom("k1", "k2", "", "k k"),
      "x-request-id": fc.constantFrom("mine", "not mine", ""),
      "content-type": fc.constantFrom(
        "application/json",
        "application/yaml",
        "text/plain",
        "",
        "%",
        "application/json; charset=latin1",
      ),
      "content-encoding": fc.constantFrom("gzip", "identity", "br, gzip"),
      traceparent: fc.constantFrom("", "00", `00-${"0".repeat(32)}-${"0".repeat(16)}-00`, "x".repeat(5000)),
      expect: fc.constantFrom("100-continue"),
      accept: fc.constantFrom("text/html", "*/*;q=0", ""),
      "last-event-id": fc.constantFrom("x", ""),
      authorization: fc.constantFrom("Bearer", "Bearer sk-bogus", "Basic YTpi", ""),
    },
    { requiredKeys: [] },
  )
  .chain((headers) => fc.subarray(Object.keys(headers), { maxLength: 1 }).map((kept) => pick(headers, kept)));

function pick(headers: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, headers[name] ?? ""]));
}
