// Runs tasks in this process until their code is compiled, and then has everything collected that is not in use, as V8 does by
// itself in a pause. `--trace-opt --trace-deopt` tell the rest.

import { Session } from "node:inspector/promises";
import { open, task } from "../dist/index.js";

const ROUNDS = 40;
const TASKS = 500;

const orrery = await open({ tasks: { noop: task(() => {}) }, slots: 64, store: "memory" });
for (let round = 0; round < ROUNDS; round++) {
  const ids = await Promise.all(Array.from({ length: TASKS }, (_, n) => orrery.submit("noop", { n })));
  await Promise.all(ids.map((id) => orrery.result(id)));
}
const session = new Session();
session.connect();
process.stdout.write("@collect\n");
// The first leaves what was in use a moment ago.
for (let time = 0; time < 3; time++) await session.post("HeapProfiler.collectGarbage");
process.stdout.write("@collected\n");
await orrery.close();
