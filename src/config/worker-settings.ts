import { isSecretVariable } from "../protocol/index.ts";
import { masked } from "./mask.ts";
import { NETWORKS } from "./networks.ts";
import { setting } from "./setting.ts";
import { tlsSettings } from "./tls-settings.ts";
import { CORES, choice, list, optional, SIZE, TRUE_OR_FALSE, text, whole } from "./value-type.ts";

const readers = ["worker"] as const;
const ALL_CORES = "the number of cores";

const DATA = {
  dataHost: setting({
    key: "data_host",
    type: text("a host name or address, such as 0.0.0.0"),
    default: "127.0.0.1",
    about: "Where other workers fetch results that stay with it: the address that it listens on",
    readers,
    option: "--data-host",
  }),
  dataPort: setting({
    key: "data_port",
    type: whole(0, 65_535),
    default: 0,
    defaultWords: "0: any that is free",
    about: "The port of that",
    readers,
    option: "--data-port",
  }),
  dataUrl: setting({
    key: "data_url",
    type: optional(text("a URL, such as http://10.0.0.7:4711", (url) => !isWebUrl(url))),
    default: undefined,
    defaultWords: "made of the host and the port",
    about: "How other workers reach it",
    needsNamedFile: true,
    readers,
    option: "--data-url",
  }),
  dataAllow: setting({
    key: "data_allow",
    type: NETWORKS,
    default: [],
    about: "Networks from which it fetches results although they are loopback or link-local",
    readers,
    option: "--data-allow",
  }),
  dataMemoryBytes: setting({
    key: "data_memory",
    type: optional(SIZE),
    default: undefined,
    defaultWords: "half of `memory`, at most 4GiB",
    about: "What results may take of the memory; from 60 % of it on they spill to disk",
    readers,
    option: "--data-memory",
  }),
  spillDir: setting({
    key: "spill_dir",
    type: optional(text("a directory")),
    default: undefined,
    defaultWords: "among temporary files",
    about: "Where they spill to",
    readers,
    option: "--spill-dir",
    isPath: true,
  }),
  threads: setting({
    key: "threads",
    type: optional(whole(0, 1024)),
    default: undefined,
    defaultWords: "as many as slots, or cores",
    about: "How many threads it has for functions that are marked with `onThread`",
    readers,
    option: "--threads",
  }),
};

export const WORKER = {
  url: setting({
    key: "url",
    type: text("the URL of a server, such as http://127.0.0.1:2026", (url) => !isWebUrl(url)),
    default: "http://127.0.0.1:2026",
    about: "The server that it works for",
    needsNamedFile: true,
    readers,
    option: "--server",
    variable: "ORRERY_URL",
  }),
  key: setting({
    key: "key",
    type: optional(text("an API key; set ORRERY_API_KEY, or use --key")),
    default: undefined,
    defaultWords: "none, and it needs one",
    about: "The API key; better in the environment, where no one sees it",
    readers,
    option: "--key",
    variable: "ORRERY_API_KEY",
    mask: masked,
  }),
  tasks: setting({
    key: "tasks",
    type: optional(text("a module (.js, .mjs, .ts, .mts) that exports handlers")),
    default: undefined,
    defaultWords: "built-in types only",
    about: "The module whose handlers it runs",
    needsNamedFile: true,
    readers,
    option: "--tasks",
    isPath: true,
  }),
  zone: setting({
    key: "zone",
    type: optional(text("the name of a zone")),
    default: undefined,
    defaultWords: "that of the key",
    about: "Its home zone",
    readers,
    option: "--zone",
  }),
  executors: setting({
    key: "executors",
    type: list(text("a name"), "[default, build]", 1),
    default: ["default", "local"],
    about: "The executors that it serves",
    readers,
    option: "--executor",
  }),
  capabilities: setting({
    key: "capabilities",
    type: list(text("a name"), "[gpu]"),
    default: [],
    about: "What it can do beyond that",
    readers,
    option: "--capability",
  }),
  slots: setting({
    key: "slots",
    type: optional(whole(1, 10_000)),
    default: undefined,
    defaultWords: ALL_CORES,
    about: "How many tasks it runs at once",
    readers,
    option: "--slots",
  }),
  cpuMillicores: setting({
    key: "cpu",
    type: optional(CORES),
    default: undefined,
    defaultWords: ALL_CORES,
    about: "What it has of the processor",
    readers,
    option: "--cpu",
  }),
  memoryBytes: setting({
    key: "memory",
    type: optional(SIZE),
    default: undefined,
    defaultWords: "all of it",
    about: "What it has of the memory",
    readers,
    option: "--memory",
  }),
  transport: setting({
    key: "transport",
    type: choice("ws", "http"),
    default: "ws",
    about: "How it speaks to the server",
    readers,
    option: "--transport",
  }),
  shell: setting({
    key: "shell",
    type: TRUE_OR_FALSE,
    default: false,
    about: "Whether it runs shell commands of whoever may submit tasks",
    needsNamedFile: true,
    readers,
    option: "--shell",
  }),
  passEnv: setting({
    key: "pass_env",
    type: list(
      text(
        "the name of a variable, and not one of ORRERY_…, DATABASE_URL, PG… and OTEL_…HEADERS, which may hold keys and passwords of Orrery: pass the value under another name",
        (name) => name.includes("=") || isSecretVariable(name),
      ),
      "[AWS_REGION, HTTPS_PROXY]",
    ),
    default: [],
    about:
      "Variables of its environment that commands get beside `PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL`, `TERM`, `LANG`, `LANGUAGE`, `LC_…`, `TZ` and `TMPDIR`",
    needsNamedFile: true,
    readers,
    option: "--pass-env",
  }),
  ...DATA,
  ...tlsSettings(readers, "workers that fetch results from it"),
};

export const RUN = {
  workers: setting({
    key: "workers",
    type: optional(whole(1, 1024)),
    default: undefined,
    defaultWords: ALL_CORES,
    about: "How many tasks of a local run go at once",
    readers: ["run"],
    option: "--workers",
  }),
  failFast: setting({
    key: "fail_fast",
    type: TRUE_OR_FALSE,
    default: false,
    about: "Whether a failed node cancels the rest of a local run",
    readers: ["run"],
    option: "--fail-fast",
  }),
};

function isWebUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
