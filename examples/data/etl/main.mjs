// Sums up what was sold by day. What has not changed since the run before is not read and not summed up again.

import { mkdtempSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { graph, local } from "orrery";
import { extract, load, transform } from "./tasks.mjs";

const directory = mkdtempSync(join(tmpdir(), "etl-"));
const days = ["monday", "tuesday", "wednesday", "thursday"].map((day) => join(directory, `${day}.csv`));
for (const [at, file] of days.entries()) writeFileSync(file, `tea,${at + 1}\ncoffee,${10 * at}\ntea,1\n`);

const here = await local({ tasks: new URL("./tasks.mjs", import.meta.url), workers: 2 });
try {
  await sumUp();
  writeFileSync(join(directory, "thursday.csv"), "tea,100\n");
  await sumUp();
} finally {
  await here.close();
}

async function sumUp() {
  const g = graph();
  const cached = g.with({ cache: "v1" });
  const totals = days.map((file) =>
    cached.task(transform, cached.task(extract, file, statSync(file).mtimeMs)),
  );
  const computation = await here.start(g, g.task(load, totals, join(directory, "totals.json")));
  const all = await computation.results();
  let reused = 0;
  // What was found again was never tried.
  for await (const { attempt } of here.client.tasks({ run: computation.run })) if (attempt === 0) reused++;
  await computation.release();
  console.log(`${JSON.stringify(all)}: ${reused} of ${g.size} nodes used again`);
}
