import fc from "fast-check";
import { expect, test } from "vitest";
import { directoryWith } from "../../tests/cli.ts";
import { type Config, problemLine, readConfig, shownSettings, unknownVariables } from "./index.ts";
import { readSettingsFile } from "./settings-file.ts";
import { ROWS } from "./table.ts";

async function read(text: string, env: Record<string, string> = {}): Promise<Config> {
  return readConfig(`${await directoryWith({ "orrery.yaml": text })}/orrery.yaml`, env);
}

/** Without the directory. */
async function problems(text: string, env: Record<string, string> = {}): Promise<string[]> {
  return (await read(text, env)).problems.map((problem) => problemLine(problem).replace(/^\/.*\//, ""));
}

test("[G-10] the planner's settings have the defaults of the specification", async () => {
  const { settings, problems } = await read("");
  expect(problems).toEqual([]);
  expect(settings).toMatchObject({
    scheduling: {
      maxConcurrentWorkcells: 4,
      maxConcurrentTokens: 500_000,
      schedulingIntervalMs: 30_000,
      starvationThresholdMs: 14_400_000,
    },
    speculation: {
      enabled: true,
      defaultParallelism: 2,
      maxParallelism: 3,
      autoTriggerOnCriticalPath: true,
      autoTriggerRiskLevels: ["high", "critical"],
      forceSpeculate: false,
    },
    resources: {},
  });
});

test("[G-10] the specification's example is read as it stands", async () => {
  const { settings, problems } = await read(`
scheduling:
  max_concurrent_workcells: 8      # Max parallel workcells
  max_concurrent_tokens: 100000    # Token budget across all concurrent calls
  scheduling_interval_seconds: 15  # How often to re-evaluate ready set
  starvation_threshold_hours: 2.5  # When to start boosting priority

speculation:
  enabled: false
  default_parallelism: 3           # How many parallel implementations
  max_parallelism: 4
  auto_trigger_on_critical_path: false
  auto_trigger_risk_levels: ["critical"]
`);
  expect(problems).toEqual([]);
  expect(settings).toMatchObject({
    scheduling: {
      maxConcurrentWorkcells: 8,
      maxConcurrentTokens: 100_000,
      schedulingIntervalMs: 15_000,
      starvationThresholdMs: 9_000_000,
    },
    speculation: {
      enabled: false,
      defaultParallelism: 3,
      maxParallelism: 4,
      autoTriggerOnCriticalPath: false,
      autoTriggerRiskLevels: ["critical"],
    },
  });
});

test("a duration may have a unit, whatever its key counts in", async () => {
  const { settings } = await read(
    "scheduling: {scheduling_interval_seconds: 2m, starvation_threshold_hours: 1d12h}",
  );
  expect(settings.scheduling).toMatchObject({
    schedulingIntervalMs: 120_000,
    starvationThresholdMs: 129_600_000,
  });
});

test("JSON, an empty file, comments and empty sections are files of settings, too", async () => {
  expect((await read('{"scheduling": {"max_concurrent_tokens": 7}}')).settings.scheduling).toMatchObject({
    maxConcurrentTokens: 7,
  });
  for (const text of ["", "# nothing\n", "scheduling:\nspeculation:\nresources:\n", "{}"])
    expect(await problems(text), text).toEqual([]);
});

test("resources have names of the user's own", async () => {
  const { settings, origins } = await read("resources:\n  gpu: 2\n  tokens per day: 0\n  __proto__: 3\n");
  expect(Object.entries(settings.resources)).toEqual([
    ["gpu", 2],
    ["tokens per day", 0],
    ["__proto__", 3],
  ]);
  expect(origins.get("resources.gpu")).toMatchObject({ kind: "file", line: 2, column: 3 });
});

test("what the environment says goes before the file, and an option before both", async () => {
  const text =
    "scheduling: {max_concurrent_workcells: 5, max_concurrent_tokens: 6, scheduling_interval_seconds: 7}";
  const file = `${await directoryWith({ "c.yaml": text })}/c.yaml`;
  const env = {
    ORRERY_CONFIG: file,
    ORRERY_SCHEDULING_MAX_CONCURRENT_TOKENS: "60",
    ORRERY_SCHEDULING_SCHEDULING_INTERVAL_SECONDS: "1m",
    ORRERY_SPECULATION_AUTO_TRIGGER_RISK_LEVELS: "low, high",
    ORRERY_SPECULATION_ENABLED: "0",
    ORRERY_SPECULATION_FORCE_SPECULATE: "",
  };
  const options = [
    { path: "scheduling.scheduling_interval_seconds", option: "--interval", value: "9" },
    { path: "resources.gpu", option: "--set", value: "4" },
  ];
  const { settings, origins, problems } = readConfig(undefined, env, { options });
  expect(problems).toEqual([]);
  expect(settings.scheduling).toMatchObject({
    maxConcurrentWorkcells: 5,
    maxConcurrentTokens: 60,
    schedulingIntervalMs: 9000,
    starvationThresholdMs: 14_400_000,
  });
  expect(settings.speculation).toMatchObject({ enabled: false, autoTriggerRiskLevels: ["low", "high"] });
  expect(settings.resources).toEqual({ gpu: 4 });
  expect(
    [
      "max_concurrent_workcells",
      "max_concurrent_tokens",
      "scheduling_interval_seconds",
      "starvation_threshold_hours",
    ].map((key) => origins.get(`scheduling.${key}`)),
  ).toEqual([
    { kind: "file", file, line: 1, column: 14 },
    { kind: "variable", name: "ORRERY_SCHEDULING_MAX_CONCURRENT_TOKENS" },
    { kind: "option", option: "--interval" },
    { kind: "default" },
  ]);
});

test("[G-10] everything that is wrong is said at once, with its line", async () => {
  const text = `
scheduling:
  max_concurrent_workcells: 0
  max_concurent_tokens: 5
  scheduling_interval_seconds: soon
  starvation_threshold_hours: -1
speculation:
  enabled: "yes"
  default_parallelism: 4
  auto_trigger_risk_levels: [high, huge, 7]
resources: {gpu: 1.5, slots: 3}
sceduling: {}
`;
  const env = { ORRERY_SCHEDULING_MAX_CONCURRENT_TOKENS: "many" };
  expect(await problems(text, env)).toEqual([
    "orrery.yaml:3:29: scheduling.max_concurrent_workcells must be a whole number from 1 to 10000; got 0",
    'orrery.yaml:4:3: unknown key "max_concurent_tokens" in scheduling; did you mean "max_concurrent_tokens"?',
    'orrery.yaml:5:32: scheduling.scheduling_interval_seconds must be a duration such as 90s or 1h30m, or a number of seconds; got "soon"',
    "orrery.yaml:6:31: scheduling.starvation_threshold_hours must be a number of hours from 0 on; got -1",
    'orrery.yaml:8:12: speculation.enabled must be true or false; got "yes"',
    'orrery.yaml:10:36: speculation.auto_trigger_risk_levels[1] must be low, medium, high or critical; got "huge"',
    "orrery.yaml:10:42: speculation.auto_trigger_risk_levels[2] must be low, medium, high or critical; got 7",
    "orrery.yaml:11:18: resources.gpu must be a whole number from 0 on; got 1.5",
    "orrery.yaml:11:23: resources.slots is set by scheduling.max_concurrent_workcells; write it there",
    'orrery.yaml:12:1: unknown key "sceduling" in the file; did you mean "scheduling"?',
    'ORRERY_SCHEDULING_MAX_CONCURRENT_TOKENS must be a whole number from 1 on; got "many"',
    "orrery.yaml:9:3: speculation.default_parallelism (4) must not be more than max_parallelism (3); raise the one or lower the other",
  ]);
});

test.each([
  ["- 1", "orrery.yaml:1:1: the file must be a map of sections"],
  ["scheduling: [4]", "orrery.yaml:1:13: scheduling must be a map"],
  ["scheduling: {a: [", "orrery.yaml:1:18: not valid YAML"],
  ["scheduling: {enabled: 1}\nscheduling: {}", 'orrery.yaml:2:1: key "scheduling" is given twice'],
  [
    "max_concurrent_tokens: 5",
    "max_concurrent_tokens is scheduling.max_concurrent_tokens; write scheduling: {max_concurrent_tokens: 5}",
  ],
  // What may be a key or a password is not repeated.
  ["api_key: 0123456789abcdef", "api_key is server.api_key; write server: {api_key: …}"],
  ["store: postgres://u:secret@h", "store is server.store; write server: {store: …}"],
  ["server: api_key=0123456789abcdef", "max_concurrent_workcells: 8}; got a text"],
  ["schedulingIntervalMs: 1500", "write scheduling: {scheduling_interval_seconds: 1.5}"],
  ["nodes: {}", "nodes makes this a graph file"],
  [
    "speculation: {max_parallelism: 1}",
    "orrery.yaml:1:15: speculation.default_parallelism (2) must not be more",
  ],
  ["scheduling: {starvation_threshold_hours: .inf}", "must be a number of hours from 0 on"],
  ["a\0b", "NUL bytes"],
])("%j is refused", async (text, message) => {
  expect((await problems(text)).join("\n")).toContain(message);
});

test("what was refused is not compared with the default that stands in for it", async () => {
  const text = "speculation: {default_parallelism: 0, max_parallelism: 1}";
  expect(await problems(text)).toEqual([
    "orrery.yaml:1:36: speculation.default_parallelism must be a whole number from 1 to 10; got 0",
  ]);
});

test("a file that is named must be there", () => {
  expect(readConfig("no/such.yaml", {}).problems).toEqual([
    { where: "no/such.yaml", message: "no such file", isMissing: true },
  ]);
  expect(readConfig(undefined, { ORRERY_CONFIG: "/" }).problems[0]?.message).toContain("is a directory");
});

test("variables that name no setting are told which one, or which option, may be meant", () => {
  const env = { ORRERY_QUEUE_FAIR_SHAR: "1", ORRERY_RESOURCES_GPU: "2", ORRERY_RUN_ID: "x" };
  expect(unknownVariables(env)).toEqual([
    ["ORRERY_QUEUE_FAIR_SHAR", "ORRERY_QUEUE_FAIR_SHARE"],
    ["ORRERY_RESOURCES_GPU", "--set resources.gpu=…"],
  ]);
});

test("an option that names no setting is told which one it may mean", () => {
  const options = ["scheduling.max_tokens", "scheduling.max_concurrent_token", "resources.slots"].map(
    (path) => ({
      path,
      option: `--set ${path}`,
      value: "1",
    }),
  );
  expect(readConfig(undefined, {}, { options }).problems.map(problemLine)).toEqual([
    "--set scheduling.max_tokens: there is no such setting; orrery config show lists what there is",
    "--set scheduling.max_concurrent_token: there is no such setting; did you mean scheduling.max_concurrent_tokens?",
    "--set resources.slots is set by scheduling.max_concurrent_workcells; write it there",
  ]);
});

test("variables of other programs matter only to who reads them, and what may be secret is not repeated", () => {
  const env = { DATABASE_URL: "mysql://me:hunter2@db/x", ORRERY_API_KEY: "short" };
  expect(readConfig(undefined, env, { reader: "plan" }).problems).toEqual([]);
  expect(readConfig(undefined, env, { reader: "worker" }).problems).toEqual([]);
  expect(readConfig(undefined, env, { reader: "serve" }).problems.map(problemLine)).toEqual([
    'DATABASE_URL must be "memory" or a URL that begins with postgres:// and has ports from 1 to 65535',
    "ORRERY_API_KEY must be 32 characters or more, without line breaks",
  ]);
});

test("a secret that an alias brings elsewhere is shown nowhere", async () => {
  const secret = "server:\n  api_key: &k sk-hunter-0123456789-0123456789-0123\n";
  const config = await read(`${secret}  host: *k\n  data: *k\n`);
  expect(config.problems).toEqual([]);
  const shown = shownSettings(config);
  expect(shown.find(({ key }) => key === "host")?.value).toBe("***");
  expect(JSON.stringify(shown)).not.toContain("hunter");
  const wrong = await problems(`${secret}  port: *k\n`);
  expect(wrong).toEqual([expect.stringMatching(/^orrery\.yaml:3:9: server\.port must be/)]);
  expect(wrong.join()).not.toContain("hunter");
});

test.each(["postgres://h:0/x", "postgres://u:p@h:70000/x", "postgres://h:port/x", "postgres://a:1,b:-2/x"])(
  "a store's port is checked before anything is started: %s",
  (url) => {
    const { problems } = readSettingsFile(`server: {store: "${url}"}`, "c.yaml");
    expect(problems.map(problemLine)).toEqual([expect.stringContaining("ports from 1 to 65535")]);
  },
);

test.each([
  "memory",
  "postgres://h/x",
  "postgres:///x?host=/run",
  "postgresql://u:p:w@a:5432,[::1]:5433/x",
  "postgres://[::1]/x",
])("a store may be %s", (url) => {
  expect(readSettingsFile(`server: {store: "${url}"}`, "c.yaml").problems).toEqual([]);
});

test("a list keeps all of its entries in their order, from a file, a variable or an option", () => {
  const waits = [5000, 100, 100, 60_000];
  const given = readSettingsFile("webhooks: {waits: [5, 100ms, 0.1, 1m]}", "c.yaml").given.get(
    "webhooks.waits",
  );
  expect(given?.value).toEqual(waits);
  const text = "5,100ms, 0.1,1m";
  const options = [{ path: "webhooks.waits", option: "--webhook-waits", value: text }];
  for (const config of [
    readConfig(undefined, { ORRERY_WEBHOOKS_WAITS: text }),
    readConfig(undefined, {}, { options }),
  ])
    expect([config.problems, config.settings.webhooks.waitsMs]).toEqual([[], waits]);
});

test("any text and any value in any place is refused or read, never a crash", () => {
  const paths = fc.constantFrom(...ROWS.map(({ path }) => path.split(".")), ["resources", "gpu"]);
  const anyFile = fc.oneof(
    fc.string(),
    fc
      .tuple(paths, fc.jsonValue())
      .map(([[section = "", key = ""], value]) => JSON.stringify({ [section]: { [key]: value } })),
    fc.tuple(paths, fc.string()).map(([[section, key], text]) => `${section}:\n  ${key}: ${text}\n`),
    fc.jsonValue().map((value) => JSON.stringify(value)),
  );
  fc.assert(
    fc.property(anyFile, (text) => {
      for (const { where, message } of readSettingsFile(text, "c.yaml").problems) {
        expect(where).toMatch(/^c\.yaml:\d+:\d+$/);
        expect(message).not.toBe("");
      }
    }),
    { numRuns: 500 },
  );
});
