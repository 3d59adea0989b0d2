import { setMaxListeners } from "node:events";
import type { IncomingMessage } from "node:http";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import { fastify, LogController } from "fastify";
import { invariant } from "../../core/index.ts";
import type { AuditStore } from "../../store/index.ts";
import { newId } from "../../store/index.ts";
import type { Webhooks } from "../../webhooks/index.ts";
import type { Api, WorkerGateway } from "../api.ts";
import type { Keys } from "../keys.ts";
import { type Log, makeLog } from "../log.ts";
import type { Past } from "../past/past.ts";
import type { Schedules } from "../schedules/schedules.ts";
import type { ServerSecret } from "../secret.ts";
import type { Tickets } from "../tickets.ts";
import { adminRoutes } from "./admin-routes.ts";
import { auditRoute, demandAudit, useAudit } from "./audit.ts";
import { demandScope, identify } from "./auth.ts";
import { useBodyParsers } from "./body-parsers.ts";
import { BodyThread } from "./body-thread.ts";
import { bulkRoutes } from "./bulk-routes.ts";
import { cloneRoute } from "./clone-route.ts";
import { useClosing } from "./closing.ts";
import { clusterRoutes, clusterStatusRoute } from "./cluster-routes.ts";
import { recognize } from "./connection-table.ts";
import { answerOnSocket, limitConnections } from "./connections.ts";
import { Cursors } from "./cursor.ts";
import { dashboardRoutes } from "./dashboard-routes.ts";
import { sendProblem, useProblems } from "./errors.ts";
import { eventRoutes } from "./event-routes.ts";
import { fleetRoutes } from "./fleet-routes.ts";
import { healthRoutes } from "./health-routes.ts";
import { keyRoutes } from "./key-routes.ts";
import { ledgerRoutes } from "./ledger-routes.ts";
import { EDGE_LIMITS, type EdgeLimits } from "./limits.ts";
import { Instruments } from "./metrics.ts";
import { useMoments } from "./moments.ts";
import { OpenRequests } from "./open-requests.ts";
import { docsRoutes, useOpenApi } from "./openapi.ts";
import { pastRoutes } from "./past-routes.ts";
import { queueRoutes } from "./queue-routes.ts";
import { resultRoutes } from "./result-routes.ts";
import {
  type App,
  type ClusterControl,
  type Edge,
  type Health,
  MIB,
  PREFIX,
  REQUEST_TIMEOUT_MS,
} from "./route.ts";
import { runGraphRoutes } from "./run-graph-routes.ts";
import { runRoutes, runSubmissionRoute } from "./run-routes.ts";
import { scheduleRoutes } from "./schedule-routes.ts";
import { sessionRoutes } from "./session-routes.ts";
import { useShares } from "./share-hooks.ts";
import { Shares } from "./shares.ts";
import { useStoreTrouble } from "./store-trouble.ts";
import { submitRoutes } from "./submit-routes.ts";
import { taskListRoute } from "./task-list-route.ts";
import { taskRoutes } from "./task-routes.ts";
import { useTimeLimit } from "./time-limit.ts";
import { validatorCompiler } from "./validation.ts";
import { webhookRoutes } from "./webhook-routes.ts";
import { whatIfRoutes } from "./what-if-routes.ts";
import { workerRoutes } from "./worker-routes.ts";
import { useWorkerSockets } from "./worker-socket.ts";

const SILENT: Log = makeLog({ level: "silent", write: () => {} });

export interface AppOptions {
  readonly api: Api;
  readonly gateway: WorkerGateway;
  readonly schedules: Schedules;
  readonly keys: Keys;
  readonly webhooks: Webhooks;
  readonly past: Past;
  readonly audit: AuditStore;
  readonly tickets: Tickets;
  readonly secret: ServerSecret;
  readonly health: Health;
  readonly cluster: ClusterControl;
  readonly version: string;
  readonly instruments?: Instruments;
  /** How long a request may wait for its answer, where its route does not say. */
  readonly answerWithinMs?: number;
  readonly limits?: Partial<EdgeLimits>;
  /** By default nothing is logged. */
  readonly log?: Log;
}

/** The service by HTTP. It listens when it is told to, and closes within seconds whoever is connected. */
export function buildApp(options: AppOptions): App {
  const { api, gateway, schedules, keys, webhooks, past, audit, tickets, health, cluster } = options;
  const { app, instruments, closing } = buildBare(options);
  const bodies = new BodyThread();
  app.addHook("onClose", async () => bodies[Symbol.asyncDispose]());
  const cursors = new Cursors(options.secret.derive("cursors"));
  const edge: Edge = {
    api,
    gateway,
    schedules,
    keys,
    webhooks,
    past,
    audit,
    tickets,
    health,
    cluster,
    instruments,
    cursors,
    bodies,
    closing,
  };
  useBodyParsers(app, bodies);
  useWorkerSockets(app, edge);
  useAudit(app, edge);
  useOpenApi(app, options.version);
  app.register(async (scope) => {
    healthRoutes(scope, edge);
    docsRoutes(scope);
    dashboardRoutes(scope);
  });
  app.register(async (scope) => apiRoutes(scope, edge), { prefix: PREFIX });
  app.register(async (scope) => runSubmissionRoute(scope, edge), { prefix: PREFIX });
  app.register(async (scope) => workerRoutes(scope, edge), { prefix: "/worker" });
  return app;
}

