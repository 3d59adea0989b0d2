// Holds answers against the OpenAPI document that the server itself gives out.

import { Compile } from "typebox/schema";
import type { Document, JsonSchema, Operation } from "../src/server/http/openapi.ts";
import type { Answer, Served } from "./http-app.ts";

export interface Described {
  readonly method: string;
  /** As in the document: /task/{id}. */
  readonly path: string;
  readonly operation: Operation;
}

export class Contract {
  readonly document: Document;
  readonly #checks = new Map<string, ReturnType<typeof Compile>>();

  static async of(served: Served): Promise<Contract> {
    return new Contract((await served.call("GET", "/openapi.json")).body as Document);
  }

  constructor(document: Document) {
    this.document = document;
  }

  operations(): Described[] {
    return Object.entries(this.document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        operation,
      })),
    );
  }

  /** Returns the operation of a route, or `undefined` if the route is not documented. */
  operation(method: string, url: string): Described | undefined {
    const path = url.replace(/:(\w+)/g, "{$1}");
    const operation = this.document.paths[path]?.[method.toLowerCase()];
    return operation && { method, path, operation };
  }

  /** The schema with what it refers to put in. */
  whole(schema: JsonSchema): JsonSchema {
    const resolve = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(resolve);
      if (typeof value !== "object" || value === null) return value;
      const { $ref } = value as { $ref?: unknown };
      if (typeof $ref === "string")
        return resolve(this.document.components.schemas[$ref.split("/").at(-1) ?? ""]);
      return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, resolve(member)]));
    };
    return resolve(schema) as JsonSchema;
  }

  /** What is wrong with an answer; undefined: nothing. */
  fault({ method, path, operation }: Described, answer: Answer): string | undefined {
    const status = String(answer.status);
    const responses = operation.responses;
    const key = [status, `${status[0]}XX`].find((one) => Object.hasOwn(responses, one));
    if (key === undefined) return `${method} ${path} answers ${status}, which is not documented`;
    const content = responses[key]?.content ?? {};
    const type = String(answer.headers["content-type"] ?? "").split(";")[0] ?? "";
    const media = content[type];
    if (!media)
      return answer.text === ""
        ? undefined
        : `${method} ${path} answers ${status} as ${type}, not ${Object.keys(content)}`;
    if (!type.endsWith("json")) return undefined;
    const at = `${method} ${path} ${key}`;
    const check = this.#checks.get(at) ?? Compile(this.whole(media.schema));
    this.#checks.set(at, check);
    if (check.Check(answer.body)) return undefined;
    return `${at}: ${JSON.stringify(check.Errors(answer.body)[1])} in ${answer.text.slice(0, 500)}`;
  }
}
