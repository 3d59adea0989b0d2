// Files that are made to keep a reader busy: what takes more than linear time would take minutes for them. The bound is
// generous, because machines differ.

import { expect, test } from "vitest";
import { cpuTimed } from "../../tests/cpu-time.ts";
import { readProject } from "./index.ts";

const BYTES = 600_000;
const MAX_CPU_MS = 20_000;

function filled(unit: string): Buffer {
  return Buffer.alloc(BYTES, unit);
}

function lines(count: number, line: (index: number) => string): Buffer {
  return Buffer.from(Array.from({ length: count }, (_, index) => line(index)).join("\n"));
}

function on(type: string, target: string): string {
  return `{"depends_on_id":"${target}","type":"${type}"}`;
}

const files: readonly (readonly [what: string, bytes: Buffer])[] = [
  ...[
    "\n",
    " ",
    "{",
    "[",
    '"',
    "\\",
    "\r\n",
    "-",
    "1",
    "1 ",
    "1\n",
    "1 2 0\n",
    '{"id":"a"}\n',
    "{\n",
    "\xff\n",
  ].map((unit) => [`nothing but ${JSON.stringify(unit)}`, filled(unit)] as const),
  ["blanks before a letter", Buffer.concat([filled(" "), Buffer.from("x")])],
  ["tables of tables", filled("PRECEDENCE RELATIONS:\n")],
  ["a deep value", Buffer.from(`{"id":"a","x":${"[".repeat(BYTES / 2)}${"]".repeat(BYTES / 2)}}`)],
  [
    "many blockers of the parent of many",
    Buffer.concat([
      Buffer.from(
        `{"id":"p","dependencies":[${Array.from({ length: 8_000 }, (_, at) => on("blocks", `b${at}`)).join()}]}\n`,
      ),
      lines(8_000, (at) => `{"id":"b${at}"}\n{"id":"c${at}","dependencies":[${on("parent-child", "p")}]}`),
    ]),
  ],
  [
    "many who wait for many",
    lines(
      8_000,
      (at) => `{"id":"c${at}","dependencies":[${on("parent-child", "p")},${on("waits-for", "p")}]}`,
    ),
  ],
  [
    "a chain of parents",
    lines(
      10_000,
      (at) => `{"id":"c${at}","dependencies":[${on("parent-child", `c${at + 1}`)},${on("blocks", "c7")}]}`,
    ),
  ],
  [
    "tasks that all name one child",
    Buffer.from(
      `{"workflow":{"tasks":[${lines(20_000, (at) => `{"id":"t${at}","children":["t0","x"]},`).toString()}1]}}`,
    ),
  ],
];

test.each(files)("%s takes a time that grows with the size, in any format", (_what, bytes) => {
  // What depends on one another is only read by the reader of its format, and that once.
  const endings = bytes.includes("depends_on_id") ? ["jsonl"] : ["sm", "stg", "jsonl", "json", "txt"];
  for (const ending of endings) {
    const { cpuMs } = cpuTimed(() => readProject(bytes, `hostile.${ending}`, { now: 0 }));
    expect(cpuMs, ending).toBeLessThan(MAX_CPU_MS);
  }
});

test("what is nested deeper than anybody nests is refused with its line", () => {
  const text = `{"x":"[[\\"",\n"y":${"[".repeat(2_000)}`;
  const result = readProject(Buffer.from(text), "deep.json", { now: 0 });
  expect(result.ok ? [] : result.problems).toMatchObject([
    { line: 2, message: expect.stringContaining("1000 deep") },
  ]);
});

test("a file that is too large for any text is refused", () => {
  const result = readProject(new Uint8Array(256 * 1024 * 1024 + 1), "large.jsonl", { now: 0 });
  expect(result.ok ? [] : result.problems).toMatchObject([
    { message: expect.stringContaining("at most 268435456") },
  ]);
});
