/** Whether a database keeps what it is told to keep, and holds what we wrote. */

import { type DatabaseFacts, inspectDatabase, type StoreError, USE_SESSIONS } from "../store/index.ts";
import { countOf, formatCount, formatMs } from "../words/index.ts";
import { type Check, failure, pass, warning } from "./check.ts";

/** One server has a connection for commits, four for reads, and some while it starts. */
const CONNECTIONS_NEEDED = 8;
const OLDEST_SUPPORTED = 14;
const OLDEST_USABLE = 12;
const MAX_SKEW_MS = 1_000;

/** Why a server would be refused on a store with this fingerprint, if it would be. */
type SecretProblem = (fingerprint: string) => Promise<string | undefined>;

export async function checkStore(url: string, secretProblem?: SecretProblem): Promise<Check[]> {
  if (!/^postgres(ql)?:\/\//.test(url))
    return [failure("store", "it is no URL of PostgreSQL", "give one that begins with postgres://")];
  try {
    const facts = await inspectDatabase(url);
    const { secretFingerprint } = facts;
    if (secretFingerprint === undefined || !secretProblem) return judgeDatabase(facts);
    return [...judgeDatabase(facts), judgeSecret(await secretProblem(secretFingerprint))];
  } catch (error) {
    return [judgeOutage(error as StoreError)];
  }
}

function judgeDatabase({ server, skewMs, schema, chain, inbox }: DatabaseFacts): Check[] {
  return [
    judgeVersion(server),
    ...judgeDurability(server),
    judgeConnections(server),
    ...judgeUse(server),
    judgeSkew("clock of PostgreSQL", skewMs),
    judgeSchema(schema),
    ...(chain ? [judgeChain(chain)] : []),
    ...(inbox ? [judgeInbox(inbox)] : []),
  ];
}

function judgeVersion({ version, version_text }: DatabaseFacts["server"]): Check {
  const major = Math.floor(version / 10_000);
  const fix = `use PostgreSQL ${OLDEST_SUPPORTED} or newer`;
  if (major < OLDEST_USABLE) return failure("postgresql", `PostgreSQL ${version_text} is too old`, fix);
  if (major < OLDEST_SUPPORTED)
    return warning("postgresql", `PostgreSQL ${version_text} is no longer supported`, fix);
  return pass("postgresql", `PostgreSQL ${version_text}`);
}

/** Each of them off means that what was acknowledged may be gone after a crash or a power cut. */
function judgeDurability(server: DatabaseFacts["server"]): Check[] {
  const off = (["fsync", "synchronous_commit", "full_page_writes"] as const).filter(
    (name) => server[name] === "off",
  );
  if (off.length === 0) return [pass("durability", "fsync, synchronous_commit and full_page_writes are on")];
  return off.map((name) =>
    failure(
      "durability",
      `${name} is off: what was acknowledged can be lost`,
      `set ${name} = on (alter system set ${name} = on; select pg_reload_conf()), also for the role and the database`,
    ),
  );
}

function judgeConnections({
  max_connections,
  reserved_connections,
  connections,
}: DatabaseFacts["server"]): Check {
  const free = max_connections - reserved_connections - connections;
  const detail = `${connections} of ${max_connections} connections are used`;
  const fix = "raise max_connections, or close what is not needed";
  if (free < CONNECTIONS_NEEDED)
    return failure("connections", `${detail}; a server needs ${CONNECTIONS_NEEDED}`, fix);
  return free < 2 * CONNECTIONS_NEEDED ? warning("connections", detail, fix) : pass("connections", detail);
}

function judgeUse({ encoding, is_standby, forgotten }: DatabaseFacts["server"]): Check[] {
  const checks: Check[] = [];
  if (encoding === "UTF8") checks.push(pass("encoding", "UTF8"));
  else {
    const fix = "make a database for it: create database orrery encoding 'UTF8' template template0";
    checks.push(failure("encoding", `the database's encoding is ${encoding}; text could not be kept`, fix));
  }
  if (is_standby) checks.push(failure("standby", "this PostgreSQL only reads", "name the primary"));
  if (forgotten > 0) {
    const detail = `${countOf(forgotten, "session")} held a transaction open for minutes`;
    checks.push(
      warning("sessions", detail, "find them in pg_stat_activity: they keep old rows from being cleared"),
    );
  }
  return checks;
}

export function judgeSkew(name: string, skewMs: number): Check {
  const by = formatMs(Math.round(Math.abs(skewMs)));
  if (Math.abs(skewMs) <= MAX_SKEW_MS) return pass(name, `agrees with ours within ${by}`);
  const detail = `${by} ${skewMs > 0 ? "ahead of" : "behind"} ours`;
  return warning(name, detail, "let both machines keep time by NTP (timedatectl set-ntp true)");
}

function judgeSchema({ state, mayCreate, missing, changed, newer }: DatabaseFacts["schema"]): Check {
  const name = "migrations";
  if (state === "absent" && !mayCreate)
    return failure(
      name,
      "nothing of Orrery is here yet, and the role may not make it",
      "grant the role what it lacks: grant create on database … to …",
    );
  if (state === "absent") return pass(name, "nothing of Orrery is here yet; the server makes its tables");
  if (state === "foreign")
    return failure(name, "the schema orrery holds somebody else's tables", "use a database of its own");
  if (newer.length > 0)
    return failure(name, `a newer version of Orrery applied ${newer.join(", ")}`, "use that version");
  if (changed.length > 0)
    return failure(
      name,
      `${changed.join(", ")} is not what was applied`,
      "use the version that applied it, or restore a backup",
    );
  if (missing.length > 0)
    return warning(
      name,
      `${missing.join(", ")} is still to be applied`,
      "the next start of the server does it; make a backup first",
    );
  return pass(name, "all are applied, none was changed");
}

function judgeChain({ blocks, head, damage }: NonNullable<DatabaseFacts["chain"]>): Check {
  if (!damage)
    return pass(
      "chain",
      `the last ${countOf(blocks, "block")} and the head (${formatCount(head.seq)}) are as written`,
    );
  const fix = "stop the server and restore a backup from before it (docs/operations.md)";
  return failure("chain", `event ${damage.seq}: ${damage.code}: ${damage.detail}`, fix);
}

function judgeInbox({ waiting, refused }: NonNullable<DatabaseFacts["inbox"]>): Check {
  const waits = `${countOf(waiting, "submission")} of transactions to be taken in`;
  if (refused === 0) return pass("inbox", waits);
  const fix = "select number, error from orrery.inbox where error is not null (docs/transactions.md)";
  return warning(
    "inbox",
    `${countOf(refused, "submission")} cannot be taken in, kept with the reason; ${waits}`,
    fix,
  );
}

function judgeSecret(problem: string | undefined): Check {
  if (problem === undefined) return pass("secret", "a server that starts here has the secret of this store");
  return warning("secret", `a server that starts here is refused: ${problem}`, "set ORRERY_SECRET");
}

/** By what PostgreSQL or the way to it said; never with the URL, which may hold a password. */
function judgeOutage({ code: what, message, cause }: StoreError): Check {
  if (what === "foreign")
    return failure("pooling", `${message}; Orrery needs sessions of its own`, USE_SESSIONS);
  const { code = "" } = (cause ?? {}) as { code?: string };
  const fixes: Readonly<Record<string, string>> = {
    "28P01": "check the user and the password in the URL",
    "28000": "check the user in the URL, and pg_hba.conf",
    "3D000": "make the database: create database … encoding 'UTF8' template template0",
    "53300": "raise max_connections, or close what is not needed",
    "42501": "grant the role what it lacks: grant create on database … to …",
    ENOTFOUND: "check the host in the URL",
    ECONNREFUSED: "check the host and port in the URL, and that PostgreSQL runs",
    ERR_INVALID_URL: "give a URL that begins with postgres:// and has ports from 1 to 65535",
    ENOENT: "check the folder of the socket in the URL, and that PostgreSQL runs",
  };
  return failure(
    "store",
    `the database cannot be used: ${message}`,
    fixes[code] ?? "check the URL, and that PostgreSQL runs and lets this machine in",
  );
}
