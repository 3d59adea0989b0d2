// What runs on each thread but the main one.

import { parentPort, workerData } from "node:worker_threads";
import { PROFILES } from "../profiles.ts";
import type { ThreadData } from "./crew.ts";
import { Directory } from "./directory.ts";
import { ThreadPost } from "./letters.ts";
import { Memory } from "./memory.ts";
import { makeStation } from "./station.ts";

const data = workerData as ThreadData;
const memory = new Memory(data.memory);
const kernel = makeStation(
  { ...data.kernel, profile: PROFILES[data.profile], processors: 1, observer: {} },
  {
    me: data.me,
    memory,
    directory: new Directory(memory),
    post: new ThreadPost(memory, data.port),
    settings: data.settings,
    startedMs: data.startedMs,
    sleepsAsAWhole: true,
    shutDown: () => process.exit(0),
  },
);
// Whatever fibers wait for, the thread stays until it is told to end.
setInterval(() => undefined, 2 ** 31 - 1);
parentPort?.postMessage("there");
kernel.loop.offered(undefined);
