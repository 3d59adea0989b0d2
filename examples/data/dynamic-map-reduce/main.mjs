// Goes through a log in pieces. How many there are shows only when the log is there: a node adds them to its own run.

import { graph, local } from "orrery";
import { analyse, record } from "./tasks.mjs";

const g = graph();
const report = g.with({ dynamic: 100 }).task(analyse, g.task(record, 11), 200);

const here = await local({ tasks: new URL("./tasks.mjs", import.meta.url), workers: 2 });
try {
  const { parts, all } = await here.compute(g, report);
  for (const [method, { count, ms }] of Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)))
    console.log(`${method}\t${count} requests, ${Math.round(ms / count)} ms each`);
  console.log(`in ${parts} pieces`);
} finally {
  await here.close();
}
