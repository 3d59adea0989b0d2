import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { API, type Served, serve } from "../../../tests/http-app.ts";

let served: Served;
beforeAll(async () => {
  served = await serve();
});
afterAll(async () => {
  await served.close();
});

const graph = { nodes: { fetch: { task: "fetch" }, clean: { task: "clean", needs: ["fetch"] } } };
const yaml = { "content-type": "application/yaml" };
const post = (body: unknown, query = "", headers = {}) =>
  served.call("POST", `${API}/runs${query}`, body, headers);

describe("a run is submitted", () => {
  test("as JSON about a graph", async () => {
    const { status, body, headers } = await post({
      graph,
      name: "nightly",
      id: "nightly 1",
      fail_fast: true,
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      id: "nightly 1",
      name: "nightly",
      status: "running",
      nodes: 2,
      counts: { queued: 2 },
    });
    expect(headers["location"]).toBe(`${API}/runs/nightly%201`);
    expect((await served.call("GET", String(headers["location"]))).body).toEqual(body);
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
    await post({ graph, id: "once" });
    const { status, body } = await post({ graph, id: "once" });
    expect([status, body.code]).toEqual([409, "duplicate-run"]);
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
