// The layout's rules, held against the sources. docs/decisions/0001-one-package.md says why they are tests.

import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, posix, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

/** What each part may import. Read downwards: nothing imports what stands below it. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  files: [],
  tls: [],
  queue: ["core"],
  graph: ["core"],
  placement: ["core"],
  // Usable without the rest.
  runtime: ["core"],
  // Only their types: events are typed by what they record. docs/decisions/0003-events-by-type.md
  ledger: ["core", "queue", "graph", "placement"],
  scheduler: ["core", "ledger", "queue", "graph", "placement"],
  plan: ["core", "ledger", "queue", "graph", "placement", "scheduler"],
  telemetry: [],
  store: ["core", "files", "ledger"],
  driver: ["core", "ledger", "queue", "graph", "placement", "scheduler", "store"],
  cluster: ["ledger", "scheduler", "telemetry", "store", "driver", "tls"],
  protocol: ["core", "ledger", "graph"],
  chunks: ["files", "protocol", "tls"],
  sources: ["core", "graph", "plan", "protocol"],
  words: ["graph", "ledger", "placement", "scheduler"],
  history: ["core", "graph", "ledger", "placement", "scheduler", "words"],
  webhooks: ["core", "store"],
  config: ["plan", "protocol", "webhooks"],
  server: [
    "core",
    "files",
    "ledger",
    "queue",
    "graph",
    "placement",
    "scheduler",
    "plan",
    "telemetry",
    "store",
    "driver",
    "cluster",
    "protocol",
    "chunks",
    "words",
    "history",
    "webhooks",
    "tls",
  ],
  simulator: ["core", "ledger", "queue", "graph", "placement", "scheduler", "store", "driver"],
  worker: ["core", "telemetry", "protocol", "graph", "runtime", "chunks", "tls"],
  client: ["core", "protocol", "chunks", "tls"],
  embedded: ["core", "graph", "telemetry", "cluster", "client", "protocol", "server", "store", "worker"],
  get local() {
    return partsAbove("local");
  },
  get cli() {
    return partsAbove("cli");
  },
  /** The package's own door. */
  get "index.ts"() {
    return partsAbove("index.ts");
  },
};

/** What the pure parts may import that is not ours. Hashing is the only thing that they take from outside. */
const PURE_MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: ["node:crypto", "node:zlib"],
  ledger: [],
  queue: [],
  graph: [],
  placement: [],
  scheduler: [],
  plan: [],
};

/** Entrances beside `index.ts`, where entering there would load what most callers never use. */
const SECOND_DOORS = ["protocol/api-schemas.ts", "protocol/task-filter.ts", "webhooks/addresses.ts"];

/** Schemas give it types; values that it uses are in files that load nothing else. */
const DASHBOARD_MAY_IMPORT = /^(\.\.\/)+src\/protocol\/(api-schemas|task-filter)\.ts$/;

/** Names that say nothing, so that anything fits in. */
const EMPTY_NAMES = ["util", "utils", "helper", "helpers", "common", "type", "types", "manager", "managers"];

const MAX_LINES = 600;

