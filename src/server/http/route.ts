import type { IncomingMessage, ServerResponse } from "node:http";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from "fastify";
import { type TSchema, type TString, Type } from "typebox";
import { MAX_NAME, ProblemDocument } from "../../protocol/api-schemas.ts";
import type { AuditStore, Leadership, Member } from "../../store/index.ts";
import type { Webhooks } from "../../webhooks/index.ts";
import type { Api, WorkerGateway } from "../api.ts";
import type { Keys } from "../keys.ts";
import type { Past } from "../past/past.ts";
import type { Schedules } from "../schedules/schedules.ts";
import type { Tickets } from "../tickets.ts";
import type { BodyThread } from "./body-thread.ts";
import type { Cursors } from "./cursor.ts";
import type { Instruments } from "./metrics.ts";
import { Problem } from "./problems.ts";

/** What routes are registered on: request parts have the types of their schemas. */
export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** What routes answer from. */
export interface Edge {
  readonly api: Api;
  readonly gateway: WorkerGateway;
  readonly schedules: Schedules;
  readonly keys: Keys;
  readonly webhooks: Webhooks;
  readonly past: Past;
  readonly audit: AuditStore;
  readonly tickets: Tickets;
  readonly cursors: Cursors;
  readonly instruments: Instruments;
  readonly health: Health;
  readonly cluster: ClusterControl;
  /** Reads large bodies. */
  readonly bodies: BodyThread;
  /** Aborted when the server closes, so that nothing that waits holds it up. */
  readonly closing: AbortSignal;
}

/** How the server is, as it says itself. */
export interface Health {
  /** Undefined: ready. Otherwise why not yet. */
  notReady(): string | undefined;
  /** Whether it is only a matter of time. */
  isStarting?(): boolean;
  /** Why the store cannot be used now; undefined if it can. */
  storeTrouble?(): string | undefined;
  /** What is worth saying beside it, such as a version. */
  info(): Readonly<Record<string, unknown>>;
}

/** The servers that share a store, as this one knows them. */
export interface ClusterControl {
  status(): Promise<ClusterStatus>;
  /** Lets another server lead, once whoever asked has been told; undefined: there is no other one. */
  stepDown(): Promise<SteppingDown | undefined>;
}

export interface SteppingDown {
  readonly name: string;
  readonly epoch: number;
  goAhead(): void;
}

export interface ClusterStatus {
  /** Who answers. */
  readonly name: string;
  readonly leadership: Leadership;
  /** Who leads and is silent for so long is taken over from; each server says three times as often that it is there. */
  readonly leaseMs: number;
  readonly members: readonly (Member & { readonly seenMsAgo: number })[];
}

export const PREFIX = "/api/v2/scheduler";

export const MIB = 1024 * 1024;
export const REQUEST_TIMEOUT_MS = 30_000;
/** The largest body limit of any route, in bytes. */
export const LARGEST_BODY: number = 64 * MIB;
const MAX_WAIT_S = 60;

const problem = {
  description: "What went wrong.",
  content: { "application/problem+json": { schema: ProblemDocument } },
};

/** The answers of a route: its own, and what every route may answer instead. */
export function answers<Own extends Readonly<Record<number, TSchema>>>(own: Own) {
  return { ...own, "4xx": problem, "5xx": problem };
}

/** Whatever is in a path is looked for; what cannot be there is not found, rather than wrong. */
export function PathId<Key extends string>(name: Key, description: string) {
  return Type.Object({ [name]: Type.String({ description }) } as Record<Key, TString>);
}

export const Wait = Type.Number({
  minimum: 0,
  maximum: MAX_WAIT_S,
  default: 0,
  description: "Seconds to wait for it.",
  examples: [10],
});

export const PageLimit = Type.Integer({ minimum: 1, maximum: 1000, default: 50, examples: [50] });

/** The same for what does not exist and for what the caller may not see. */
export function notFound(what: string): Problem {
  return new Problem("not-found", `there is no such ${what}`);
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The task's id as it is stored; undefined for a text that cannot be one. */
export function taskId(text: string): string | undefined {
  const id = text.toLowerCase();
  return UUID.test(id) ? id : undefined;
}

/** A name that may be looked up: the store takes no NUL and no broken Unicode. */
export function isName(text: string): boolean {
  return (
    text !== "" &&
    text.length <= 2 * MAX_NAME &&
    [...text].length <= MAX_NAME &&
    !/[\p{Cc}\p{Cs}]/u.test(text)
  );
}
