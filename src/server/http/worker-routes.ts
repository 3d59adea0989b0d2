import type { FastifyRequest } from "fastify";
import { Type } from "typebox";
import {
  Ack,
  Done,
  LogBody,
  PollAnswer,
  PollBody,
  ProgressBody,
  RegisterAnswer,
  RegisterBody,
  ReportBody,
  SessionBody,
} from "../../protocol/api-schemas.ts";
import type { WorkerGateway, WorkerSession } from "../api.ts";
import { callerOf, identityOf } from "./auth.ts";
import { Problem, problemOfRefusal } from "./problems.ts";
import { type App, answers, type Edge, isName, MIB, PathId, REQUEST_TIMEOUT_MS, Wait } from "./route.ts";
import { shareOf } from "./shares.ts";
import { signalOf } from "./signal.ts";
import { checkRegistration, storableEntries, storableProgress, storableReport } from "./worker-texts.ts";

/** As much as a message over a socket may have. */
export const MAX_WORKER_MESSAGE: number = 4 * MIB;

/** Time of the main thread, in ms, that the scheduler takes to meet a new worker. */
const REGISTRATION_MS = 2;

/** What workers report is in the ledger, or in logs of tasks. */
const work = { config: { scopes: ["work"], audit: "none" }, bodyLimit: MAX_WORKER_MESSAGE } as const;
const tags = ["workers"];
const WorkerId = PathId("id", "A worker's id.");

/** What a worker says by plain HTTP, so that any language can join with its standard library. */
export function workerRoutes(app: App, edge: Edge): void {
  joinRoutes(app, edge);
  workRoutes(app, edge);
  tellRoutes(app, edge);
  endRoutes(app, edge);
}

function joinRoutes(app: App, { gateway }: Edge): void {
  app.get(
    "/connect",
    {
      config: { scopes: ["work"] },
      schema: {
        summary: "The worker protocol over WebSocket",
        description: "Upgrade the connection; by plain HTTP use /worker/register and /worker/{id}/poll.",
        tags,
        response: answers({}),
      },
    },
    async () => {
      throw new Problem("upgrade-required", "connect with a WebSocket, or use POST /worker/register", {
        headers: { upgrade: "websocket" },
      });
    },
  );

  app.post(
    "/register",
    {
      ...work,
      schema: {
        summary: "Register a worker, or come back",
        tags,
        body: RegisterBody,
        response: answers({ 200: RegisterAnswer }),
      },
    },
    async (request) => {
      const identity = identityOf(request);
      const { registration, heartbeat } = request.body;
      checkRegistration(identity, registration);
      shareOf(request).work.take(REGISTRATION_MS);
      const session = await gateway.register(
        identity.caller,
        registration,
        heartbeat,
        undefined,
        request.socket.remoteAddress,
      );
      if ("refused" in session) throw problemOfRefusal(session);
      return { worker: registration.id, lease_ms: session.leaseMs, heartbeat_ms: session.heartbeatMs };
    },
  );
}

function workRoutes(app: App, { gateway, closing }: Edge): void {
  app.post(
    "/:id/poll",
    {
      ...work,
      config: { ...work.config, answerWithinMs: 3 * REQUEST_TIMEOUT_MS },
      schema: {
        summary: "Say what runs, and wait for what there is to do",
        tags,
        params: WorkerId,
        querystring: Type.Object({ wait: Type.Optional(Wait) }, { additionalProperties: false }),
        body: PollBody,
        response: answers({ 200: PollAnswer }),
      },
    },
    async (request, reply) => {
      const { session: name, heartbeat, chunks = [] } = request.body;
      const { wait = 0 } = request.query;
      const session = sessionOf(gateway, request, request.params.id, name);
      session.chunks(chunks);
      return await session.poll(heartbeat, wait * 1000, signalOf(reply.raw, closing));
    },
  );

  app.post(
    "/:id/report",
    {
      ...work,
      schema: {
        summary: "Say how an attempt ended",
        description: "Repeat it until it is answered; it is accepted once.",
        tags,
        params: WorkerId,
        body: ReportBody,
        response: answers({ 200: Ack }),
      },
    },
    async (request) => {
      const { session, report } = request.body;
      const [ack] = await sessionOf(gateway, request, request.params.id, session).report([
        storableReport(report),
      ]);
      return ack as Ack;
    },
  );
}

function tellRoutes(app: App, { gateway }: Edge): void {
  app.post(
    "/:id/log",
    {
      ...work,
      schema: {
        summary: "Bring what tasks printed",
        tags,
        params: WorkerId,
        body: LogBody,
        response: answers({ 200: Done }),
      },
    },
    async (request) => {
      const { session, entries } = request.body;
      sessionOf(gateway, request, request.params.id, session).log(storableEntries(entries));
      return { ok: true as const };
    },
  );

  app.post(
    "/:id/progress",
    {
      ...work,
      schema: {
        summary: "Say how far a task is",
        tags,
        params: WorkerId,
        body: ProgressBody,
        response: answers({ 200: Done }),
      },
    },
    async (request) => {
      const { session, progress } = request.body;
      sessionOf(gateway, request, request.params.id, session).progress(storableProgress(progress));
      return { ok: true as const };
    },
  );
}

function endRoutes(app: App, { gateway }: Edge): void {
  for (const end of ["drain", "leave"] as const) {
    const summary = end === "drain" ? "Take nothing new" : "Leave; what it still holds is lost";
    app.post(
      `/:id/${end}`,
      {
        ...work,
        schema: { summary, tags, params: WorkerId, body: SessionBody, response: answers({ 200: Done }) },
      },
      async (request) => {
        await sessionOf(gateway, request, request.params.id, request.body.session)[end]();
        return { ok: true as const };
      },
    );
  }
}

function sessionOf(
  gateway: WorkerGateway,
  request: FastifyRequest,
  id: string,
  session: string,
): WorkerSession {
  const found = isName(id) ? gateway.session(callerOf(request), id, session) : undefined;
  if (!found)
    throw new Problem("session-ended", "this session is not the worker's current one; register again");
  return found;
}
