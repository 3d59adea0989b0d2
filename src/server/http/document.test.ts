import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { API, type Served, serve } from "../../../tests/http-app.ts";
import { Contract } from "../../../tests/http-document.ts";

let served: Served;
let contract: Contract;
beforeAll(async () => {
  served = await serve();
  contract = await Contract.of(served);
});
afterAll(async () => {
  await served.close();
});

describe("the document", () => {
  test("is OpenAPI 3.1 with names, and all that it refers to", () => {
    const { openapi, info, components } = contract.document;
    expect([openapi, info.title]).toEqual(["3.1.0", "Orrery"]);
    const references = JSON.stringify(contract.document).matchAll(
      /"\$ref":"#\/components\/schemas\/([^"]+)"/g,
    );
    for (const [, name] of references) expect(Object.keys(components.schemas)).toContain(name);
    const ids = contract.operations().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toContain("getTaskById");
  });

  test("describes each parameter of a path, a body for what needs one, and answers with their types", () => {
    for (const { method, path, operation } of contract.operations()) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      const inPath = (operation.parameters ?? []).filter((one) => one.in === "path").map((one) => one.name);
      expect(inPath, path).toEqual(named);
      expect(operation.summary, path).toBeTruthy();
      if (method === "PUT") expect(operation.requestBody, path).toBeDefined();
      if (method === "GET") expect(operation.requestBody, path).toBeUndefined();
      for (const [status, { description, content }] of Object.entries(operation.responses)) {
        expect(status).toMatch(/^([1-5]\d\d|[45]XX)$/);
        expect(description, `${path} ${status}`).toBeTruthy();
        if (status !== "204")
          expect(
            Object.values(content ?? {}).every(({ schema }) => schema),
            path,
          ).toBe(true);
      }
      expect(Object.keys(operation.responses["4XX"]?.content ?? {})).toEqual(["application/problem+json"]);
    }
  });

  test("says what an event is, and which kinds there are", () => {
    const answers = contract.document.paths[`${API}/events`]?.["get"]?.responses;
    const stream = answers?.["200"]?.content?.["text/event-stream"]?.schema;
    expect(stream?.["x-event-data"]).toEqual({ $ref: "#/components/schemas/Event" });
    const event = JSON.stringify(contract.document.components.schemas["Event"]);
    for (const word of ["id", "kind", "at", "task_id", "run_id", "data"])
      expect(event).toContain(`"${word}":`);
    for (const kind of ["TaskSubmitted", "AttemptFailed", "RunEnded", "EventsMissed"])
      expect(event).toContain(kind);
  });

  test("is a page that describes parameters, and shows how to submit a task and to wait for it", async () => {
    const { text } = await served.call("GET", "/docs");
    expect(text).toContain("<td>The zone; by default the key's first.</td>");
    expect(text).toContain("<td>Seconds to wait for it.</td>");
    expect(text).toMatch(/curl [^<]*\/submit/);
    expect(text).toMatch(/curl [^<]*\/task\/ID\?wait=60/);
  });

  test("is also a page that needs nothing from elsewhere", async () => {
    const { status, headers, text } = await served.call("GET", "/docs", undefined, { authorization: "" });
    expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    expect(headers["content-security-policy"]).toMatch("default-src 'none'");
    expect(text).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
    expect(text).not.toContain("<script");
    for (const { path } of contract.operations()) expect(text).toContain(path);
  });
});
