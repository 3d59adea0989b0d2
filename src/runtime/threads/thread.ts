// What runs on each thread but the main one.

import { parentPort, workerData } from "node:worker_threads";
import { PROFILES } from "../profiles.ts";
import type { ThreadData } from "./crew.ts";
import { Directory } from "./directory.ts";
import { type Inquired, ThreadPost } from "./letters.ts";
import { Memory } from "./memory.ts";
import { Recorder } from "./recorder.ts";
import { makeStation } from "./station.ts";
import { clockOf, ThreadLoop } from "./thread-loop.ts";

const data = workerData as ThreadData;
const memory = new Memory(data.memory);
const post = new ThreadPost(memory, data.port);
const recorder = data.memory.recorded ? new Recorder(() => clockOf(data.startedMs)) : undefined;
const kernel = makeStation(
  { ...data.kernel, profile: PROFILES[data.profile], processors: 1, observer: {} },
  {
    me: data.me,
    memory,
    directory: new Directory(memory),
    post,
    recorder,
    chance: recorder,
    asked: (letter) => answer(letter.value as Inquired),
    settings: data.settings,
    startedMs: data.startedMs,
    sleepsAsAWhole: true,
    shutDown: () => process.exit(0),
  },
  (made, equipped) => new ThreadLoop(made, equipped),
);

function answer(inquired: Inquired): void {
  const answered: Inquired = { ...inquired, from: data.me, answer: recorder?.log };
  post.send({ to: 0, kind: "answer", record: -1, serial: 0, value: answered });
}

// Whatever fibers wait for, the thread stays until it is told to end.
setInterval(() => undefined, 2 ** 31 - 1);
parentPort?.postMessage("there");
kernel.loop.offered(undefined);
