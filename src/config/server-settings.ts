import { masked, withoutPassword } from "./mask.ts";
import { NETWORKS } from "./networks.ts";
import { setting } from "./setting.ts";
import { tlsSettings } from "./tls-settings.ts";
import { choice, duration, list, optional, orNull, SIZE, TRUE_OR_FALSE, text, whole } from "./value-type.ts";

const readers = ["serve"] as const;
const DAY_MS = 86_400_000;

/** Several hosts may be named, and none where a socket is meant. */
function isStoreAddress(url: string): boolean {
  if (url === "memory") return true;
  const [, authority] = /^postgres(?:ql)?:\/\/([^/?#]*)/.exec(url) ?? [];
  if (authority === undefined) return false;
  const hosts = authority.slice(authority.lastIndexOf("@") + 1).split(",");
  return hosts.every((host) => {
    const [, port = ""] = /:([^:\]]*)$/.exec(host) ?? [];
    return port === "" || (/^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535);
  });
}

export const SERVER = {
  host: setting({
    key: "host",
    type: text("an address such as 0.0.0.0"),
    default: "127.0.0.1",
    about: "Where to listen",
    readers,
    option: "--host",
  }),
  port: setting({
    key: "port",
    type: whole(0, 65_535),
    default: 2026,
    about: "The port; the next free one if it is taken, any free one if it is 0",
    readers,
    option: "--port",
  }),
  strictPort: setting({
    key: "strict_port",
    type: TRUE_OR_FALSE,
    default: false,
    about: "Whether to fail if the port is taken",
    readers,
    option: "--strict-port",
  }),
  store: setting({
    key: "store",
    type: optional(
      text(
        '"memory" or a URL that begins with postgres:// and has ports from 1 to 65535',
        (url) => !isStoreAddress(url),
      ),
    ),
    default: undefined,
    defaultWords: "a private PostgreSQL in `data`",
    about: "Where everything is kept",
    needsNamedFile: true,
    readers,
    option: "--store",
    variable: "DATABASE_URL",
    mask: withoutPassword,
  }),
  dataDir: setting({
    key: "data",
    type: text("a directory"),
    default: ".orrery/server",
    about: "Where the private PostgreSQL keeps its data",
    readers,
    option: "--data",
    isPath: true,
  }),
  apiKey: setting({
    key: "api_key",
    type: optional(text("32 characters or more, without line breaks", (key) => key.length < 32)),
    default: undefined,
    defaultWords: "none: one is made and shown",
    about: "The first admin key; better in the environment, where no one sees it",
    readers,
    variable: "ORRERY_API_KEY",
    mask: masked,
  }),
  secret: setting({
    key: "secret",
    type: optional(text("32 characters or more, without line breaks", (secret) => secret.length < 32)),
    default: undefined,
    defaultWords: "made and kept in `data`",
    about:
      "The secret that all servers of one store share, and that is not in the store; better in the environment",
    readers,
    variable: "ORRERY_SECRET",
    mask: masked,
  }),
  logLevel: setting({
    key: "log_level",
    type: choice("debug", "info", "warn", "error", "silent"),
    default: "info",
    about: "What goes to stderr",
    readers,
    option: "--log-level",
    variable: "ORRERY_LOG_LEVEL",
  }),
  leaseMs: setting({
    key: "lease",
    type: duration({ leastMs: 1000, mostMs: 3_600_000 }),
    default: 15_000,
    about: "A worker that is silent for this long is lost",
    readers,
    option: "--lease",
  }),
  workersPerKey: setting({
    key: "workers_per_key",
    type: whole(1, 1_000_000),
    default: 2_500,
    about: "Maximum number of registered workers of one API key",
    readers,
  }),
  workersPerZone: setting({
    key: "workers_per_zone",
    type: whole(1, 1_000_000),
    default: 5_000,
    about: "Maximum number of registered workers whose home is one zone",
    readers,
  }),
  registrationBytes: setting({
    key: "registrations",
    type: orNull(SIZE, "a quarter of `queue.backlog_size`"),
    default: null,
    about:
      "Maximum estimated memory of all registered workers; those of one key may take half, lost ones a quarter besides",
    readers,
  }),
  graceMs: setting({
    key: "grace",
    type: duration({ mostMs: DAY_MS }),
    default: 30_000,
    about: "What a worker may take beyond a time-out, or to confirm that it cancelled",
    readers,
  }),
  advertise: setting({
    key: "advertise",
    type: optional(text("a URL such as https://10.0.0.7:2026, without a path", (url) => !isOrigin(url))),
    default: undefined,
    defaultWords: "its host and port",
    about: "Where other servers on the same store find this one",
    needsNamedFile: true,
    readers,
    option: "--advertise",
  }),
  ...tlsSettings(readers, "callers and other servers"),
  tlsClientCa: setting({
    key: "tls_client_ca",
    type: optional(text("a file in PEM format")),
    default: undefined,
    defaultWords: "none",
    about: "Callers must show a certificate that one of these has signed",
    readers,
    option: "--tls-client-ca",
    isPath: true,
  }),
  takeOverMs: setting({
    key: "takeover",
    type: duration({ leastMs: 100, mostMs: 3_600_000 }),
    default: 3000,
    about: "A server takes over when the one that leads is silent for this long",
    readers,
    option: "--takeover",
  }),
  tasks: setting({
    key: "tasks",
    type: optional(text("a module (.js, .mjs, .ts, .mts) that exports functions")),
    default: undefined,
    defaultWords: "none",
    about:
      "The module whose functions it runs for meta nodes, on threads beside the scheduler, while it leads",
    needsNamedFile: true,
    readers,
    option: "--tasks",
    isPath: true,
  }),
  metaZones: setting({
    key: "meta_zones",
    type: list(text("the name of a zone"), "[default, eu]", 1),
    default: ["default"],
    about: "The zones whose meta nodes it runs",
    readers,
    option: "--meta-zone",
  }),
  endedTasksMs: setting({
    key: "keep_ended",
    type: orNull(duration({ leastMs: 1000, plain: "days" }), "for good"),
    default: null,
    about: "How long tasks are kept after they ended",
    readers,
    option: "--keep-ended",
  }),
  logsMs: setting({
    key: "keep_logs",
    type: duration({ leastMs: 1000, plain: "days" }),
    default: 7 * DAY_MS,
    about: "How long what tasks printed is kept",
    readers,
  }),
  idempotencyMs: setting({
    key: "keep_idempotency_keys",
    type: duration({ leastMs: 1000, plain: "days" }),
    default: DAY_MS,
    about: "How long the same idempotency key makes no second task",
    readers,
  }),
  dataAllow: setting({
    key: "data_allow",
    type: NETWORKS,
    default: [],
    about: "Networks from which results are fetched although they are loopback or link-local",
    readers,
    option: "--data-allow",
  }),
  maxResultBytes: setting({
    key: "max_result",
    type: SIZE,
    default: 1024 * 1024,
    about: "The largest result of a task",
    readers,
  }),
  maxLogBytes: setting({
    key: "max_log",
    type: SIZE,
    default: 1024 * 1024,
    about: "How much of what an attempt prints is kept",
    readers,
  }),
};

export const WEBHOOKS = {
  allowHttp: setting({
    key: "allow_http",
    type: TRUE_OR_FALSE,
    default: false,
    about: "Whether webhooks may go to http:// too",
    readers,
    option: "--allow-http-webhooks",
  }),
  allow: setting({
    key: "allow",
    type: NETWORKS,
    default: [],
    about: "Networks that are not public and may be sent to",
    readers,
    option: "--webhook-allow",
  }),
  waitsMs: setting({
    key: "waits",
    type: optional(list(duration({ mostMs: 30 * DAY_MS }), "[5s, 5m]", 1)),
    default: undefined,
    defaultWords: "nine, from 5s to a day",
    about: "The waits before the second try, the third, and so on",
    readers,
    option: "--webhook-waits",
  }),
  timeoutMs: setting({
    key: "timeout",
    type: duration({ leastMs: 1, mostMs: 3_600_000 }),
    default: 15_000,
    about: "How long a receiver may take to answer",
    readers,
  }),
  disableAfterMs: setting({
    key: "disable_after",
    type: duration({ leastMs: 1000, plain: "days" }),
    default: 5 * DAY_MS,
    about: "A webhook that fails for this long is disabled",
    readers,
  }),
};

export const TELEMETRY = {
  otel: setting({
    key: "otel",
    type: TRUE_OR_FALSE,
    default: false,
    about: "Whether traces are sent, as the variables OTEL_… say",
    readers: ["serve", "worker"],
    option: "--otel",
    variable: "ORRERY_OTEL",
  }),
};

function isOrigin(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isWeb = url?.protocol === "http:" || url?.protocol === "https:";
  return isWeb && url.pathname === "/" && url.search === "" && url.username === "";
}
