// Counts the words of all documents, each by itself, and merges the counts two by two.

import { readdirSync } from "node:fs";
import { graph, local } from "orrery";
import { count, load, merge, top } from "./tasks.mjs";

const docs = new URL("../../../docs/", import.meta.url);
const files = readdirSync(docs).filter((name) => name.endsWith(".md"));

const g = graph();
let counts = files.map((name) => g.task(count, g.task(load, new URL(name, docs).href)));
while (counts.length > 1) {
  const pairs = [];
  for (let at = 0; at < counts.length; at += 2) pairs.push(g.task(merge, ...counts.slice(at, at + 2)));
  counts = pairs;
}
const words = g.task(top, counts[0], 5);

await using here = await local({ tasks: new URL("./tasks.mjs", import.meta.url), workers: 2 });
for (const [word, n] of await here.compute(g, words)) console.log(`${n}\t${word}`);
console.log(`${files.length} files in ${g.size} nodes`);
