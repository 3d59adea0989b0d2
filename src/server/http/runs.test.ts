import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cpuMsSince } from "../../../tests/cpu-time.ts";
import { API, type Served, serve } from "../../../tests/http-app.ts";

let served: Served;
beforeAll(async () => {
  served = await serve();
});
afterAll(async () => {
  await served.close();
});

const graph = { nodes: { fetch: { task: "fetch" }, clean: { task: "clean", needs: ["fetch"] } } };
const ID = "0195a6c2-6f0e-7c3a-9d1b-2f4e5a6b7c8d";
const yaml = { "content-type": "application/yaml" };
const post = (body: unknown, query = "", headers = {}) =>
  served.call("POST", `${API}/runs${query}`, body, headers);

describe("a run is submitted", () => {
  test("as JSON about a graph", async () => {
    const { status, body, headers } = await post({
      graph,
      name: "nightly",
      id: ID,
      fail_fast: true,
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      id: ID,
      name: "nightly",
      status: "running",
      nodes: 2,
      counts: { queued: 2 },
    });
    expect(headers["location"]).toBe(`${API}/runs/${ID}`);
    expect((await served.call("GET", String(headers["location"]))).body).toEqual(body);
  });

  test("and its plan says what stands in its way", async () => {
    const { body: run } = await post({ graph });
    const { status, body } = await served.call("GET", `${API}/runs/${run.id}/plan`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ run_id: run.id, status: "running", expected_end: null });
    const nodes = new Map((body.nodes as { node: string }[]).map((node) => [node.node, node]));
    expect(nodes.get("fetch")).toMatchObject({
      status: "queued",
      skipped: "Unsatisfiable",
      expected_start: null,
    });
    expect(nodes.get("clean")).toMatchObject({ skipped: "Unsatisfiable", critical: false });
    expect((await served.call("GET", `${API}/runs/${ID.replace("0195", "0199")}/plan`)).status).toBe(404);
  });

  test("as a graph file of JSON", async () => {
    expect((await post({ name: "mine", ...graph })).body).toMatchObject({ name: "mine", nodes: 2 });
    expect((await post({ name: "mine", ...graph }, "?name=other&fail_fast=true")).body.name).toBe("other");
  });

  test("as a graph file of YAML", async () => {
    const { status, body } = await post(
      "nodes:\n  a: {task: t}\n  b: {task: t, needs: a}\n",
      "?name=file",
      yaml,
    );
    expect([status, body.name, body.nodes]).toEqual([201, "file", 2]);
  });

  test("once under an id", async () => {
    const id = ID.replace("0195", "0196");
    await post({ graph, id });
    const { status, body } = await post({ graph, id });
    expect([status, body.code]).toEqual([409, "duplicate-run"]);
  });

  test.each([
    ["in the body", { graph, id: "nightly" }, ""],
    ["in the query", graph, "?id=nightly"],
  ])("under a UUID and no other id, %s", async (_where, body, query) => {
    const refused = await post(body, query);
    expect([refused.status, refused.body.errors[0].detail]).toEqual([
      422,
      `must be a UUID, for example "${ID}"; got "nightly"`,
    ]);
  });
});

describe("a graph is refused with", () => {
  test("the line, the path and the reason of each problem", async () => {
    const { status, body } = await post("nodes:\n  a: {task: t, needs: c}\n  b: {tusk: t}\n", "", yaml);
    expect([status, body.code]).toEqual([422, "invalid-graph"]);
    expect(body.errors).toMatchObject([
      { line: 2, path: "nodes.a.needs", detail: expect.stringContaining('"c"') },
      { line: 3, path: "nodes.b" },
      { line: 3, path: "nodes.b.tusk", detail: expect.stringContaining('did you mean "task"') },
    ]);
  });

  test("paths, where it came inside of JSON", async () => {
    const { status, body } = await post({ graph: { nodes: { a: { task: "t", timeout: "soon" } } } });
    expect(status).toBe(422);
    expect(body.errors).toMatchObject([{ pointer: "/graph", path: "nodes.a.timeout" }]);
  });

  test.each([
    ["nothing", undefined, {}, 422],
    ["an empty text", "", {}, 422],
    ["broken JSON", "{", {}, 400],
    ["broken YAML", "nodes: [", yaml, 422],
    ["a list", "[]", {}, 422],
    ["another type", "nodes: {}", { "content-type": "text/plain" }, 415],
    ["an unknown option", { graph, failfast: true }, {}, 422],
    ["a wrong option", { graph, fail_fast: "yes" }, {}, 422],
    ["too much YAML", `nodes: {a: {task: t}} #${"x".repeat(5 * 1024 * 1024)}`, yaml, 413],
  ])("%s", async (_what, body, headers, status) => {
    expect((await post(body, "", headers)).status).toBe(status);
  });
});

