import swagger from "@fastify/swagger";
import type { FastifySchema, RouteOptions } from "fastify";
import { type TObject, Type } from "typebox";
import { docsPage } from "./docs-page.ts";
import { type App, answers, PREFIX } from "./route.ts";

/** As much of an OpenAPI document as is looked at here. */
export interface Document {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

export interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly description?: string;
    readonly schema: JsonSchema;
  }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
}

export type JsonSchema = Readonly<Record<string, unknown>>;
type Content = Readonly<Record<string, { readonly schema: JsonSchema }>>;

const SECURITY = { key: { type: "http", scheme: "bearer", description: "An API key, sk-…" } } as const;

/** Describes the routes that are registered after it, and serves the description: for programs and for people. */
export function useOpenApi(app: App, version: string): void {
  app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Orrery",
        version,
        description: "A deterministic scheduler for tasks and graphs of tasks.",
      },
      components: { securitySchemes: SECURITY },
      security: [{ key: [] }],
    },
    transform: ({ schema, url, route }) => ({ schema: described(schema, route), url }),
  });
}

/** What can be said of every route alike: its name for programs, who may call it, and for which zone and agent. */
function described(schema: FastifySchema, { method, url, config }: RouteOptions): FastifySchema {
  const steps = url
    .replace(PREFIX, "")
    .split(/[/.]/)
    .filter((step) => step !== "");
  const name = [
    String(method).toLowerCase(),
    ...steps.map((step) => capitalized(step.replace(":", "by-"))),
  ].join("");
  const { operationId = name, description, headers } = schema as Described;
  const scopes = config?.scopes ?? "none";
  if (scopes === "none") return { ...schema, operationId, security: [] };
  return {
    ...schema,
    operationId,
    description: [description, `Needs the scope ${scopes.join(" or ")}.`].filter(Boolean).join(" "),
    headers: Type.Object({ ...headers?.properties, ...CALLER_HEADERS }),
  };
}

interface Described {
  readonly operationId?: string;
  readonly description?: string;
  readonly headers?: TObject;
}

const CALLER_HEADERS = {
  "x-zone-id": Type.Optional(Type.String({ description: "The zone; by default the key's first." })),
  "x-agent-id": Type.Optional(
    Type.String({ description: "The agent to act for; by default the key's own." }),
  ),
};

function capitalized(words: string): string {
  return words.replace(/(?:^|[-_])(.)/g, (_, first: string) => first.toUpperCase());
}

export function docsRoutes(app: App): void {
  let document: Document | undefined;
  const whole = (): Document => {
    document ??= withComponents(app.swagger() as unknown as Document);
    return document;
  };
  const open = { config: { scopes: "none" } } as const;

  // They say what the manual says, and a browser cannot send a key along.
  app.get(
    "/openapi.json",
    {
      ...open,
      schema: {
        summary: "This API, as OpenAPI 3.1",
        tags: ["health"],
        response: answers({ 200: Type.Unknown() }),
      },
    },
    async () => whole(),
  );
  app.get(
    "/docs",
    {
      ...open,
      schema: {
        summary: "This API, for people",
        produces: ["text/html"],
        tags: ["health"],
        response: answers({ 200: Type.String() }),
      },
    },
    async (_, reply) =>
      reply
        .type("text/html; charset=utf-8")
        .header(
          "content-security-policy",
          "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        )
        .serializer(String)
        .send(docsPage(whole())),
  );
}

/** Moves every schema that has a title to one place, so that clients get one type for it. */
function withComponents(document: Document): Document {
  const schemas: Record<string, unknown> = {};
  const moved = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(moved);
    if (typeof value !== "object" || value === null) return value;
    const copy = Object.fromEntries(Object.entries(value).map(([key, member]) => [key, moved(member)]));
    const { title } = copy;
    if (typeof title !== "string" || !("type" in copy || "anyOf" in copy)) return copy;
    schemas[title] = copy;
    return { $ref: `#/components/schemas/${title}` };
  };
  const paths = moved(document.paths) as Document["paths"];
  return {
    ...document,
    paths,
    components: { ...document.components, schemas: schemas as Document["components"]["schemas"] },
  };
}
