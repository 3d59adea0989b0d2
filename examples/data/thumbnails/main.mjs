// Makes small images of large ones by a program. The large ones stay on the workers, and are freed when they were used.

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { graph, local } from "orrery";
import { photograph } from "./tasks.mjs";

const g = graph();
const images = [0, 85, 170, 255].map((hue) => g.task(photograph, 800, 600, hue));
// What `command` made has no name of its own, so it is given the name of its export.
const small = images.map(
  (image) =>
    /** @type {import("orrery").GraphNode<Buffer>} */ (g.with({ retries: 1 }).task("thumbnail", image)),
);

const here = await local({ tasks: new URL("./tasks.mjs", import.meta.url), workers: 2 });
try {
  const directory = mkdtempSync(join(tmpdir(), "thumbnails-"));
  const files = await here.compute(g, small);
  for (const [at, bytes] of files.entries()) writeFileSync(join(directory, `${at}.png`), bytes);
  console.log(`${files.length} images in ${directory}, ${files[0]?.length} bytes the first`);
} finally {
  await here.close();
}
