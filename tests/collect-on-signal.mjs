// Loaded by a server that is measured: SIGUSR2 collects its garbage, so that its metrics then show what it holds.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const gc = /** @type {() => void} */ (runInNewContext("gc"));

process.on("SIGUSR2", () => {
  gc();
  gc();
});
