import type { ServerResponse } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { isAway } from "../../store/index.ts";
import { formatBytes } from "../../words/index.ts";
import { documentOf, Problem, problemOf } from "./problems.ts";

export const PROBLEM_TYPE = "application/problem+json; charset=utf-8";

/** Answers every failure in one form, and says in the log what is not the client's doing. */
export function useProblems(app: FastifyInstance): void {
  const routes: { readonly pattern: RegExp; readonly method: string }[] = [];
  app.addHook("onRoute", ({ url, method }) => {
    for (const one of [method].flat()) routes.push({ pattern: patternOf(url), method: one });
  });
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply));
  app.setNotFoundHandler((request, reply) => {
    const [path = ""] = request.url.split("?");
    const allowed = new Set(routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method));
    const problem =
      allowed.size === 0
        ? new Problem("not-found", "there is nothing here; /docs lists what there is")
        : new Problem("method-not-allowed", `use ${[...allowed].join(" or ")}`, {
            headers: { allow: [...allowed].join(", ") },
          });
    return sendProblem(problem, request, reply);
  });
}

export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const problem = tooLarge(error, request) ?? problemOf(error);
  if (problem.code === "bug") request.log.error({ err: problem.cause }, "a request ran into a bug");
  // The store reports an outage itself, once and not for each request.
  else if (problem.code === "unavailable" && problem.cause && !isAway(problem.cause))
    request.log.warn({ err: problem.cause }, "the store failed");
  return reply
    .code(problem.statusCode)
    .headers(problem.headers)
    .type(PROBLEM_TYPE)
    .serializer(JSON.stringify)
    .send(documentOf(problem, request.id));
}

/** Only its route knows how much it takes. */
function tooLarge(error: unknown, { routeOptions }: FastifyRequest): Problem | undefined {
  if ((error as { code?: unknown }).code !== "FST_ERR_CTP_BODY_TOO_LARGE") return undefined;
  const most = formatBytes(routeOptions.bodyLimit ?? 0);
  return new Problem(
    "too-large",
    `the body has more than the ${most} that are taken here; send less at once, or name in it where what is large can be read`,
  );
}

/** Answers a request that no route has seen. */
export function refuseWith(response: ServerResponse, problem: Problem, requestId: string): void {
  const body = JSON.stringify(documentOf(problem, requestId));
  response.writeHead(problem.statusCode, {
    ...problem.headers,
    "content-type": PROBLEM_TYPE,
    "content-length": Buffer.byteLength(body),
    "x-request-id": requestId,
  });
  response.end(body);
}

function patternOf(url: string): RegExp {
  const steps = url
    .split("/")
    .map((step) => (step.startsWith(":") ? "[^/]+" : step.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")));
  return new RegExp(`^${steps.join("/")}$`);
}