test("a run is cancelled once, and found in the list", async () => {
  const { id } = (await post({ graph })).body;
  expect((await served.call("POST", `${API}/runs/${id}/cancel`)).body).toEqual({
    cancelled: true,
    run_id: id,
  });
  expect((await served.call("POST", `${API}/runs/${id}/cancel`)).body.cancelled).toBe(false);
  const [first] = (await served.call("GET", `${API}/runs?limit=1`)).body.runs;
  expect(first).toMatchObject({ id, status: "cancelled" });
});

describe("what a stranger sends takes a bounded time:", () => {
  const many = (count: number, item: (index: number) => string) =>
    Array.from({ length: count }, (_, n) => item(n)).join(",");
  const json = {};
  const cases: [string, string, Record<string, string>, number][] = [
    ["half a million nodes", `{"nodes":{${many(500_000, (n) => `"n${n}":1`)}}}`, json, 422],
    ["as many in an envelope", `{"graph":{"nodes":{${many(500_000, (n) => `"n${n}":1`)}}}}`, json, 422],
    ["more than 16 MiB", `{"nodes":{"a":"${"x".repeat(17 * 1024 * 1024)}"}}`, json, 413],
    ["nodes that are all wrong", `{"nodes":{${many(100_000, (n) => `"n${n}":1`)}}}`, json, 422],
    [
      "unknown needs",
      `{"nodes":{${many(9000, (n) => `"n${n}":{"task":"t","needs":["m${n}"]}`)}}}`,
      json,
      422,
    ],
    [
      "a large cycle",
      `{"nodes":{${many(100_000, (n) => `"n${n}":{"task":"t","needs":["n${(n + 1) % 100_000}"]}`)}}}`,
      json,
      422,
    ],
    ["unknown keys", `{"nodes":{"a":{${many(500_000, (n) => `"n${n}":1`)}}}}`, json, 422],
    ["unknown options", `{"graph":{},${many(500_000, (n) => `"n${n}":1`)}}`, json, 422],
    ["the same key", `{"nodes":{"a":{${many(2_000_000, () => '"n":1')}}}}`, json, 422],
    ["a list", `[${many(8_000_000, () => "1")}]`, json, 422],
    ["a large payload", `{"nodes":{"a":{"task":"t","payload":[${many(8_000_000, () => "1")}]}}}`, json, 422],
    [
      "large defaults",
      `{"defaults":{"payload":{"a":"${"x".repeat(1_000_000)}"}},"nodes":{${many(50_000, (n) => `"n${n}":{"task":"t"}`)}}}`,
      json,
      422,
    ],
    [
      "many default capabilities",
      `{"defaults":{"capabilities":[${many(200_000, (n) => `"c${n}"`)}]},"nodes":{${many(50_000, (n) => `"n${n}":{"task":"t"}`)}}}`,
      json,
      422,
    ],
    [
      "a large default environment",
      `{"defaults":{"env":{${many(20_000, (n) => `"E${n}":""`)}}},"nodes":{${many(50_000, (n) => `"n${n}":{"run":"t","env":{"A":"b"}}`)}}}`,
      json,
      422,
    ],
    ["a long name", `{"nodes":{"a":{"${"x".repeat(1_000_000)}":1}}}`, json, 422],
    ["YAML of colons", "  : : :\n".repeat(16_000), yaml, 422],
    ["YAML of brackets", "[".repeat(128 * 1024), yaml, 422],
    [
      "YAML of aliases",
      `nodes: {a: {task: &a "${"x".repeat(60_000)}", payload: [${many(15_000, () => "*a")}]}}`,
      yaml,
      422,
    ],
    ["much YAML", "  : : :\n".repeat(100_000), yaml, 413],
  ];

  test.each(cases)("%s", { timeout: 30_000 }, async (_what, body, headers, status) => {
    const before = process.cpuUsage();
    const answer = await post(body, "", headers);
    expect(cpuMsSince(before)).toBeLessThan(5000);
    expect(answer.status).toBe(status);
    expect(answer.text.length).toBeLessThan(50_000);
    expect(answer.body.errors?.length ?? 0).toBeLessThan(101);
  });
});