/** What a server answers by itself, whoever leads: how it is, and how the others are. */
export function buildLocalApp(
  options: Omit<
    AppOptions,
    "api" | "gateway" | "schedules" | "webhooks" | "past" | "audit" | "tickets" | "secret"
  >,
): App {
  const { keys, health, cluster } = options;
  const { app, instruments, closing } = buildBare(options);
  app.register(async (scope) => healthRoutes(scope, { keys, health, instruments, closing }));
  app.register(async (scope) => clusterStatusRoute(scope, { cluster }), { prefix: PREFIX });
  return app;
}

const LOCAL_PATHS: ReadonlySet<string> = new Set([
  "/livez",
  "/readyz",
  "/health",
  "/metrics",
  `${PREFIX}/cluster`,
]);

export function isLocal(url = ""): boolean {
  return LOCAL_PATHS.has(url.split("?", 1)[0] ?? "");
}

/** Without routes: how requests are named, let in and refused. */
function buildBare(
  options: Pick<AppOptions, "keys" | "health" | "instruments" | "limits" | "log" | "answerWithinMs">,
): {
  app: App;
  instruments: Instruments;
  closing: AbortSignal;
} {
  const app: App = fastify({
    loggerInstance: (options.log ?? SILENT).forRequests,
    // Our own line for a request says less.
    logController: new LogController({ requestIdLogLabel: "request_id", disableRequestLogging: true }),
    genReqId: requestId,
    bodyLimit: MIB,
    forceCloseConnections: "idle",
    exposeHeadRoutes: false,
    // Its answer would not be a problem document; ours is.
    return503OnClosing: false,
    routerOptions: { maxParamLength: 2048 },
    frameworkErrors: (error, request, reply) => void sendProblem(error, request, reply),
    clientErrorHandler: answerOnSocket,
  }).withTypeProvider<TypeBoxTypeProvider>();
  limitConnections(app.server);
  app.setValidatorCompiler(validatorCompiler);
  // What answers hold is typed by their schemas; writing them out needs no second look.
  app.setSerializerCompiler(() => JSON.stringify);

  const closing = new AbortController();
  // Everyone who waits listens to it.
  setMaxListeners(0, closing.signal);
  const instruments = options.instruments ?? new Instruments();
  useProblems(app);
  const open = new OpenRequests();
  useTimeLimit(app, open, options.answerWithinMs ?? REQUEST_TIMEOUT_MS);
  useRequestIds(app, instruments);
  if (!options.instruments) app.addHook("onClose", async () => instruments.close());
  useClosing(app, open, closing);
  useAuth(app, options.keys);
  const shares = new Shares({ ...EDGE_LIMITS, ...options.limits }, (limit) => instruments.limited(limit));
  useShares(app, shares);
  const held = () => ({ body_bytes: shares.bodyBytes, unread_bytes: shares.unreadBytes });
  instruments.held.add(held);
  app.addHook("onClose", async () => void instruments.held.delete(held));
  useStoreTrouble(app, open, options.health);
  demandAudit(app);
  return { app, instruments, closing: closing.signal };
}

function apiRoutes(scope: App, edge: Edge): void {
  useMoments(scope);
  submitRoutes(scope, edge);
  taskRoutes(scope, edge);
  taskListRoute(scope, edge);
  bulkRoutes(scope, edge);
  cloneRoute(scope, edge);
  queueRoutes(scope, edge);
  runRoutes(scope, edge);
  runGraphRoutes(scope, edge);
  resultRoutes(scope, edge);
  eventRoutes(scope, edge);
  scheduleRoutes(scope, edge);
  adminRoutes(scope, edge);
  fleetRoutes(scope, edge);
  keyRoutes(scope, edge);
  sessionRoutes(scope, edge);
  webhookRoutes(scope, edge);
  ledgerRoutes(scope, edge);
  whatIfRoutes(scope, edge);
  pastRoutes(scope, edge);
  auditRoute(scope, edge);
  clusterRoutes(scope, edge);
}

function requestId(request: IncomingMessage): string {
  const given = request.headers["x-request-id"];
  return typeof given === "string" && /^[\x21-\x7e]{1,128}$/.test(given) ? given : newId();
}

/** Nothing is open by accident: a route says who may come, or the server does not start. */
function useAuth(app: App, keys: Keys): void {
  app.decorateRequest("identity", null);
  app.addHook("onRoute", ({ url, config }) => {
    invariant(config?.scopes !== undefined, `the route ${url} says which scopes it needs`);
  });
  app.addHook("onRequest", (request, _, done) => {
    const { scopes } = request.routeOptions.config;
    if (scopes !== undefined && scopes !== "none") {
      request.identity = identify(keys, request.raw);
      const kind = scopes.includes("work") ? "worker" : "client";
      const problem = recognize(request.raw.socket, request.identity.key.id, kind);
      if (problem) throw problem;
      demandScope(request.identity.caller, scopes);
    }
    done();
  });
}

function useRequestIds(app: App, instruments: Instruments): void {
  app.addHook("onRequest", (request, reply, done) => {
    reply.headers({
      "x-request-id": request.id,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    });
    done();
  });
  app.addHook("onResponse", (request, reply, done) => {
    const { method } = request;
    const { url: route = "none" } = request.routeOptions;
    const { statusCode: status, elapsedTime: ms } = reply;
    instruments.answered(method, route, status, ms);
    request.log.debug({ method, route, status, ms }, "answered");
    done();
  });
}
