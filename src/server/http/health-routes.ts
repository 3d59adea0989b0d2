import { Type } from "typebox";
import { HealthAnswer } from "../../protocol/api-schemas.ts";
import { type App, answers, type Edge } from "./route.ts";

const open = { config: { scopes: "none" }, exposeHeadRoute: true } as const;
const tags = ["health"];

/** How the server is, for whoever starts, stops and watches it. */
export function healthRoutes(
  app: App,
  { health, instruments, closing }: Pick<Edge, "health" | "instruments" | "closing">,
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
          tags,
          response: answers({ 200: HealthAnswer, 503: HealthAnswer }),
        },
      },
      async (_, reply) => {
        if (closing.aborted)
          return reply.code(503).send({ status: "unavailable", detail: "the server is closing" });
        const detail = health.notReady();
        const status = health.isStarting?.() ? "starting" : "unavailable";
        if (detail !== undefined) return reply.code(503).send({ status, detail });
        return { ...health.info(), status: "ok" as const };
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
