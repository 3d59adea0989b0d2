// Tasks files, loaded by a real Node: the test runner would load TypeScript in its own way.

import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { followed } from "./worker-processes.ts";

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "orrery-tasks-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const WORKER = new URL("../dist/worker/index.js", import.meta.url).href;
const LOAD = `
  const { loadTasksFile } = await import("${WORKER}");
  const [file, type] = process.argv.slice(1);
  try {
    const handlers = await loadTasksFile(file);
    const result = await handlers[type]?.run({ n: 21 }, {});
    console.log(JSON.stringify({ types: Object.keys(handlers).sort(), result }));
  } catch (error) {
    console.log(JSON.stringify({ code: error.code, message: error.message }));
  }`;

/** What becomes of the first of the files when it is loaded: its types and the result of one, or an error. */
async function load(files: Readonly<Record<string, string>>, type = ""): Promise<unknown> {
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  const [first = ""] = Object.keys(files);
  const args = ["--input-type=module", "-e", LOAD, "--", join(directory, first), type];
  const { output } = await followed(spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] }))
    .ended;
  return JSON.parse(output);
}

const IMPORT = 'import { command, task } from "orrery/worker";\n';

test.each(["js", "mjs", "ts", "mts"])(
  "exports of a .%s file are task types by their names",
  async (extension) => {
    // A package of CommonJS around it changes nothing for TypeScript.
    const type = extension === "js" ? "module" : "commonjs";
    const loaded = await load(
      {
        [`tasks.${extension}`]: `${IMPORT}export const double = task(({ n }) => 2 * n);\nexport const version = 3;\nexport default { "image.resize": command("convert"), other: 1 };\n`,
        "package.json": JSON.stringify({ type }),
      },
      "double",
    );
    expect(loaded).toEqual({ types: ["double", "image.resize"], result: 42 });
  },
);

test("a TypeScript file has types, and imports others by either name", async () => {
  const tasks = `${IMPORT}import { twice } from "./twice.ts";\nimport { type Input, once } from "./once.js";\nexport const double = task<Input, number>(async ({ n }: Input) => twice(once(n)) satisfies number);\n`;
  const loaded = await load(
    {
      "tasks.ts": tasks,
      "twice.ts": "export function twice(n: number): number { return 2 * n; }\n",
      "once.ts":
        "export interface Input { readonly n: number }\nexport const once = (n: number) => n as number;\n",
    },
    "double",
  );
  expect(loaded).toEqual({ types: ["double"], result: 42 });
});

test.each([
  ["sum", "export const sum = (...all) => all.length;", [["sum"], 1]],
  ["of", "export async function of({ n }) { return n * 2; }\nexport function processors() {}", [["of"], 42]],
])("a plain function is a task type: %s", async (type, text, [types, result]) => {
  expect(await load({ "tasks.mjs": text }, type)).toEqual({ types, result });
});

test("[D-08] a function goes before a built-in task of its name that nothing relies on", async () => {
  const loaded = await load({ "tasks.mjs": "export const echo = ({ n }) => 2 * n;" }, "echo");
  expect(loaded).toEqual({ types: ["echo"], result: 42 });
});

test("a file that exports then is refused: to import it would never end", async () => {
  const text = "export const then = () => 1;\nexport const one = () => 1;\n";
  expect(await load({ "tasks.mjs": text })).toEqual(fault("export", "tasks.mjs exports then"));
});

const fault = (code: string, ...words: string[]): unknown => ({
  code,
  message: expect.stringMatching(new RegExp(words.join("[^]*"))),
});

test.each([
  [
    "a syntax error in JavaScript",
    "tasks.mjs",
    "const a = 1;\nconst b = ;\n",
    fault("syntax", "tasks.mjs:2:11: ", "const b = ;"),
  ],
  [
    "a syntax error in TypeScript",
    "tasks.ts",
    "const a: number = 1;\nconst b: = 2;\n",
    fault("syntax", "tasks.ts:2:10: "),
  ],
  [
    "TypeScript that is more than types",
    "tasks.ts",
    "\nenum Color { Red }\n",
    fault("syntax", "tasks.ts:2:1: ", "enum"),
  ],
  [
    "an error of its own",
    "tasks.mjs",
    "\nthrow new Error('no database');\n",
    fault("broken", "no database", "tasks.mjs:2:7"),
  ],
  ["an import that is not there", "tasks.mjs", "import './nowhere.mjs';\n", fault("broken", "nowhere.mjs")],
  [
    "a name that is not there",
    "tasks.mjs",
    "import { tusk } from 'orrery/worker';\n",
    fault("syntax", "tusk"),
  ],
  [
    "no handler",
    "tasks.mjs",
    "export const resize = 1;\nexport class Image {}\nexport default () => 1;\n",
    fault("empty", "only Image, default, resize", "task or command"),
  ],
  [
    "a rule that is none",
    "tasks.mjs",
    "export const processors = [];\n",
    fault("export", "processors", "an array"),
  ],
  [
    "a name that no server takes",
    "tasks.mjs",
    "export default { 'a\\nb': () => 1 };\n",
    fault("export", "control character"),
  ],
  [
    "a name that graphs rely on (D-08)",
    "tasks.mjs",
    "export const value = (x) => x;\n",
    fault("export", 'tasks.mjs exports a task named "value"', "g.value\\(\\)", "another name"),
  ],
  [
    "a name that nodes with `run` rely on (D-08)",
    "tasks.mjs",
    "export default { command: () => 1 };\n",
    fault("export", '"command"', "another name"),
  ],
  ["no export", "tasks.mjs", "", fault("empty", "exports nothing")],
  ["another language", "tasks.py", "print(1)\n", fault("unsupported", ".js, .mjs, .ts, .mts")],
])("a file with %s is refused, and it is said why", async (_name, file, text, expected) => {
  expect(await load({ [file]: text })).toEqual(expected);
});
