// What a fiber takes of memory while it is alive and waits, in a process of its own: prints bytes.

import { Runtime } from "../../dist/runtime/index.js";

const fibers = Number(process.argv[2]);
const collect = globalThis.gc ?? (() => undefined);

const rt = await Runtime.start();
let started = 0;
function* waiting() {
  started++;
  yield;
  yield;
}
collect();
const before = process.memoryUsage();
await rt.nursery({ ops: 1e12, memory: 1e12, spawnCount: fibers }, undefined, function* (n) {
  /** @type {[]} */
  const none = [];
  for (let i = 0; i < fibers; i++) n.spawn(waiting, none);
  while (started < fibers) yield;
  collect();
  const after = process.memoryUsage();
  const heap = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
  process.stdout.write(JSON.stringify({ rss: (after.rss - before.rss) / fibers, heap: heap / fibers }));
});
await rt.close();