interface Source {
  /** Relative to src, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

test("the sources keep the rules of the layout", () => {
  expect(readSources().flatMap(violations)).toEqual([]);
});

describe("a broken rule is found:", () => {
  const cases: readonly (readonly [rule: string, path: string, text: string, found: string])[] = [
    [
      "a part imports one that it may not",
      "graph/level.ts",
      'import { append } from "../ledger/index.ts";',
      "src/graph/level.ts imports ../ledger/index.ts: graph may import only core",
    ],
    [
      "types count as imports",
      "core/ids.ts",
      'import type { Event } from "../ledger/index.ts";',
      "src/core/ids.ts imports ../ledger/index.ts: core may import no other part",
    ],
    [
      "a part is entered by another door",
      "ledger/block.ts",
      'import { sha256 } from "../core/hash.ts";',
      "src/ledger/block.ts imports ../core/hash.ts: core is entered through core/index.ts",
    ],
    [
      "an import spans lines",
      "ledger/block.ts",
      'import {\n  sha256,\n  type Hash,\n} from "../core/hash.ts";',
      "src/ledger/block.ts imports ../core/hash.ts: core is entered through core/index.ts",
    ],
    [
      "an export is an import",
      "queue/index.ts",
      'export { level } from "../graph/index.ts";',
      "src/queue/index.ts imports ../graph/index.ts: queue may import only core",
    ],
    [
      "a late import is an import",
      "worker/main.ts",
      'const { listen } = await import("../server/index.ts");',
      "src/worker/main.ts imports ../server/index.ts: worker may import only core, telemetry, protocol, graph, runtime, chunks, tls",
    ],
    [
      "a type that is imported in place is an import",
      "core/heap.ts",
      'type Spec = import("../graph/index.ts").GraphSpec;',
      "src/core/heap.ts imports ../graph/index.ts: core may import no other part",
    ],
    [
      "a pure part imports a package",
      "scheduler/step.ts",
      'import { xoroshiro128plus } from "pure-rand";',
      "src/scheduler/step.ts imports pure-rand: scheduler is pure",
    ],
    [
      "a pure part imports Node",
      "ledger/block.ts",
      'import { createHash } from "node:crypto";',
      "src/ledger/block.ts imports node:crypto: ledger is pure",
    ],
    [
      "an import leaves src",
      "cli/main.ts",
      'import manifest from "../../package.json";',
      "src/cli/main.ts imports ../../package.json: it lies outside src",
    ],
    ["a part has no entry", "magic/spell.ts", "", "src/magic/spell.ts: magic has no entry in MAY_IMPORT"],
    ["a file has an empty name", "graph/utils.ts", "", "src/graph/utils.ts: name it for what it holds"],
    [
      "a folder has an empty name",
      "store/common/row.ts",
      "",
      "src/store/common/row.ts: name it for what it holds",
    ],
    ["a file is long", "graph/level.ts", "\n".repeat(601), "src/graph/level.ts: 601 lines, 600 are allowed"],
  ];
  test.each(cases)("%s", (_rule, path, text, found) => {
    expect(violations({ path, text })).toEqual([found]);
  });
});

test("the dashboard takes from the rest what crosses the wire, and nothing else", () => {
  const root = fileURLToPath(new URL("../dashboard/src", import.meta.url));
  const broken = readdirSync(root, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .flatMap((file) => {
      const text = readFileSync(file, "utf8");
      const ours = importsOf(text).filter((specifier) => specifier.includes("/src/"));
      const path = relative(root, file).split(sep).join("/");
      return [
        ...ours.filter((one) => !DASHBOARD_MAY_IMPORT.test(one)).map((one) => `${path} imports ${one}`),
        ...tooLong({ path: `dashboard/${path}`, text }),
        ...misnamed({ path, text }),
      ];
    });
  expect(broken).toEqual([]);
});

test("what keeps the rules is let through", () => {
  const text = [
    '// No import of ours: from "../ledger/index.ts" is only mentioned.',
    'import { createHash } from "node:crypto";',
    'import { invariant } from "./invariant.ts";',
  ].join("\n");
  expect(violations({ path: "core/hash.ts", text })).toEqual([]);
  expect(
    violations({ path: "graph/level.ts", text: 'import { invariant } from "../core/index.ts";' }),
  ).toEqual([]);
  expect(violations({ path: "graph/level.test.ts", text: 'import fc from "fast-check";' })).toEqual([]);
});

function violations(source: Source): string[] {
  const broken = [...misnamed(source), ...tooLong(source)];
  const part = partOf(source.path);
  if (!MAY_IMPORT[part]) return [...broken, `src/${source.path}: ${part} has no entry in MAY_IMPORT`];
  if (source.path.endsWith(".test.ts")) return broken;
  const imports = importsOf(source.text).flatMap((specifier) => {
    const problem = specifier.startsWith(".")
      ? problemWithOurs(source.path, specifier)
      : problemWithTheirs(part, specifier);
    return problem ? [`src/${source.path} imports ${specifier}: ${problem}`] : [];
  });
  return [...broken, ...imports];
}

function problemWithOurs(path: string, specifier: string): string | undefined {
  const target = posix.join(posix.dirname(path), specifier);
  if (target.startsWith("../")) return "it lies outside src";
  const from = partOf(path);
  const to = partOf(target);
  if (from === to) return undefined;
  const allowed = MAY_IMPORT[from] ?? [];
  if (!allowed.includes(to))
    return `${from} may import ${allowed.length > 0 ? `only ${allowed.join(", ")}` : "no other part"}`;
  const isDoor = target === `${to}/index.ts` || SECOND_DOORS.includes(target);
  return isDoor ? undefined : `${to} is entered through ${to}/index.ts`;
}

function problemWithTheirs(part: string, specifier: string): string | undefined {
  const allowed = PURE_MAY_IMPORT[part];
  return !allowed || allowed.includes(specifier) ? undefined : `${part} is pure`;
}

function misnamed({ path }: Source): string[] {
  const names = [...dirname(path).split("/"), basename(path).replace(/(\.test)?\.tsx?$/, "")];
  return names.some((name) => EMPTY_NAMES.includes(name)) ? [`src/${path}: name it for what it holds`] : [];
}

function tooLong({ path, text }: Source): string[] {
  const lines = text.split("\n").length - 1;
  return lines > MAX_LINES ? [`src/${path}: ${lines} lines, ${MAX_LINES} are allowed`] : [];
}

/**
 * What a source imports, by its form: statements begin a line, as the formatter leaves them. TypeScript 7 has no
 * parser to call, and this needs none.
 */
function importsOf(text: string): string[] {
  const statements = text.matchAll(/^(?:import|export)\s(?:[^;"']*?\sfrom\s)?["']([^"']+)["']/gm);
  const calls = text.matchAll(/^(?!\s*(?:\/\/|\*)).*?\bimport\(\s*["']([^"']+)["']/gm);
  return [...statements, ...calls].map((match) => match[1] ?? "");
}

/** The part that a path lies in; a file directly in src is a part by itself. */
function partOf(path: string): string {
  return path.split("/")[0] ?? path;
}

function partsAbove(part: string): string[] {
  const parts = Object.keys(MAY_IMPORT);
  return parts.slice(0, parts.indexOf(part));
}

function readSources(): Source[] {
  const src = fileURLToPath(new URL("../src", import.meta.url));
  return readdirSync(src, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((file) => ({ path: relative(src, file).split(sep).join("/"), text: readFileSync(file, "utf8") }));
}

test("[F19] all output of the command line passes the guard of the terminal", () => {
  const cli = fileURLToPath(new URL("../src/cli", import.meta.url));
  expect(readFileSync(join(cli, "main.ts"), "utf8")).toMatch(
    /^guardTerminal\(process\.stdout\);\nguardTerminal\(process\.stderr\);$/m,
  );
  // The guard replaces `write` of both streams. Only descriptors and children could go past it.
  const past = /\bwriteSync\(|\/dev\/(tty|std)|"inherit"|\bfd: ?[12]\b|WriteStream\(\s*[12]/;
  const files = readdirSync(cli).filter((name) => name.endsWith(".ts"));
  expect(files.filter((name) => past.test(readFileSync(join(cli, name), "utf8")))).toEqual([]);
});
