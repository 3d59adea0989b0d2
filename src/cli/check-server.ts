/** A server as its callers meet it. */

import { OrreryClient, OrreryError } from "../client/index.ts";
import { secureFetch } from "../tls/index.ts";
import { countOf, workerCommand } from "../words/index.ts";
import { type Check, failure, pass, warning } from "./check.ts";
import { checkPort } from "./check-machine.ts";
import { judgeSkew } from "./check-store.ts";

export interface ServerAddress {
  readonly url: string;
  readonly key: string | undefined;
  /** It was named, so it should be there. */
  readonly isNamed: boolean;
}

const WITHIN_MS = 5_000;
/** The header says whole seconds. */
const HEADER_STEP_MS = 1_000;

export async function checkServer({ url, key, isNamed }: ServerAddress): Promise<Check[]> {
  const sentAt = Date.now();
  let answer: Response;
  try {
    answer = await secureFetch(new URL("/readyz", url), {
      headers: key ? { authorization: `Bearer ${key}` } : {},
      signal: AbortSignal.timeout(WITHIN_MS),
    });
  } catch (error) {
    const { cause, message } = error as Error & { cause?: { code?: string } };
    const detail = `no server answers at ${url} (${cause?.code ?? message})`;
    return [
      (isNamed ? failure : warning)(
        "server",
        detail,
        "start one (orrery serve), or name another with --server",
      ),
      ...(await checkLocalPort(url)),
    ];
  }
  const body = (await answer.json().catch(() => ({}))) as {
    status?: string;
    detail?: string;
    version?: string;
  };
  if (body.status === undefined && body.detail === undefined)
    return [
      failure("server", `what answers at ${url} is no Orrery`, "name another with --server"),
      ...(await checkLocalPort(url)),
    ];
  const checks = [judgeReady(url, answer.ok, body), ...judgeClock(answer, sentAt)];
  if (!answer.ok) return checks;
  return [
    ...checks,
    ...(await checkLedgerClock(url, key)),
    ...(await checkWorkers(url, key)),
    ...(await checkAudit(url, key)),
    ...(await checkEndedKeys(url, key)),
  ];
}

const CLOCK_OFFSET = /^orrery_clock_offset_seconds (-?[\d.e+]+)$/m;

/** Tells whether a leader's clock was wrong or was set. Only operators may read it, so nothing is said to others. */
async function checkLedgerClock(url: string, key: string | undefined): Promise<Check[]> {
  if (!key) return [];
  const answer = await fetch(new URL("/metrics", url), {
    headers: { authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(WITHIN_MS),
  }).catch(() => undefined);
  const offsetS = Number(CLOCK_OFFSET.exec((await answer?.text()) ?? "")?.[1] ?? 0);
  if (offsetS === 0) return [];
  const way = offsetS < 0 ? "ahead of" : "behind";
  const detail = `the ledger's time is ${Math.abs(offsetS)} s ${way} the leader's clock, which was wrong or was set`;
  return [pass("clock of the ledger", `${detail}; deadlines and start times follow the clock`)];
}

/** Compares the audit with the ledger. Only operators may ask for that, so nothing is said to others. */
async function checkAudit(url: string, key: string | undefined): Promise<Check[]> {
  if (!key) return [];
  try {
    const client = new OrreryClient({ url, key, retryForMs: 0 });
    const { ok, checked, faults } = await client.checkAudit({ signal: AbortSignal.timeout(WITHIN_MS) });
    if (ok) return [pass("audit", `the ledger holds the hashes of all ${checked} entries`)];
    const detail = `${faults.length} entries were changed, added or deleted in the database`;
    return [
      failure("audit", detail, "orrery audit --verify names them; find out who may write to the database"),
    ];
  } catch (error) {
    if (error instanceof OrreryError && (error.status === 401 || error.status === 403)) return [];
    const detail = `it could not be compared with the ledger: ${(error as Error).message}`;
    return [warning("audit", detail, "orrery audit --verify takes the time that it needs")];
  }
}

/** Tells what stands still because its key has ended. Only admins may list keys, so nothing is said to others. */
async function checkEndedKeys(url: string, key: string | undefined): Promise<Check[]> {
  if (!key) return [];
  try {
    const client = new OrreryClient({ url, key, retryForMs: 0 });
    const keys = await client.keys.list({ signal: AbortSignal.timeout(WITHIN_MS) });
    const ended = keys.filter(({ standing_still }) => standing_still > 0);
    if (ended.length === 0) return [];
    const still = ended.reduce((sum, { standing_still }) => sum + standing_still, 0);
    const names = ended.slice(0, 3).map(({ id, name }) => `${name} (${id})`);
    return [
      warning(
        "ended keys",
        `${still} schedules or webhooks stand still because their keys have ended: ${names.join(", ")}${ended.length > 3 ? " …" : ""}`,
        "hand them over with orrery keys revoke ID --hand-over-to OTHER, or delete them",
      ),
    ];
  } catch (error) {
    if (error instanceof OrreryError && (error.status === 401 || error.status === 403)) return [];
    return [warning("ended keys", `the server does not say: ${(error as Error).message}`, "see its log")];
  }
}

/** Whether one could listen where none of ours does. */
async function checkLocalPort(url: string): Promise<Check[]> {
  const { hostname, port, protocol } = new URL(url);
  if (hostname !== "localhost" && !/^127\./.test(hostname)) return [];
  return [await checkPort(hostname, port === "" ? (protocol === "https:" ? 443 : 80) : Number(port))];
}

function judgeReady(
  url: string,
  isOk: boolean,
  { detail, version }: { detail?: string; version?: string },
): Check {
  if (isOk) return pass("server", `${url} is ready${version === undefined ? "" : `, version ${version}`}`);
  const why = detail ?? "why is told only to a key with the scope operator";
  return failure("server", `${url} is not ready: ${why}`, "see its log");
}

function judgeClock(answer: Response, sentAt: number): Check[] {
  const said = Date.parse(answer.headers.get("date") ?? "");
  if (Number.isNaN(said)) return [];
  const doubtMs = Date.now() - sentAt + HEADER_STEP_MS;
  const aheadMs = said - sentAt;
  return [judgeSkew("clock of the server", Math.abs(aheadMs) <= doubtMs ? 0 : aheadMs)];
}

async function checkWorkers(url: string, key: string | undefined): Promise<Check[]> {
  if (!key) return [warning("workers", "they were not looked at: there is no key", "set ORRERY_API_KEY")];
  try {
    const client = new OrreryClient({ url, key, retryForMs: 0 });
    return [judgeWorkers(await client.workers({ signal: AbortSignal.timeout(WITHIN_MS) }))];
  } catch (error) {
    const detail = error instanceof OrreryError ? error.detail : (error as Error).message;
    return [failure("workers", `the server does not say: ${detail}`, "use a key with the scope read")];
  }
}

function judgeWorkers(workers: readonly { readonly id: string; readonly status: string }[]): Check {
  if (workers.length === 0)
    return warning("workers", "there are none, so nothing runs", `start one: ${workerCommand()}`);
  const gone = workers.filter(({ status }) => status === "Unreachable" || status === "Away");
  const detail = `${countOf(workers.length - gone.length, "worker")} of ${workers.length} can be reached`;
  if (gone.length === 0) return pass("workers", detail);
  const names = gone.slice(0, 3).map(({ id }) => id);
  return warning(
    "workers",
    `${detail}; gone: ${names.join(", ")}${gone.length > 3 ? " …" : ""}`,
    "start them again, or wait: those that do not come back are forgotten",
  );
}
