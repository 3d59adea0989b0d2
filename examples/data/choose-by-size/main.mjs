// Several ways to write the same table, of which the shortest is stored. A meta node sees how large each result is, and goes on with
// one of them where that is: none is moved, and the others are forgotten.

import { graph, local } from "orrery";
import { goOnWithShortest, written } from "./tasks.mjs";

const g = graph();
const ways = ["csv", "json", "columns"].map((way) => g.task(written, way, 5_000));
const stored = g.with({ meta: true, dynamic: true }).task(goOnWithShortest, ways);

const here = await local({ tasks: new URL("./tasks.mjs", import.meta.url), workers: 2 });
try {
  const computation = await here.start(g, stored);
  const { node, bytes, checksum } = await computation.results();
  const { data } = await here.client.run(computation.run);
  console.log(`${node}: ${bytes} bytes, checksum ${checksum}; ${data?.moved_bytes} bytes were moved`);
} finally {
  await here.close();
}
