// The table against everything that comes from it, or that it must agree with.

import { readFileSync } from "node:fs";
import fc from "fast-check";
import { Check } from "typebox/schema";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { runCommand } from "../cli/run.ts";
import { serveCommand } from "../cli/serve.ts";
import { workerCommand } from "../cli/worker.ts";
import { LEASE_MS } from "../cluster/index.ts";
import { DEFAULT_SPECULATION } from "../graph/index.ts";
import { DEFAULT_PERIOD_MS } from "../scheduler/state.ts";
import { SERVICE_CONFIG, STANDARD_SETTINGS } from "../server/open-service.ts";
import { STANDARD_SETTINGS as STANDARD_WEBHOOKS } from "../webhooks/webhooks.ts";
import { configSchema, readConfig, settingsTables } from "./index.ts";
import { readSettingsFile } from "./settings-file.ts";
import { ROWS } from "./table.ts";
import { valueText } from "./value-text.ts";

const { settings } = readConfig("/dev/null", {});
const DOCS = new URL("../../docs/", import.meta.url);

test("the defaults are those of the parts that they are for", () => {
  const { submitRate, submitRatePeriodMs, ...queue } = settings.queue;
  const { policyVersion: _, ...service } = SERVICE_CONFIG;
  // What the scheduler's configuration gets belongs into src/config/queue-settings.ts, too.
  expect({ ...queue, ...settings.placement }).toEqual(service);
  expect({ submitRate, submitRatePeriodMs }).toEqual({
    submitRate: null,
    submitRatePeriodMs: DEFAULT_PERIOD_MS,
  });
  expect(settings.speculation).toEqual(DEFAULT_SPECULATION);
  const { leaseMs, graceMs, maxResultBytes, maxLogBytes, endedTasksMs, logsMs, idempotencyMs } =
    settings.server;
  expect(STANDARD_SETTINGS).toMatchObject({
    ...{ leaseMs, graceMs, maxResultBytes, maxLogBytes },
    retention: { endedTasksMs, logsMs, idempotencyMs },
  });
  expect(settings.server).toMatchObject(STANDARD_SETTINGS.workers);
  expect(settings.server.takeOverMs).toBe(LEASE_MS);
  const { waitsMs: _waits, ...webhooks } = settings.webhooks;
  expect(STANDARD_WEBHOOKS).toMatchObject(webhooks);
});

test("every option stands on a command line of its readers, with the same default", () => {
  const commands = { serve: serveCommand(), worker: workerCommand(), run: runCommand() };
  for (const { path, setting } of ROWS) {
    const { option, readers, type } = setting;
    if (option === undefined) continue;
    const found = readers.flatMap(
      (reader) =>
        (reader === "plan" ? [] : commands[reader].options).find(({ long }) => long === option)
          ?.description ?? [],
    );
    expect(found, path).not.toEqual([]);
    const value = setting.default;
    if (typeof value !== "number" && typeof value !== "string") continue;
    const text = String(type.write(value));
    for (const description of found) expect(description).toMatch(new RegExp(`[( ](default: |or )${text}\\)`));
  }
});

test("[G-10] docs/configuration.md has the table (vitest --update writes it)", async () => {
  const file = new URL("configuration.md", DOCS);
  const [before, after] = readFileSync(file, "utf8").split(
    /(?<=<!-- settings -->\n)[\s\S]*(?=<!-- end of settings -->)/,
  );
  await expect(`${before}\n${settingsTables()}\n\n${after}`).toMatchFileSnapshot(file.pathname);
});

test("[G-10] docs/orrery.schema.json is what `orrery config schema` prints (vitest --update writes it)", async () => {
  const file = new URL("orrery.schema.json", DOCS);
  await expect(`${JSON.stringify(configSchema(), null, 2)}\n`).toMatchFileSnapshot(file.pathname);
});

/** Values that mean something to some setting, beside those that mean nothing. */
const anyValue = fc.oneof(
  fc.constantFrom(
    null,
    true,
    false,
    0,
    1,
    2,
    0.5,
    4,
    1000,
    -1,
    1.5,
    1e12,
    1e300,
    "",
    " ",
    "5m",
    "1h30m",
    "4h",
    "0s",
  ),
  fc.constantFrom(
    "memory",
    "postgres://a@b/c",
    "http://a.example:1",
    "ws",
    "hrrn",
    "info",
    "512MiB",
    "500m",
    "a\u0000",
  ),
  fc.constantFrom([], ["high"], ["high", 1], ["10.0.0.0/8"], ["5s", 7], [null], {}, { a: 1 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.string(),
);

test("what is taken from a file an editor takes, too", () => {
  const schema = configSchema();
  const anyFile = fc
    .tuple(
      fc.constantFrom(...ROWS.map(({ path }) => path), "resources.gpu", "resources.slots", "queue.x"),
      anyValue,
    )
    .map(([path, value]) => {
      const [section = "", key = ""] = path.split(".");
      return { [section]: { [key]: value } };
    });
  let taken = 0;
  fc.assert(
    fc.property(anyFile, (file) => {
      const { problems } = readSettingsFile(JSON.stringify(file), "c.json");
      if (problems.length > 0) return;
      taken += 1;
      expect(Check(schema, file), JSON.stringify(file)).toBe(true);
    }),
    { numRuns: 3000, seed: 7 },
  );
  expect(taken).toBeGreaterThan(200);
  for (const file of [{ queue: { x: 1 } }, { server: { port: "x" } }, { resources: { slots: 1 } }, { x: {} }])
    expect(Check(schema, file)).toBe(false);
});

test("a value that is written is read again as the same one", () => {
  const anyDefault = ROWS.filter(({ setting }) => setting.default !== undefined);
  for (const { path, setting } of anyDefault) {
    const [section, key] = path.split(".");
    const text = `${section}: {${key}: ${valueText(setting.type.write(setting.default))}}`;
    const { given, problems } = readSettingsFile(text, "c.yaml");
    expect([problems, given.get(path)?.value], text).toEqual([[], setting.default]);
  }
});

test("texts are written so that YAML reads them as texts", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.string({ unit: "grapheme" }),
        fc.constantFrom("null", "1e3", "0x1F", ".5", ".inf", "~", "a: b", "5s", "no"),
      ),
      (text) => {
        expect(parse(`[${valueText(text)}]`)).toEqual([text]);
      },
    ),
  );
});
