// Fork-join in a process of its own, as the goroutines beside it have one: what else was measured before has taught the
// compiler other things. Reads the size as JSON and prints what came of it.

import { forkJoin } from "./measures.mjs";

const size = /** @type {import("./measures.mjs").ForkJoin} */ (JSON.parse(process.argv[2] ?? ""));
process.stdout.write(JSON.stringify(await forkJoin(size)));
