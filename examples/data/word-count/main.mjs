// Counts the words of all documents, each by itself, and merges the counts two by two.

import { readdirSync } from "node:fs";
import { graph, local } from "orrery";
import { count, load, merge, top } from "./tasks.mjs";

const docs = new URL("../../../docs/", import.meta.url);
const files = readdirSync(docs).filter((name) => name.endsWith(".md"));

const g = graph();
let counts = files.map((name) => g.task(count, g.task(load, new URL(name, docs).href)));
while (counts.length > 1)
  counts = counts.flatMap((_, at) => (at % 2 === 0 ? [g.task(merge, ...counts.slice(at, at + 2))] : []));
const words = g.task(top, g.task(merge, ...counts), 5);

const here = await local({ tasks: new URL("./tasks.mjs", import.meta.url), workers: 2 });
try {
  for (const [word, n] of await here.compute(g, words)) console.log(`${n}\t${word}`);
  console.log(`${files.length} files in ${g.size} nodes`);
} finally {
  await here.close();
}
