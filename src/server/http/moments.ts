import type { FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Reading } from "../api.ts";
import { callerOf } from "./auth.ts";
import { invalid, Problem } from "./problems.ts";
import type { App, Edge } from "./route.ts";

/** What can be looked at as it was has this among the parts of its query. */
export const Moment = {
  at: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: "As it was after this event of the ledger, which spans all zones: for operators.",
      examples: [4711],
    }),
  ),
};

export const MomentQuery = Type.Object(Moment, { additionalProperties: false });

/** What a request is answered from: what is now, or what was after the event that it names. */
export function readingOf(
  { api, past }: Pick<Edge, "api" | "past">,
  request: FastifyRequest<{ Querystring: { at?: number } }>,
): Reading {
  const { at } = request.query;
  if (at === undefined) return api;
  if (!callerOf(request).scopes.has("operator"))
    throw new Problem("scope", "to look at the past needs the scope operator: the ledger spans all zones");
  return past.at(at);
}

/** A moment is never ignored: whoever asks for the past must not take the present for it, or change that. */
export function useMoments(app: App): void {
  app.addHook("preValidation", async (request) => {
    if (!Object.hasOwn((request.query ?? {}) as object, "at")) return;
    if (request.method !== "GET")
      throw new Problem("past-fixed", "the past cannot be changed; leave out at to act now");
    const { properties } = (request.routeOptions.schema?.querystring ?? {}) as { properties?: object };
    if (!properties || !Object.hasOwn(properties, "at"))
      throw invalid([{ in: "query", pointer: "/at", detail: "is not known here: this is only told of now" }]);
  });
}
