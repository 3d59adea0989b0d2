import type { ErrorItem, ProblemDocument } from "../protocol/api-schemas.ts";
import { OrreryError } from "./errors.ts";
import type { AnswerHead } from "./exchange.ts";

/** What a server that declined said; a proxy in front of it may have spoken in its place. */
export function problemOf(answer: AnswerHead, body: string): OrreryError {
  const { code, title, detail, errors, request_id: inBody } = documentIn(body);
  const { status, headers } = answer;
  return new OrreryError({
    code: textOr(code, `http-${status}`),
    status,
    detail: textOr(detail, textOr(title, `the server answered HTTP ${status}`)),
    errors: Array.isArray(errors) ? (errors as ErrorItem[]) : [],
    requestId: textOr(inBody, headers.get("x-request-id") ?? "") || undefined,
    retryAfterMs: retryAfterMs(headers.get("retry-after")),
  });
}

/** Why a part of a request was declined that as a whole was answered. */
export function errorOf({ code, status, detail, request_id, retry_after }: ProblemDocument): OrreryError {
  return new OrreryError({
    code,
    status,
    detail,
    requestId: request_id,
    retryAfterMs: retry_after === undefined ? undefined : retry_after * 1000,
  });
}

/** The connection could not be made, or ended before the answer did. */
export function brokenOff(cause: unknown, origin: string): OrreryError {
  const code = codeOf(cause);
  const why = code ?? innermost(cause);
  const distrust = code === undefined ? undefined : distrustOf(code, origin);
  if (distrust !== undefined)
    return new OrreryError({
      code: "untrusted",
      status: 0,
      detail: `${distrust} (${innermost(cause)})`,
      cause,
    });
  return code !== undefined && NEVER_CONNECTED.has(code)
    ? new OrreryError({
        code: "unreachable",
        status: 0,
        detail: `no server answers at ${origin} (${why})`,
        cause,
      })
    : new OrreryError({
        code: "broken",
        status: 0,
        detail: `the connection to ${origin} broke (${why})`,
        cause,
      });
}

/** Nobody was there, for as long as it was tried. */
export function unreached(
  { code, status, detail, cause }: OrreryError,
  triedMs: number,
  was: boolean,
): OrreryError {
  const tried = triedMs < 1000 ? "" : `, tried for ${Math.round(triedMs / 1000)} s`;
  const check = was
    ? "it has answered before: see whether it still runs"
    : "check the host and the port, and that a server runs there (orrery serve)";
  return new OrreryError({ code, status, detail: `${detail}${tried}; ${check}`, cause });
}

const SERVER_DISTRUSTED =
  /^(UNABLE_TO_(VERIFY|GET_ISSUER)|(DEPTH_ZERO_)?SELF_SIGNED|CERT_|ERR_TLS_CERT_ALTNAME_INVALID)/;
const CLIENT_DISTRUSTED = /_ALERT_(CERTIFICATE_|BAD_CERTIFICATE|UNKNOWN_CA|HANDSHAKE_FAILURE)/;

/** Explains an error code of Node's that is about the certificate of one of both sides. */
function distrustOf(code: string, origin: string): string | undefined {
  if (SERVER_DISTRUSTED.test(code))
    return `the certificate of ${origin} is not trusted; if an authority of your own has signed it, name that authority's file in ORRERY_TLS_CA`;
  if (CLIENT_DISTRUSTED.test(code))
    return `${origin} demands a certificate that it trusts; name yours in ORRERY_TLS_CERT and its key in ORRERY_TLS_KEY`;
  return undefined;
}

/** Nothing was sent yet, so trying again does no harm whatever the request was. */
const NEVER_CONNECTED: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "CONNECT_TIMEOUT",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** `fetch` wraps what happened, in several layers. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" ? code : codeOf(error.cause);
}

function innermost(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : innermost(error.cause);
}

function documentIn(body: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" && value !== "" ? value : otherwise;
}

/** Seconds, or a date. */
function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}
