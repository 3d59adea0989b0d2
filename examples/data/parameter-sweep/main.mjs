// Tries a parameter in many ways on the same data, which is made once and goes to the workers that need it.

import { graph, local } from "orrery";
import { best, sample, score } from "./tasks.mjs";

const widths = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1];

const g = graph();
const data = g.task(sample, 800, 7);
const scores = widths.map((width) => g.with({ id: `width-${width}` }).task(score, data, width));
const winner = g.task(best, scores);

const here = await local({ tasks: new URL("./tasks.mjs", import.meta.url), workers: 2 });
try {
  const [all, { width, error }] = [await here.compute(g, scores), await here.compute(g, winner)];
  for (const one of all) console.log(`${one.width}\t${one.error.toFixed(4)}`);
  console.log(`best: ${width} with an error of ${error.toFixed(4)}`);
} finally {
  await here.close();
}
