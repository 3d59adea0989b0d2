import type { ErrorItem, ProblemDocument } from "../../../src/protocol/api-schemas.ts";
import { type Session, session, signOut } from "./session.ts";

const API = "/api/v2/scheduler";

/** What the server refused, or that it could not be asked. */
export class Refused extends Error {
  override readonly name = "Refused";
  /** 0: there was no answer. */
  readonly status: number;
  readonly code: string;
  readonly errors: readonly ErrorItem[];
  /** How far what has to be waited for has come, from 0 to 1. */
  readonly progress: number | undefined;

  constructor(
    status: number,
    code: string,
    message: string,
    { errors = [], progress }: Pick<ProblemDocument, "errors" | "progress"> = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.errors = errors;
    this.progress = progress;
  }
}

type Query = Readonly<Record<string, string | number | undefined>>;

interface Asked {
  readonly query?: Query;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** Instead of the tab's own; null: as nobody. */
  readonly as?: Session | null;
}

export function get<Answer>(path: string, asked: Asked = {}): Promise<Answer> {
  return ask<Answer>("GET", path, asked);
}

export function post<Answer>(path: string, asked: Asked = {}): Promise<Answer> {
  return ask<Answer>("POST", path, asked);
}

export function put<Answer>(path: string, asked: Asked = {}): Promise<Answer> {
  return ask<Answer>("PUT", path, asked);
}

/** Opens what does not end by itself. */
export async function open(path: string, headers: Record<string, string>, signal: AbortSignal) {
  return answered(
    await send(path, { method: "GET", headers: { ...headersOf(session()), ...headers }, signal }),
  );
}

async function ask<Answer>(
  method: string,
  path: string,
  { query, body, signal, as }: Asked,
): Promise<Answer> {
  const headers = {
    ...headersOf(as === undefined ? session() : as),
    ...(body !== undefined && { "content-type": "application/json" }),
  };
  const response = await send(path + searchOf(query), {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
  return (await (await answered(response, as === undefined)).json()) as Answer;
}

function send(path: string, init: RequestInit): Promise<Response> {
  return fetch(API + path, { ...init, cache: "no-store", credentials: "omit" }).catch((error: unknown) => {
    if ((error as Error).name === "AbortError") throw error;
    throw new Refused(0, "unreachable", "the server does not answer");
  });
}

/** A key that is no longer valid ends the session, whoever notices it. */
async function answered(response: Response, isOwnSession = true): Promise<Response> {
  if (response.ok) return response;
  const { detail, code, errors, progress } = await problemOf(response);
  if (response.status === 401 && isOwnSession && session()) signOut(detail);
  throw new Refused(response.status, code, detail, {
    ...(errors && { errors }),
    ...(progress !== undefined && { progress }),
  });
}

async function problemOf(
  response: Response,
): Promise<Pick<ProblemDocument, "detail" | "code" | "errors" | "progress">> {
  const text = await response.text();
  try {
    return JSON.parse(text) as ProblemDocument;
  } catch {
    // Not ours: something stands between us and the server.
    return { code: "unexpected", detail: `the answer was ${response.status} ${response.statusText}` };
  }
}

function headersOf(who: Session | null | undefined): Record<string, string> {
  return {
    ...(who && { authorization: `Bearer ${who.key}` }),
    ...(who?.zone !== undefined && { "x-zone-id": who.zone }),
  };
}

function searchOf(query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === "" ? "" : `?${text}`;
}
