import type { IncomingMessage } from "node:http";
import { Type } from "typebox";
import { HealthAnswer } from "../../protocol/api-schemas.ts";
import type { Keys } from "../keys.ts";
import { identify } from "./auth.ts";
import { type App, answers, type Edge } from "./route.ts";

const open = { config: { scopes: "none" }, exposeHeadRoute: true } as const;
const tags = ["health"];

/** How the server is, for whoever starts, stops and watches it. */
export function healthRoutes(
  app: App,
  { keys, health, instruments, closing }: Pick<Edge, "keys" | "health" | "instruments" | "closing">,
): void {
  app.get(
    "/livez",
    {
      ...open,
      schema: { summary: "Whether the process answers", tags, response: answers({ 200: HealthAnswer }) },
    },
    async () => ({ status: "ok" as const }),
  );

  for (const path of ["/health", "/readyz"]) {
    app.get(
      path,
      {
        ...open,
        schema: {
          summary: "Whether the server takes requests",
          description:
            "Without a key of the operator scope the answer is the status alone. With one it also says why the server is not ready, or its version, store and role.",
          tags,
          response: answers({ 200: HealthAnswer, 503: HealthAnswer }),
        },
      },
      async ({ raw }, reply) => {
        const { code, status, more } = readinessOf(health, closing.aborted);
        return reply.code(code).send({ ...(isOperator(keys, raw) && more), status });
      },
    );
  }

  // It counts what happens in all zones, so a zone's key is not enough.
  app.get(
    "/metrics",
    {
      config: { scopes: ["operator"] },
      schema: {
        summary: "Metrics for Prometheus",
        // The queue has metrics too.
        operationId: "getPrometheusMetrics",
        tags,
        produces: ["text/plain"],
        response: answers({ 200: Type.String() }),
      },
    },
    async (_, reply) =>
      reply
        .type(instruments.registry.contentType)
        .serializer(String)
        .send(await instruments.text()),
  );
}

interface Readiness {
  readonly code: 200 | 503;
  readonly status: HealthAnswer["status"];
  /** What only operators are told: an attacker would learn which server to attack, and when. */
  readonly more: Readonly<Record<string, unknown>>;
}

function readinessOf(health: Edge["health"], isClosing: boolean): Readiness {
  if (isClosing) return { code: 503, status: "unavailable", more: { detail: "the server is closing" } };
  const detail = health.notReady();
  if (detail === undefined) return { code: 200, status: "ok", more: health.info() };
  return { code: 503, status: health.isStarting?.() ? "starting" : "unavailable", more: { detail } };
}

/** A key that is not valid is not refused: whether the server is ready may be asked without one. */
function isOperator(keys: Keys, request: IncomingMessage): boolean {
  try {
    return identify(keys, request).caller.scopes.has("operator");
  } catch {
    return false;
  }
}
