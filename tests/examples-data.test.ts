// The examples of graphs with data, each as a reader starts it.

import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { mkdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { directoryWith } from "./cli.ts";

const EXAMPLES = new URL("../examples/data/", import.meta.url);

const SAYS: Readonly<Record<string, RegExp>> = {
  "choose-by-size": /^written-1: \d+ bytes, checksum [0-9a-f]{8}; 0 bytes were moved\n$/,
  "dynamic-map-reduce": /\nPUT\t1596 requests, 239 ms each\nin 24 pieces\n$/,
  etl: /^\{"tea":14,"coffee":60\}: 0 of 9 nodes used again\n\{"tea":109,"coffee":30\}: 6 of 9 nodes used again\n$/,
  "parameter-sweep": /\nbest: 0\.01 with an error of 0\.0591\n$/,
  thumbnails: /^4 images in .+, 15515 bytes the first\n$/,
  "word-count": /^(?:\d+\t\p{L}+\n){5}\d+ files in \d+ nodes\n$/u,
};

test("the first example of the documentation works", async () => {
  const text = await readFile(new URL("../docs/data.md", import.meta.url), "utf8");
  const [tasks = "", main = ""] = Array.from(text.matchAll(/```js\n(.+?)```/gs), ([, code]) => code);
  const directory = await directoryWith({
    "tasks.mjs": tasks,
    "main.mjs": main,
    "README.md": "three words here",
    "CHANGELOG.md": "two words",
  });
  await mkdir(join(directory, "node_modules"));
  await symlink(fileURLToPath(new URL("..", import.meta.url)), join(directory, "node_modules", "orrery"));
  const { stdout } = await promisify(execFile)(process.execPath, ["main.mjs"], { cwd: directory });
  expect(stdout).toBe("5\n");
});

test("there is a test for each", () => {
  expect(readdirSync(EXAMPLES).sort()).toEqual(Object.keys(SAYS));
});

test.each(Object.entries(SAYS))("%s", async (name, says) => {
  const main = fileURLToPath(new URL(`${name}/main.mjs`, EXAMPLES));
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [main]);
  expect(stdout).toMatch(says);
  expect(stderr).toBe("");
});
